// --record: writes the events of a run to a file, for `trainstep replay`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/redact.h"
#include "base/result.h"
#include "result/verdict.h"
#include "run/listener.h"

namespace trainstep::cli {

class Recorder : public run::Listener {
 public:
  // Creates or truncates it, readable by its owner only. `secrets` and other secrets (base/redact.h) are left out. Error: input; also for a FIFO that
  // has no reader.
  static Result<std::unique_ptr<Recorder>> open(const std::string& path, std::vector<std::string> secrets);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Called once with a sentence if the record cannot be written completely. Up to 64 MiB are buffered for a slow reader of a pipe.
  void on_problem(std::function<void(const std::string&)> tell) { m_tell = std::move(tell); }
  void begins(const follow::RunState& machine, Time at) override;
  void event(const follow::Event& event) override;
  void hide(const std::vector<std::string>& secrets) override { m_secrets.insert(m_secrets.end(), secrets.begin(), secrets.end()); }
  // The last line. A run that never started has none.
  void ends(const result::Verdict& verdict, Time at);

 private:
  Recorder(Fd fd, FileLock lock, std::string path, std::vector<std::string> secrets);
  void write(const Json& line);
  void give_up(const std::string& why);

  Fd m_fd;
  FileLock m_lock;  // of a regular file
  std::string m_path, m_waiting;
  std::vector<std::string> m_secrets;
  std::map<follow::MemberIndex, SplitLine> m_split;
  std::function<void(const std::string&)> m_tell;
  bool m_begun = false, m_broken = false;
};

}  // namespace trainstep::cli
