// --record: the events of a run into a file, for `trainstep replay`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "run/listener.h"

namespace trainstep::cli {

class Recorder : public run::Listener {
 public:
  // Made anew, readable by its owner only. `secrets` and what else is one (base/redact.h) are left out. Error: input.
  static Result<std::unique_ptr<Recorder>> open(const std::string& path, std::vector<std::string> secrets);
  // Gets a sentence, once, when the record cannot be written to its end.
  void on_problem(std::function<void(const std::string&)> tell) { m_tell = std::move(tell); }
  void begins(const follow::Machine& machine, Time at) override;
  void event(const follow::Event& event) override;

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  Recorder(File file, std::string path, std::vector<std::string> secrets);
  void write(const Json& line);

  File m_file;
  std::string m_path;
  std::vector<std::string> m_secrets;
  std::function<void(const std::string&)> m_tell;
  bool m_broken = false;
};

}  // namespace trainstep::cli
