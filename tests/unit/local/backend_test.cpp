// SPDX-License-Identifier: Apache-2.0
#include "local/backend.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "../process/run_until.h"
#include "local/gang.h"
#include "plans.h"
#include "process/descendants.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

// A backend whose members start as soon as it is ready; keeps what it was told.
class Fixture {
 public:
  explicit Fixture(plan::Plan plan, LocalOptions options = {}) : m_plan(std::move(plan)) {
    options.run_dir = m_folder.path() / "run";
    if (!options.gpus) options.gpus.emplace();
    m_backend.emplace(m_loop, m_plan, std::move(options));
    m_backend->prepare([this](const follow::Event& event) { std::visit([this](const auto& what) { on(what); }, event.what); });
  }

  void until(const std::function<bool()>& happened) { run_until(m_loop, happened); }
  void until_ended(std::size_t count) {
    until([&] { return endings.size() == count || failure; });
    if (failure) FAIL(failure->message);
  }
  std::string failed() {
    until([&] { return failure.has_value(); });
    CHECK(failure->kind == ErrorKind::input);
    return failure->message;
  }
  LocalBackend& backend() { return *m_backend; }
  void destroy() { m_backend.reset(); }
  [[nodiscard]] fs::path run_dir() const { return m_folder.path() / "run"; }

  std::map<std::string, std::string> said;
  std::string told;
  std::map<std::string, follow::Termination> endings;
  std::map<std::string, pid_t> pids;
  std::optional<Error> failure;
  bool prepared = false;

 private:
  [[nodiscard]] std::string name(follow::MemberIndex member) const { return gang(m_plan).at(member).name; }
  void on(const follow::Prepared&) {
    prepared = true;
    const auto members = gang(m_plan);
    for (follow::MemberIndex i = 0; i < members.size(); ++i)
      if (!members[i].output_only) m_backend->start({i, 0});
  }
  void on(const follow::MemberStarted& started) { pids[name(started.member)] = std::stoi(started.ran_on.substr(4)); }
  void on(const follow::MemberOutput& output) { said[name(output.member)] += output.lines; }
  void on(const follow::MemberEnded& ended) { endings[name(ended.member)] = ended.ending; }
  void on(const follow::BackendFailed& failed) { failure = failed.error; }
  void on(const follow::BackendMessage& line) { told += line.text + "\n"; }
  template <typename Other>
  void on(const Other&) {
    FAIL("not an event of a backend");
  }

  TempDir m_folder;
  plan::Plan m_plan;
  PollLoop m_loop;
  std::optional<LocalBackend> m_backend;
};

Json pytorch(int workers) { return {{"distribution_type", "PyTorch"}, {"number_of_workers", workers}}; }
Json mpi(int workers) { return {{"distribution_type", "MPI"}, {"number_of_workers", workers}}; }

TEST_CASE("each replica runs in its own folder with its own rank, and its lines are its own") {
  Fixture fixture(shell_plan("echo rank $RANK of $WORLD_SIZE in $(basename $PWD); exit $RANK", pytorch(3)));
  fixture.until_ended(3);
  CHECK(fixture.said["master-0"] == "rank 0 of 3 in master-0\n");
  CHECK(fixture.said["worker-0"] == "rank 1 of 3 in worker-0\n");
  CHECK(fixture.said["worker-1"] == "rank 2 of 3 in worker-1\n");
  CHECK(fixture.endings["master-0"].succeeded());
  CHECK(fixture.endings["worker-1"].exit_code == 2);
}

TEST_CASE("the gang agrees on a port that is free") {
  Fixture fixture(shell_plan("echo $MASTER_ADDR $MASTER_PORT", pytorch(2)));
  fixture.until_ended(2);
  CHECK(fixture.said["master-0"] == fixture.said["worker-0"]);
  CHECK_THAT(fixture.said["master-0"], Catch::StartsWith("127.0.0.1 "));
}

