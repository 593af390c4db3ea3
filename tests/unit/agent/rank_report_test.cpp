// Hosts as files of a folder, a shell script as the program that reaches them.
// SPDX-License-Identifier: Apache-2.0
#include "agent/rank_report.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A host does what its script says; each question is noted with its words.
struct Hosts {
  TempDir folder;
  PollLoop loop;
  RankReportQuery query;

  Hosts() {
    script("rsh", "echo \"$*\" >>asked; host=$1; shift; . ./$host");
    query = {.hosts = {"worker-0", "worker-1"},
             .environment = process::own_environment(),
             .program = "/trainstep/bin/trainstep",
             .scratch = "/scratch",
             .attempt = "a1",
             .pause = Duration(1)};
    process::set_variable(query.environment, "OMPI_MCA_plm_rsh_agent", (folder.path() / "rsh").string());
    script("worker-0", "");
    script("worker-1", "");
  }
  void script(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name) << "#!/bin/sh\ncd " << folder.path().string() << " || exit 9\n" << text << "\n";
    fs::permissions(folder.path() / name, fs::perms::owner_all);
  }
  [[nodiscard]] std::string asked() const {
    std::ostringstream text;
    text << std::ifstream(folder.path() / "asked").rdbuf();
    return text.str();
  }
  RankReport fetch() { return fetch_rank_report(loop, query); }
};

std::string print(const std::string& attempt, const std::string& message = "") {
  result::PodReport report;
  report.attempt = attempt;
  report.message = message;
  return "cat <<'END'\n" + to_text(report) + "\nEND";
}

}  // namespace

TEST_CASE("the report of rank 0 is requested from one host after the other, as mpirun reaches them") {
  Hosts hosts;
  hosts.script("worker-1", print("a1", "here"));
  const auto found = hosts.fetch();
  REQUIRE(found.report);
  CHECK(found.report->message == "here");
  CHECK(found.unreachable.empty());
  CHECK(hosts.asked() ==
        "worker-0 /trainstep/bin/trainstep exec --report --scratch /scratch\n"
        "worker-1 /trainstep/bin/trainstep exec --report --scratch /scratch\n");
}

TEST_CASE("hosts that have responded are not asked again; a report of another attempt is ignored") {
  Hosts hosts;
  hosts.script("worker-1", print("a0"));
  const auto found = hosts.fetch();
  CHECK_FALSE(found.report);
  CHECK(found.unreachable.empty());
  CHECK(hosts.asked().size() == 2 * std::string("worker-0 /trainstep/bin/trainstep exec --report --scratch /scratch\n").size());
}

TEST_CASE("a host that cannot be reached for a while is asked again, and no other") {
  Hosts hosts;
  hosts.script("worker-0",
               "[ -e second ] || { touch second; echo 'ssh: connect to host worker-0: Connection timed out' >&2; exit 255; }\n" + print("a1"));
  CHECK(hosts.fetch().report);
  std::vector<std::string> order;
  std::istringstream lines(hosts.asked());
  for (std::string host, rest; lines >> host && std::getline(lines, rest);) order.push_back(host);
  CHECK(order == std::vector<std::string>{"worker-0", "worker-1", "worker-0"});
}

TEST_CASE("a truncated response is not a report: the host is asked again") {
  Hosts hosts;
  hosts.script("worker-0", "[ -e second ] || { touch second; echo '{\"version\": 1, \"att'; exit 0; }\n" + print("a1"));
  CHECK(hosts.fetch().report);
}

TEST_CASE("a host that cannot be reached in time is named with the reason") {
  Hosts hosts;
  hosts.query.retry_for = Duration(10);
  hosts.script("worker-1", "echo 'trying' >&2; echo 'ssh: Could not resolve hostname worker-1' >&2; exit 255");
  const auto found = hosts.fetch();
  CHECK_FALSE(found.report);
  CHECK(found.unreachable == "worker-1: ssh: Could not resolve hostname worker-1");
  hosts.query.retry_for = Duration(0);
  hosts.script("worker-1", "exit 7");
  CHECK_THAT(hosts.fetch().unreachable, Contains("rsh exited with code 7"));
}

TEST_CASE("SIGTERM ends the wait for hosts that cannot be reached") {
  Hosts hosts;
  hosts.query.pause = Duration(60'000);
  hosts.script("worker-1", "kill -TERM $PPID; exit 255");
  CHECK_FALSE(hosts.fetch().report);
}
