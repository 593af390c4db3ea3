// What stands at the outputs' paths before the program, and what is taken for its work after it.
// SPDX-License-Identifier: Apache-2.0
#include "agent/outputs.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "data/signature.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/tensorboard.h"
#include "support/without_root.h"

using namespace trainstep;
using namespace trainstep::agent;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

// A pod with the agent's folder and a claim.
struct Pod {
  TempDir folder;
  plan::Task task;
  Pending pending;
  PathSnapshots before;

  Pod() {
    task.attempt = "a1";
    task.executor_output_file = in_pod("outputs/executor_output.json");
  }
  [[nodiscard]] std::string in_pod(const std::string& path) const { return (folder.path() / "trainstep" / path).string(); }
  [[nodiscard]] std::string on_claim(const std::string& path) const { return (folder.path() / "claim" / path).string(); }

  plan::TaskOutput& output(const std::string& name, spec::Type type) {
    return task.outputs.emplace_back(plan::TaskOutput{name, type, "", in_pod("outputs/" + name + "/data"), "", {}});
  }
  // The same on the claim: the program's path has the name that the step asked for.
  plan::TaskOutput& output_on_claim(const std::string& name, spec::Type type, const std::string& file) {
    auto& made = output(name, type);
    made.path = in_pod("outputs/" + name + "/" + file);
    made.folder_is = on_claim("run");
    return made;
  }

  void prepare(bool primary = true) {
    pending.clear();  // of the container before
    if (primary) {
      auto opened = open_outputs(task);
      if (!opened) FAIL(opened.error().message);
      pending = std::move(*opened);
    }
    auto prepared = prepare_outputs(task, pending);
    if (!prepared) FAIL(prepared.error().message);
    before = std::move(*prepared);
  }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    REQUIRE(fs::exists(path));
  }
  void commit() {
    const auto outputs = read_outputs(task, before);
    REQUIRE(outputs);
    REQUIRE(commit_outputs(pending, *outputs));
  }
  [[nodiscard]] result::ReportedOutput only() const {
    auto outputs = read_outputs(task, before);
    if (!outputs) FAIL(outputs.error().message);
    REQUIRE(outputs->size() == 1);
    return outputs->front();
  }
  [[nodiscard]] std::string refusal() const {
    const auto outputs = read_outputs(task, before);
    REQUIRE_FALSE(outputs);
    CHECK(outputs.error().kind == ErrorKind::input);
    return outputs.error().message;
  }
};

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the folders that a program may expect are there, its outputs are not") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  const auto accuracy = pod.output("accuracy", spec::Type::number).path;
  pod.prepare();
  CHECK(fs::is_directory(fs::path(model).parent_path()));
  CHECK_FALSE(fs::exists(model));
  CHECK(fs::is_directory(fs::path(accuracy).parent_path()));
  CHECK(fs::is_directory(fs::path(pod.task.executor_output_file).parent_path()));
}

TEST_CASE("an output on a claim appears complete, with the requested name") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  pod.prepare();
  Pod::write(pod.on_claim("run/final/older"), "o");
  Pod::write(model + "/weights", "w");
  CHECK(pod.only().present);
  CHECK_FALSE(fs::exists(pod.on_claim("run/final/weights")));
  pod.commit();
  CHECK(contents(pod.on_claim("run/final/weights")) == "w");
  CHECK_FALSE(fs::exists(pod.on_claim("run/final/older")));
  CHECK(contents(pod.on_claim("run/final.~1~/older")) == "o");
}

TEST_CASE("outputs of other replicas stay in their pods") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  pod.prepare(false);
  Pod::write(model + "/weights", "w");
  CHECK_FALSE(fs::exists(pod.on_claim("run/final")));
  CHECK(contents(model + "/weights") == "w");
}

TEST_CASE("a container that starts again in the same pod finds its links, and they lead where they did") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  pod.prepare();
  pod.prepare();
  Pod::write(model, "w");
  pod.commit();
  CHECK(contents(pod.on_claim("run/final")) == "w");
}