TEST_CASE("nothing begins, and nothing is made, where another folder has taken the place of the run's") {
  Fixture fixture(shell_plan("true", Json::object()));
  fixture.until_ended(1);
  fs::rename(fixture.run_dir(), fixture.run_dir().parent_path() / "renamed");
  fs::create_directory(fixture.run_dir());
  fixture.backend().start({0, 1});
  fixture.until([&] { return fixture.failure || fixture.pids.size() > 1; });
  REQUIRE(fixture.failure);
  CHECK(fixture.failure->kind == ErrorKind::internal);
  CHECK_THAT(fixture.failure->message, Catch::Contains("was renamed or replaced during the run"));
  CHECK(fs::is_empty(fixture.run_dir()));
}

TEST_CASE("stop ends one replica and not the others") {
  Fixture fixture(shell_plan("echo ready; while :; do sleep 0.01; done", pytorch(2)));
  fixture.until([&] { return fixture.said.size() == 2; });
  fixture.backend().stop({1, Duration{60'000}});
  fixture.until_ended(1);
  CHECK(fixture.endings["worker-0"].signal == SIGTERM);
  CHECK(alive(fixture.pids["master-0"]));
}

TEST_CASE("nothing runs any more when the backend is gone", "[subreaper]") {
  Fixture fixture(shell_plan("trap '' TERM; setsid sleep 1000 & echo ready; while :; do sleep 0.01; done", pytorch(2)));
  fixture.until([&] { return fixture.said.size() == 2; });
  fixture.destroy();
  CHECK(process::descendants(::getpid()).empty());
}

TEST_CASE("a replica can be started again") {
  Fixture fixture(shell_plan("test -e mark && exit 0; touch mark; exit 1"));
  fixture.until_ended(1);
  CHECK(fixture.endings["main"].exit_code == 1);
  fixture.endings.clear();
  fixture.backend().start({0, 1});
  fixture.until_ended(1);
  CHECK(fixture.endings["main"].succeeded());
}

TEST_CASE("missing prerequisites on this machine are reported before anything starts") {
  plan::Request request;
  request.train_specification = R"({"image": "registry.example/train:1", "command": ["no-such-trainer"]})";
  Fixture no_command(make_plan(request));
  CHECK_THAT(no_command.failed(), Catch::Contains("no-such-trainer not found on this machine") &&
                                      Catch::Contains("local runs do not use the image registry.example/train:1"));
  CHECK_FALSE(no_command.prepared);
}

TEST_CASE("a missing input is reported before anything starts") {
  plan::Request request;
  request.train_specification =
      "name: t\ninputs: [{name: data, type: Dataset}]\nimplementation: {container: {image: any, command: [cat, {inputPath: data}]}}";
  request.train_parameters = {{"data", "train_dataset_dir"}};
  request.inputs = {{"train_dataset_dir", "/no/such/data", "", "", Json::object()}};
  Fixture fixture(make_plan(request));
  CHECK_THAT(fixture.failed(), Catch::Contains("train_dataset_dir: /no/such/data does not exist"));
}

TEST_CASE("too few GPUs and a missing interpreter are reported before anything starts") {
  auto distribution = pytorch(2);
  distribution["worker_gpus"] = 1;
  Fixture gpus(shell_plan("true", distribution), {.run_dir = {}, .python = {}, .gpus = std::vector<std::string>{"0"}});
  CHECK_THAT(gpus.failed(), Catch::Contains("requires 2 GPUs"));
  gpus.destroy();
  Fixture python(shell_plan("true"), {.run_dir = {}, .python = "/no/such/python", .gpus = {}});
  CHECK_THAT(python.failed(), Catch::Contains("--python: /no/such/python"));
}

TEST_CASE("--python is what python and python3 run, and its folder's tools are found") {
  const TempDir tools;
  for (const auto* name : {"my-python", "my-torchrun"}) {
    std::ofstream(tools.path() / name) << "#!/bin/sh\necho " << name << " \"$@\"\n";
    fs::permissions(tools.path() / name, fs::perms::owner_all);
  }
  Fixture fixture(shell_plan("python3 a 'b c'; python; my-torchrun"), {.run_dir = {}, .python = (tools.path() / "my-python").string(), .gpus = {}});
  fixture.until_ended(1);
  CHECK(fixture.said["main"] == "my-python a b c\nmy-python\nmy-torchrun\n");
}

TEST_CASE("what the primary wrote is collected, what others wrote is not") {
  plan::Request request;
  request.train_specification =
      "name: t\noutputs: [{name: model, type: Model}]\n"
      "implementation: {container: {image: any, command: [sh, -c, 'echo $RANK > $0', {outputPath: model}]}}";
  request.distribution_specification = pytorch(2);
  Fixture fixture(make_plan(request));
  fixture.until_ended(2);
  const auto outputs = fixture.backend().collect();
  REQUIRE(outputs.has_value());
  REQUIRE(outputs->size() == 1);
  CHECK(outputs->front().present);
  std::string rank;
  std::ifstream(outputs->front().path) >> rank;
  CHECK(rank == "0");
  std::ifstream(fixture.run_dir() / "worker-0/outputs/model") >> rank;
  CHECK(rank == "1");
}

TEST_CASE("a location below its path that the program names is its output, one next to it is not") {
  const auto [named, present] = GENERATE(table<std::string, bool>({{"$0/weights", true}, {"$0.bin", false}}));
  CAPTURE(named);
  const TempDir folder;
  const auto model = folder.path() / "model";
  const auto script = "named=" + named + R"(
    case "$named" in */weights) mkdir "$0" ;; esac
    echo w >"$named"
    echo '{"artifacts": {"model_dir": {"artifacts": [{"name": "model_dir", "uri": "'"$named"'"}]}}}' >executor_output.json)";
  plan::Request request;
  request.train_specification = to_text(Json{{"image", "any"}, {"command", {"sh", "-c", script, Json{{"outputPath", "model_dir"}}}}});
  auto plan = make_plan(request);
  plan.binding.outputs.front().path = plan::StepPath{"model_dir", model.string(), "", "", Json::object()};
  Fixture fixture(std::move(plan));
  fixture.until_ended(1);
  const auto outputs = fixture.backend().collect();
  REQUIRE(outputs.has_value());
  CHECK(outputs->front().present == present);
  CHECK(outputs->front().path == model);
  REQUIRE(fixture.backend().commit().has_value());
  CHECK(fs::exists(model / "weights") == present);
}

// Packages: `python3` is a script that knows what is missing, and what it was asked to install.
class Packages {
 public:
  explicit Packages(const std::string& missing, int install_code = 0) {
    std::ofstream(m_tools.path() / "python3") << "#!/bin/sh\ncase $1 in\n"
                                              << "-c) printf '" << missing << "' ;;\n"
                                              << "*) echo \"$@\" >> " << (m_tools.path() / "asked").string() << "; echo installing; exit "
                                              << install_code << " ;;\nesac\n";
    fs::permissions(m_tools.path() / "python3", fs::perms::owner_all);
  }
  [[nodiscard]] LocalOptions options() const { return {.run_dir = {}, .python = (m_tools.path() / "python3").string(), .gpus = {}}; }
  [[nodiscard]] std::string asked() const {
    std::ifstream file(m_tools.path() / "asked");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  TempDir m_tools;
};

plan::Plan plan_with_installer(Json distribution) {
  plan::Request request;
  const Json command = {"sh", "-c", R"(python3 -m pip install --quiet 'one' 'two<3' && "$0" "$@")", "echo", "trained"};
  request.train_specification = to_text(Json{{"image", "any"}, {"command", command}});
  request.distribution_specification = std::move(distribution);
  return make_plan(request);
}

TEST_CASE("packages that are there are not installed") {
  const Packages packages("");
  Fixture fixture(plan_with_installer(pytorch(2)), packages.options());
  fixture.until_ended(2);
  CHECK(packages.asked().empty());
  CHECK(fixture.said["worker-0"] == "trained\n");
}

TEST_CASE("packages that are missing are installed once for the whole gang") {
  const Packages packages("two<3\\n");
  Fixture fixture(plan_with_installer(pytorch(2)), packages.options());
  fixture.until_ended(2);
  CHECK(packages.asked() == "-m pip install --quiet one two<3\n");
  CHECK(fixture.said["setup"] == "installing two<3\ninstalling\n");
  CHECK(fixture.said["master-0"] == "trained\n");
}

TEST_CASE("packages that cannot be installed fail the run with their names") {
  const Packages packages("two<3\\n", 1);
  Fixture fixture(plan_with_installer(pytorch(2)), packages.options());
  CHECK_THAT(fixture.failed(), Catch::Contains("could not be installed: two<3") && Catch::Contains("--python"));
}

// mpirun: a script that does what matters of it, so that these tests need no MPI.
class FakeMpirun {
 public:
  explicit FakeMpirun(const std::string& version = "mpirun (Open MPI) 4.1.4") {
    std::ofstream(m_tools.path() / "mpirun") << "#!/bin/sh\ntest \"$1\" = --version && { echo '" << version << R"('; exit; }
while test "$1" != -np; do shift; done
n=$2; shift 2; r=0; pids=; code=0
while test $r -lt $n; do OMPI_COMM_WORLD_RANK=$r "$@" & pids="$pids $!"; r=$((r+1)); done
trap 'kill $pids' TERM
for p in $pids; do wait $p || code=$?; done
echo mpirun says $code >&2
exit $code
)";
    fs::permissions(m_tools.path() / "mpirun", fs::perms::owner_all);
  }
  [[nodiscard]] LocalOptions options() const {
    return {.run_dir = {}, .python = {}, .environment = {{"PATH", m_tools.path().string() + ":/usr/bin:/bin"}}, .gpus = {}};
  }

 private:
  TempDir m_tools;
};

TEST_CASE("every line of an MPI run has its rank, and mpirun's own are the launcher's") {
  const FakeMpirun mpirun;
  Fixture fixture(shell_plan("echo rank $OMPI_COMM_WORLD_RANK $K_MPI_JOB_ROLE in $(basename $PWD); echo trouble >&2", mpi(2)), mpirun.options());
  fixture.until_ended(1);
  CHECK(fixture.said["worker-0"] == "rank 0 worker in worker-0\ntrouble\n");
  CHECK(fixture.said["worker-1"] == "rank 1 worker in worker-1\ntrouble\n");
  CHECK(fixture.said["launcher"] == "mpirun says 0\n");
  CHECK(fixture.endings["launcher"].succeeded());
}

TEST_CASE("SIGKILL of mpirun leaves no rank", "[subreaper]") {
  const FakeMpirun mpirun;
  Fixture fixture(shell_plan("echo ready; while :; do sleep 0.01; done", mpi(2)), mpirun.options());
  fixture.until([&] { return fixture.said.size() == 2; });
  ::kill(fixture.pids["launcher"], SIGKILL);
  fixture.until_ended(1);
  CHECK(fixture.endings["launcher"].signal == SIGKILL);
  for (const auto& process : process::descendants(::getpid())) CHECK(process.zombie);
}

TEST_CASE("an mpirun that fails before its ranks begin ends too") {
  const FakeMpirun mpirun;
  auto distribution = mpi(2);
  distribution["mpirun_arguments"] = {"-np", "0"};  // the fake takes the first -np and starts no rank
  Fixture fixture(shell_plan("echo never", distribution), mpirun.options());
  fixture.until_ended(1);
  CHECK(fixture.said.count("worker-0") == 0);
  CHECK(fixture.said["launcher"] == "mpirun says 0\n");
}

TEST_CASE("without mpirun, or with an unknown one, the error says what to install") {
  Fixture none(shell_plan("true", mpi(2)), {.run_dir = {}, .python = {}, .environment = {{"PATH", "/no/such/folder:/usr/sbin"}}, .gpus = {}});
  CHECK_THAT(none.failed(), Catch::Contains("apt-get install openmpi-bin") || Catch::Contains("sh not found"));
  none.destroy();
  const FakeMpirun strange("some other mpirun");
  Fixture other(shell_plan("true", mpi(2)), strange.options());
  CHECK_THAT(other.failed(), Catch::Contains("neither Open MPI, MPICH nor Intel MPI") && Catch::Contains("some other mpirun"));
}

}  // namespace
}  // namespace trainstep::local
