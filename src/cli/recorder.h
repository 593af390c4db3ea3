// --record: the events of a run into a file, for `trainstep replay`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/listener.h"

namespace trainstep::cli {

class Recorder : public run::Listener {
 public:
  // Made anew, readable by its owner only. Secrets of this process's environment are left out (base/redact.h). Error: input.
  static Result<std::unique_ptr<Recorder>> open(const std::string& path);
  void begins(const follow::Machine& machine, Time at) override;
  void event(const follow::Event& event) override;

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  explicit Recorder(File file);
  void write(const Json& line);

  File m_file;
  std::vector<std::string> m_secrets;
};

}  // namespace trainstep::cli