TEST_CASE("a container restarted in the same pod continues with the files on the claim; another job does not") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  pod.prepare();
  Pod::write(model + "/half", "h");
  pod.prepare();
  CHECK(contents(model + "/half") == "h");
  CHECK_FALSE(pod.only().present);
  pod.task.attempt = "a2";
  pod.prepare();
  CHECK_FALSE(fs::exists(model));
}

TEST_CASE("an unreported output on a claim is reverted by the next container, and the older model stays until that one has trained") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  const auto there = pod.on_claim("run/final/weights");
  Pod::write(there, "older");
  for (const auto* text : {"first", "second"}) {
    pod.prepare();
    CHECK(contents(there) == "older");
    Pod::write(model + "/weights", text);
    pod.commit();
    CHECK(contents(there) == text);
    CHECK(signed_by(pod.on_claim("run/final"), "a1") == Signed::yes);
  }
}

TEST_CASE("on a claim broken links are delivered unchanged and reported; other link targets are copied") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  pod.prepare();
  Pod::write(model + "/weights", "w");
  Pod::write(pod.in_pod("volume/x"), "x");
  fs::create_symlink("none", model + "/nowhere");
  fs::create_symlink("round", model + "/round");
  fs::create_directory_symlink(pod.in_pod("volume"), model + "/copied");
  const auto outputs = read_outputs(pod.task, pod.before);
  REQUIRE(outputs);
  const auto told = commit_outputs(pod.pending, *outputs);
  REQUIRE(told);
  REQUIRE(told->size() == 1);
  CHECK_THAT(told->front(), Catch::Contains("model: links delivered unchanged: ") && Catch::Contains("nowhere: a link that is broken") &&
                                Catch::Contains("round: a link that ") && !Catch::Contains("copied"));
  CHECK(fs::is_symlink(pod.on_claim("run/final/nowhere")));
  CHECK(contents(pod.on_claim("run/final/copied/x")) == "x");
}

TEST_CASE("if the copy of link targets is stopped, nothing appears on the claim") {
  Pod pod;
  const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
  pod.prepare();
  Pod::write(pod.in_pod("volume/weights"), "w");
  fs::create_directories(model);
  fs::create_symlink(pod.in_pod("volume/weights"), model + "/weights");
  const auto outputs = read_outputs(pod.task, pod.before);
  REQUIRE(outputs);
  const auto stopped = commit_outputs(pod.pending, *outputs, [] { return Result<void>(Error{ErrorKind::cancelled, "stopped"}); });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind == ErrorKind::cancelled);
  CHECK_FALSE(fs::exists(pod.on_claim("run/final")));
}

TEST_CASE("folders, empty files and links out of a model are not a model") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.prepare();
  fs::create_directories(model + "/variables");
  Pod::write(model + "/variables/empty", "");
  fs::create_symlink("/etc/hostname", model + "/link");
  CHECK_FALSE(pod.only().present);
  Pod::write(model + "/weights", "w");
  CHECK(pod.only().present);
}

TEST_CASE("a link to a folder of this pod is a model once it holds files of this attempt") {
  Pod pod;
  const TempDir elsewhere;
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.prepare();
  fs::create_directories(model);
  fs::create_directory_symlink(elsewhere.path(), model + "/best");
  CHECK_FALSE(pod.only().present);
  Pod::write(elsewhere.path() / "step-1/weights", "w");
  CHECK(pod.only().present);
}

TEST_CASE("a folder in the place of a file is not delivered, and the log says where it is") {
  Pod pod;
  const bool on_claim = GENERATE(true, false);
  auto& made = on_claim ? pod.output_on_claim("metrics", spec::Type::artifact, "metrics.json") : pod.output("metrics", spec::Type::artifact);
  made.file = true;
  const auto path = made.path;
  const auto place = pod.on_claim("run/metrics.json");
  Pod::write(place, "older");
  pod.prepare();
  Pod::write(path + "/values.json", "{}");
  CHECK(pod.only().present);
  CHECK(pod.only().no_file);
  const auto told = commit_outputs(pod.pending, {pod.only()});
  REQUIRE(told);
  REQUIRE(told->size() == 1);
  const auto why =
      on_claim ? "it is kept in " + pod.on_claim("run/.metrics.json.trainstep/new/metrics.json") + " until the next run" : "a file was expected";
  CHECK(told->front() == "metrics: the folder that the program wrote there is not delivered; " + why);
  CHECK(contents(place) == "older");
  fs::remove_all(path);
  Pod::write(path, "{}");
  CHECK_FALSE(pod.only().no_file);
}

