// Which of a job's processes has the outputs.
// SPDX-License-Identifier: Apache-2.0
#include "agent/role.h"

#include <string>
#include <vector>

#include "agent/launcher.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::agent;

TEST_CASE("roles have words; another is an error of usage that lists them") {
  CHECK(role_of("primary").value() == Role::primary);
  CHECK(role_of("replica").value() == Role::replica);
  CHECK(role_of("indexed").value() == Role::indexed);
  CHECK(role_of("rank").value() == Role::rank);
  CHECK(role_of("launcher").value() == Role::launcher);
  for (const auto* word : {"", "Primary", "worker"}) {
    const auto role = role_of(word);
    REQUIRE_FALSE(role);
    CHECK(role.error().kind == ErrorKind::usage);
    CHECK_THAT(role.error().message, Catch::Contains("primary, replica, indexed, rank or launcher"));
  }
}

TEST_CASE("the primary is identified by its role, in a shared template by its index, among ranks by its rank") {
  struct Row {
    Role role;
    process::Variables environment;
    bool primary;
  };
  const process::Variables none;
  const auto row = GENERATE_COPY(values<Row>({
      {Role::primary, none, true},
      {Role::primary, {{"OMPI_COMM_WORLD_RANK", "3"}, {"HOSTNAME", "train-worker-3"}}, true},
      {Role::replica, none, false},
      {Role::replica, {{"JOB_COMPLETION_INDEX", "0"}}, false},
      {Role::launcher, {{"OMPI_COMM_WORLD_RANK", "0"}}, false},

      {Role::indexed, {{"JOB_COMPLETION_INDEX", "0"}, {"HOSTNAME", "train-0-x7k2p"}}, true},
      {Role::indexed, {{"JOB_COMPLETION_INDEX", "1"}, {"HOSTNAME", "train-0"}}, false},
      {Role::indexed, {{"JOB_COMPLETION_INDEX", "10"}}, false},
      {Role::indexed, {{"HOSTNAME", "train-worker-0"}}, true},
      {Role::indexed, {{"HOSTNAME", "train-worker-1"}}, false},
      {Role::indexed, {{"HOSTNAME", "train-worker-10"}}, false},
      {Role::indexed, {{"HOSTNAME", "node"}}, false},
      {Role::indexed, none, false},

      {Role::rank, {{"OMPI_COMM_WORLD_RANK", "0"}}, true},
      {Role::rank, {{"OMPI_COMM_WORLD_RANK", "1"}, {"PMI_RANK", "0"}}, false},
      {Role::rank, {{"PMI_RANK", "0"}}, true},
      {Role::rank, {{"PMI_RANK", "10"}}, false},
      {Role::rank, {{"PMIX_RANK", "0"}}, true},
      {Role::rank, {{"PMIX_RANK", "2"}}, false},
      {Role::rank, {{"HOSTNAME", "train-worker-1"}}, false},  // an MPI that we do not know: then the launcher tells that there is no report
  }));
  CAPTURE(static_cast<int>(row.role), row.environment);
  CHECK(is_primary(row.role, row.environment) == row.primary);
}

TEST_CASE("only the pods of an indexed job have an index: other replicas work together") {
  CHECK(index_of(Role::indexed, {{"JOB_COMPLETION_INDEX", "3"}, {"HOSTNAME", "train-3"}}) == "3");
  CHECK(index_of(Role::indexed, {{"HOSTNAME", "train-worker-3"}}).empty());
  CHECK(index_of(Role::replica, {{"JOB_COMPLETION_INDEX", "3"}}).empty());
  CHECK(index_of(Role::primary, {{"JOB_COMPLETION_INDEX", "0"}}).empty());
}

TEST_CASE("the variables of a pod's identity are forwarded to the ranks once, after the task's") {
  using Words = std::vector<std::string>;
  const Words mpirun{"mpirun", "-np", "2", "-x", "AWS_REGION", "-x", "TRAINSTEP_TASK", "train", "-x", "TRAINSTEP_TASK"};
  CHECK(with_identity(mpirun, {{"PATH", "/bin"}, {"AWS_SECRET_ACCESS_KEY", "s"}}) == mpirun);
  CHECK(with_identity(mpirun, {{"AWS_ROLE_ARN", "r"}, {"AWS_REGION", "eu"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}}) ==
        Words{"mpirun", "-np", "2", "-x", "AWS_REGION", "-x", "AWS_ROLE_ARN", "-x", "AWS_WEB_IDENTITY_TOKEN_FILE", "-x", "TRAINSTEP_TASK", "train",
              "-x", "TRAINSTEP_TASK"});
  const Words hydra{"mpirun", "-genvall", "train"};
  CHECK(with_identity(hydra, {{"AWS_ROLE_ARN", "r"}}) == hydra);
}

TEST_CASE("the hosts of a hostfile, in its order, in every form") {
  using Hosts = std::vector<std::string>;
  CHECK(hosts_in("").empty());
  CHECK(hosts_in("train-worker-0.train.ns.svc slots=2\ntrain-worker-1.train.ns.svc slots=2\n") ==
        Hosts{"train-worker-0.train.ns.svc", "train-worker-1.train.ns.svc"});
  CHECK(hosts_in("b:4\na:4") == Hosts{"b", "a"});
  CHECK(hosts_in("  a\tslots=1  \r\n\n# none\nb # the second\n") == Hosts{"a", "b"});
}
