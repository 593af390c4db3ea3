// The texts are what Open MPI 4.1.4 and MPICH 4.0.2 of Debian 12 printed, and Intel MPI's from its documentation.
// SPDX-License-Identifier: Apache-2.0
#include "result/mpirun.h"

#include "base/text.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

std::string in(std::string_view text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  const auto found = find_mpi_failure(lines);
  if (!found) return "nothing";
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : std::string("-"); };
  return "rank " + number(found->rank) + " exit " + number(found->exit_code) + " signal " + number(found->signal) + " host " + found->host;
}

constexpr std::string_view open_mpi_head = R"(--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
)";

}  // namespace

TEST_CASE("Open MPI names the rank that exited first") {
  CHECK(in(std::string(open_mpi_head) + R"(mpirun.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[4463,1],1]
  Exit code:    3
--------------------------------------------------------------------------)") == "rank 1 exit 3 signal - host ");
  CHECK(in("  Process name: [prterun-vm-17@1,12]\n  Exit code:    3") == "rank 12 exit 3 signal - host ");
}

TEST_CASE("Open MPI names the rank that was killed first") {
  CHECK(in(std::string(open_mpi_head) + "mpirun.openmpi noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n") ==
        "rank 1 exit - signal 9 host vm");
  CHECK(in("mpirun noticed that process rank 0 with PID 0 on node w-0 exited on signal 11 (Segmentation fault).") ==
        "rank 0 exit - signal 11 host w-0");
}

TEST_CASE("MPI_Abort is read in the words of both") {
  CHECK(in("MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 5.\n\nNOTE: invoking MPI_ABORT …") ==
        "rank 2 exit 5 signal - host ");
  CHECK(in("MPI_ABORT was invoked on rank 0 in communicator MPI COMMUNICATOR 3 SPLIT FROM 0\nwith errorcode 5.") == "rank - exit 5 signal - host ");
  CHECK(in("MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n  Proc: [[4463,1],1]\n  Errorcode: 5") == "rank 1 exit 5 signal - host ");
  CHECK(in("Abort(5) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 5) - process 1") == "rank 1 exit 5 signal - host ");
}

TEST_CASE("hydra's report is read, the signal from where it is right") {
  const auto report = [](std::string_view code, std::string_view end) {
    return "\n=====\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 32423 RUNNING AT vm\n=   EXIT CODE: " + std::string(code) +
           "\n=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n=====\n" + std::string(end);
  };
  CHECK(in(report("9", "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)")) == "rank - exit - signal 11 host vm");
  CHECK(in(report("3", "")) == "rank - exit 3 signal - host vm");
  CHECK(in("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 1 PID 123 RUNNING AT w-1\n=   KILLED BY SIGNAL: 9 (Killed)") ==
        "rank 1 exit - signal 9 host w-1");
}

TEST_CASE("other output of mpirun does not name a rank") {
  CHECK(in("mpirun noticed that the job aborted, but has no info as to the process\nthat caused that situation.") == "nothing");
  CHECK(in("") == "nothing");
  CHECK(in("  Process name: [[4463,1],1]") == "nothing");
  CHECK(in("  Process name: [cut off\n  Exit code: 3") == "nothing");
}