TEST_CASE("an output that changes after the program's end is the program's mistake") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.prepare();
  Pod::write(model + "/part-1", "1");
  const auto at_end = snapshots_at_end(pod.task);
  CHECK(check_unchanged(at_end, "7 (saver)").has_value());
  Pod::write(model + "/part-2", "2");
  const auto changed = check_unchanged(at_end, "7 (saver)");
  REQUIRE_FALSE(changed);
  CHECK(changed.error().kind == ErrorKind::input);
  CHECK_THAT(changed.error().message, Contains("output model") && Contains("7 (saver)"));
}

TEST_CASE("values of an earlier attempt in this pod are removed, artifacts stay for those who resume") {
  Pod pod;
  const auto accuracy = pod.output("accuracy", spec::Type::number).path;
  const auto model = pod.output("model", spec::Type::artifact).path;
  Pod::write(accuracy, "0.1");
  Pod::write(model + "/checkpoint", "c");
  Pod::write(pod.task.executor_output_file, R"({"parameterValues": {"accuracy": 0.1}})");
  pod.prepare();
  CHECK_FALSE(fs::exists(accuracy));
  CHECK_FALSE(fs::exists(pod.task.executor_output_file));
  CHECK(fs::exists(model + "/checkpoint"));
  CHECK_THAT(pod.refusal(), Contains("output accuracy") && Contains("did not write its value") && Contains(accuracy));
}

TEST_CASE("older contents of a claim that were not written are not an output") {
  Pod pod;
  SECTION("an artifact is not present") {
    const auto model = pod.output_on_claim("model", spec::Type::artifact, "final").path;
    Pod::write(pod.on_claim("run/final/weights"), "old");
    pod.prepare();
    CHECK_FALSE(pod.only().present);
    CHECK(contents(pod.on_claim("run/final/weights")) == "old");
    Pod::write(model + "/weights", "newer");
    CHECK(pod.only().present);
  }
  SECTION("a value is missing, and the old one is left alone") {
    const auto accuracy = pod.output_on_claim("accuracy", spec::Type::number, "accuracy").path;
    Pod::write(pod.on_claim("run/accuracy"), "0.1");
    pod.prepare();
    CHECK_THAT(pod.refusal(), Contains("output accuracy"));
    CHECK(contents(pod.on_claim("run/accuracy")) == "0.1");
    Pod::write(accuracy, "0.25");
    CHECK(pod.only().value == Json(0.25));
  }
}

TEST_CASE("an unwritten artifact, or a broken link, is absent without an error") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.prepare();
  CHECK(pod.only().artifact);
  CHECK_FALSE(pod.only().present);
  fs::create_symlink("/nowhere", model);
  CHECK_FALSE(pod.only().present);
}

TEST_CASE("an artifact that the pod's user cannot look into is the program's mistake, and no absent one") {
  Pod pod;
  fs::permissions(pod.folder.path(), fs::perms(0755));
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.prepare();
  Pod::write(model + "/weights", "x");
  fs::permissions(model, fs::perms::none);
  const WithoutRoot other_user;
  CHECK(pod.refusal() == "output model: cannot read " + model + ": Permission denied; the program must leave its output files readable");
}

