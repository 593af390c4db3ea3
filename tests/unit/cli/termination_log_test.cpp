// Which container's last words are ours, and what stands in them.
// SPDX-License-Identifier: Apache-2.0
#include "cli/termination_log.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::cli;

namespace {

// Variables of this process while a test runs.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& wanted) {
    for (const auto* name :
         {"KUBERNETES_SERVICE_HOST", "ARGO_NODE_ID", "ARGO_CONTAINER_NAME", "ARGO_TEMPLATE", "TRAINSTEP_TERMINATION_LOG", "MY_TOKEN"}) {
      const auto* value = std::getenv(name);
      m_before[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      ::unsetenv(name);
    }
    for (const auto& [name, value] : wanted) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : m_before) value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }

 private:
  std::map<std::string, std::optional<std::string>> m_before;
};

struct Log {
  TempDir folder;
  std::string path = (folder.path() / "termination-log").string();
  [[nodiscard]] std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

std::string found_with(const std::map<std::string, std::string>& variables) {
  const Variables set(variables);
  return find_termination_log();
}

}  // namespace

TEST_CASE("the termination message is written under Argo's executor, or where a variable names its file") {
  CHECK(found_with({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"ARGO_NODE_ID", "wf-1"}}) == "/dev/termination-log");
  CHECK(found_with({{"TRAINSTEP_TERMINATION_LOG", "/tmp/other"}}) == "/tmp/other");
}

TEST_CASE("the termination message of a notebook's pod, and of no pod, is not ours") {
  CHECK(found_with({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}).empty());
  CHECK(found_with({{"ARGO_NODE_ID", "wf-1"}}).empty());
  CHECK(found_with({}).empty());
}

TEST_CASE("a termination message replaces the contents of the kubelet's file") {
  const Log log;
  std::ofstream(log.path) << "what an earlier container wrote, which is longer";
  write_termination_log(log.path, "failed (user):\nworker-1 exited with code 1");
  CHECK(log.text() == "failed (user): worker-1 exited with code 1");
}

TEST_CASE("a termination message makes no file, and writes into nothing but one") {
  const Log log;
  write_termination_log(log.path, "failed");
  write_termination_log("", "failed");
  CHECK_FALSE(std::filesystem::exists(log.path));
  REQUIRE(::mkfifo(log.path.c_str(), 0600) == 0);
  write_termination_log(log.path, "failed");  // returns without a reader
  CHECK(std::filesystem::is_fifo(log.path));
}

TEST_CASE("a termination message contains no secrets") {
  const Variables set(std::map<std::string, std::string>{{"MY_TOKEN", "of-this-process"}});
  const Log log;
  std::ofstream{log.path};
  write_termination_log(log.path, "of-this-process, of-the-job and open at https://me:pass@host", {"HF_TOKEN=of-the-job", "MODE=open"});
  CHECK(log.text() == "[redacted], [redacted] and open at https://[redacted]@host");
}