TEST_CASE("text written to a path is returned completely, unless it has its own location") {
  Pod pod;
  auto& note = pod.output("note", spec::Type::artifact);
  note.declared = "String";
  const auto path = note.path;
  const auto elsewhere = GENERATE(true, false);
  if (elsewhere) note.to = {"s3://bkt/note", 0, ""};
  pod.prepare();
  const auto text = std::string(5'000, 'x') + "\n";
  Pod::write(path, text);
  CHECK(pod.only().present);
  CHECK(pod.only().value == (elsewhere ? std::optional<Json>() : std::optional<Json>(text)));
  Pod::write(path, "a\xff");
  CHECK_FALSE(pod.only().value);
}

TEST_CASE("values are read by type, NaN is passed as text") {
  struct Row {
    spec::Type type;
    const char* text;
    const char* value;
  };
  const auto row = GENERATE(values<Row>({{spec::Type::integer, "7\n", "7"},
                                         {spec::Type::number, "0.5", "0.5"},
                                         {spec::Type::number, "nan", R"("NaN")"},
                                         {spec::Type::number, "inf", R"("Infinity")"},
                                         {spec::Type::number, "-inf", R"("-Infinity")"},
                                         {spec::Type::string, "two words\n", R"("two words\n")"},
                                         {spec::Type::list, "[1, NaN]", R"([1,"NaN"])"}}));
  CAPTURE(row.text);
  Pod pod;
  const auto path = pod.output("value", row.type).path;
  pod.prepare();
  Pod::write(path, row.text);
  const auto found = pod.only();
  CHECK(found.present);
  CHECK_FALSE(found.artifact);
  CHECK(to_text(*found.value) == row.value);
}

TEST_CASE("a value that is optional may be left out") {
  Pod pod;
  auto& output = pod.output("best", spec::Type::number);
  output.declared = "Optional[Float]";
  const auto path = output.path;
  pod.prepare();
  CHECK_FALSE(pod.only().present);
  CHECK_FALSE(pod.only().artifact);
  Pod::write(path, "None");
  CHECK_FALSE(pod.only().present);
  CHECK_FALSE(pod.only().value);
  Pod::write(path, "1.5");
  CHECK(pod.only().value == Json(1.5));
}

TEST_CASE("a value of another type is the program's mistake, and named") {
  Pod pod;
  const auto path = pod.output("epochs", spec::Type::integer).path;
  pod.prepare();
  Pod::write(path, "many");
  CHECK_THAT(pod.refusal(), Contains("output epochs") && Contains("many"));
}

TEST_CASE("the executor output takes precedence over files, and sets metadata and locations") {
  Pod pod;
  SECTION("a value") {
    const auto path = pod.output("accuracy", spec::Type::number).path;
    pod.prepare();
    Pod::write(path, "0.1");
    Pod::write(pod.task.executor_output_file, R"({"parameterValues": {"accuracy": NaN}})");
    CHECK(to_text(pod.only().value.value()) == R"("NaN")");
  }
  SECTION("an artifact elsewhere in a store") {
    pod.output("model", spec::Type::artifact);
    pod.prepare();
    Pod::write(pod.task.executor_output_file, R"({"artifacts": {"model": {"artifacts": [{"uri": "s3://b/k", "metadata": {"a": 1}}]}}})");
    CHECK(pod.only().present);
    CHECK(pod.only().uri == "s3://b/k");
    CHECK(to_text(pod.only().metadata) == R"({"a":1})");
  }
  SECTION("what it wrote to the step's place is the artifact, also where it names another") {
    auto& output = pod.output("model", spec::Type::artifact);
    const bool wanted = GENERATE(true, false);
    if (wanted) output.to = {"s3://bkt/model", 0, ""};
    const auto path = output.path;
    pod.prepare();
    Pod::write(path, "w");
    Pod::write(pod.task.executor_output_file, R"({"artifacts": {"model": {"artifacts": [{"uri": "s3://b/k"}]}}})");
    CHECK(pod.only().present);
    CHECK(pod.only().uri == (wanted ? "" : "s3://b/k"));
  }
  SECTION("an invalid address is reported and not an artifact; nor is a path of the pod") {
    const auto [place, uri, present] = GENERATE(table<std::string, std::string, bool>({
        {"models:/digits@champion", "models:/digits@champion", true},
        {"S3://b/k", "s3://b/k", true},
        {"hf://", "hf://", false},
        {"file:///etc/passwd", "", false},
        {"/etc/passwd", "", false},
    }));
    CAPTURE(place);
    const auto path = pod.output("model", spec::Type::artifact).path;
    pod.prepare();
    Pod::write(pod.task.executor_output_file, R"({"artifacts": {"model": {"artifacts": [{"uri": ")" + place + R"("}]}}})");
    CHECK(pod.only().uri == uri);
    CHECK(pod.only().present == present);
    Pod::write(path, "w");
    CHECK(pod.only().uri == (present ? uri : ""));
    CHECK(pod.only().present);
  }
  SECTION("metadata alone is not an artifact") {
    pod.output("metrics", spec::Type::artifact);
    pod.prepare();
    Pod::write(pod.task.executor_output_file, R"({"artifacts": {"metrics": {"artifacts": [{"metadata": {"accuracy": 0.5}}]}}})");
    CHECK_FALSE(pod.only().present);
    CHECK(to_text(pod.only().metadata) == R"({"accuracy":0.5})");
  }
  SECTION("its own path is nowhere else") {
    const auto path = pod.output("model", spec::Type::artifact).path;
    pod.prepare();
    Pod::write(pod.task.executor_output_file, R"({"artifacts": {"model": {"artifacts": [{"uri": ")" + path + R"("}]}}})");
    CHECK_FALSE(pod.only().present);
    CHECK(pod.only().uri.empty());
  }
  SECTION("not JSON") {
    pod.output("model", spec::Type::artifact);
    pod.prepare();
    Pod::write(pod.task.executor_output_file, "{");
    CHECK_THAT(pod.refusal(), Contains("executor output"));
  }
}

TEST_CASE("a folder that cannot be made is an error that names it") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  Pod::write(fs::path(model).parent_path(), "a file in its place");
  const auto prepared = prepare_outputs(pod.task, {});
  REQUIRE_FALSE(prepared);
  CHECK_THAT(prepared.error().message, Contains(fs::path(model).parent_path().string()));
}

TEST_CASE("curves are read from the logs of artifacts that are there, as this container's program has written them") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.output("empty", spec::Type::artifact);
  const auto log = [](int step, double at) { return tb::record(tb::event(step, tb::simple("loss", static_cast<float>(step)), at)); };
  const Time began(Duration(1'700'000'000'000));
  pod.prepare();
  Pod::write(model + "/logs/tfevents.1", log(1, 1.7e9));
  pod.prepare();  // the container was killed
  Pod::write(model + "/logs/tfevents.2", log(2, 1.7e9 - 3600) + log(3, 1.7e9) + std::string(20, 'x'));
  auto outputs = read_outputs(pod.task, pod.before);
  REQUIRE(outputs);
  const auto told = read_logs(pod.task, pod.before, began, *outputs);
  REQUIRE((*outputs)[0].curves.size() == 1);
  CHECK((*outputs)[0].curves[0].name == "loss");
  REQUIRE((*outputs)[0].curves[0].points.size() == 1);
  CHECK((*outputs)[0].curves[0].points[0].x == 3);
  CHECK((*outputs)[1].curves.empty());
  REQUIRE(told.size() == 2);
  CHECK_THAT(told[0], Contains("model: logs/tfevents.2: damaged"));
  CHECK_THAT(told[1], Contains("model: ignoring 1 values of TensorBoard event files that are older than the training"));
}

TEST_CASE("of many curves the agent reports some points and each last one") {
  Pod pod;
  const auto model = pod.output("model", spec::Type::artifact).path;
  pod.prepare();
  std::string log;
  for (int step = 0; step < 150; ++step) {
    std::string values;
    for (int tag = 0; tag < 200; ++tag) values += tb::simple("t" + std::to_string(tag), 1);
    log += tb::record(tb::event(step, values));
  }
  Pod::write(model + "/tfevents", log);
  auto outputs = read_outputs(pod.task, pod.before);
  REQUIRE(outputs);
  CHECK(read_logs(pod.task, pod.before, {}, *outputs).empty());
  REQUIRE((*outputs)[0].curves.size() == 200);
  CHECK((*outputs)[0].curves[0].points.size() == 100);
  CHECK((*outputs)[0].curves[0].points.back().x == 149);
}
