// Checkpoints to the job's prefix and back, on virtual time.
// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpoints.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/checkpoint_sync.h"
#include "agent/replica_run.h"
#include "base/fd.h"
#include "base/file_lock.h"
#include "base/mount.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using staging::test::FakeTransport;
using staging::test::Reply;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// The store's virtual loop, for linear code; it goes on in steps of 10 ms, and for ten minutes at most.
class Running : public RunningLoop {
 public:
  explicit Running(test::VirtualLoop& loop) : m_loop(loop) {}
  [[nodiscard]] Time now() const override { return m_loop.now(); }
  TimerId start(Duration delay, std::function<void()> done) override { return m_loop.start(delay, std::move(done)); }
  void cancel(TimerId timer) override { m_loop.cancel(timer); }
  void post(std::function<void()> task) override { m_loop.post(std::move(task)); }
  void run() override {
    const auto end = now() + 10min;
    for (m_stopped = false; !m_stopped && now() < end;) advance(10ms);
  }
  void stop() override { m_stopped = true; }
  void advance(Duration time) {
    m_loop.after(time, [] {});
    m_loop.run(time);
  }

 private:
  test::VirtualLoop& m_loop;
  bool m_stopped = false;
};

struct Checkpoints : staging::test::StoreOfPod {
  Running running{loop};
  plan::TaskCheckpoints checkpoints{in_pod("saved"), {"s3://bkt/jobs/job/checkpoints", 0, ""}};
  Texts told;
  Log log = [this](const std::string& line) { told.push_back(line); };

  void save(const std::string& name, const std::string& text) { write(in_pod("saved/" + name), text); }
  // Of a folder's last change.
  void set_time(const std::string& name, time_t seconds) {
    const timespec times[]{{seconds, 0}, {seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, in_pod("saved/" + name).c_str(), times, 0) == 0);
  }
  [[nodiscard]] time_t seconds_of(const std::string& name) const {
    struct stat status{};
    REQUIRE(::stat(in_pod("saved/" + name).c_str(), &status) == 0);
    return status.st_mtim.tv_sec;
  }
  Result<void> restore() { return restore_checkpoints(running, *stores, checkpoints, log); }
  [[nodiscard]] Texts sent() const {
    Texts names;
    for (const auto& asked : transport.asked())
      if (const auto& path = asked.request.url.path; asked.request.method == "PUT" && path.find("/files/") != std::string::npos)
        names.push_back(path.substr(path.rfind('/') + 1));
    return names;
  }
  // What would come back.
  std::map<std::string, std::string> kept() {
    std::optional<Result<NewestSet::Found>> found;
    const NewestSet newest(stores->of(checkpoints.to), objectstore::Address::parse(checkpoints.to.uri).value(),
                           [&](auto answer) { found = std::move(answer); });
    running.advance(5s);
    std::map<std::string, std::string> files;
    if (found && *found && (*found)->set)
      for (const auto& [path, file] : (*found)->set->files) files[path] = objects.at("jobs/job/checkpoints/" + file.key);
    return files;
  }
};
using Files = std::map<std::string, std::string>;

}  // namespace

TEST_CASE_METHOD(Checkpoints, "the checkpoints of an attempt of an earlier version are restored") {
  objects = {{"jobs/job/checkpoints/1", "one"}, {"jobs/job/checkpoints/sub/2", "two"}, {"jobs/job/checkpoints-of-another", "x"}};
  CHECK_FALSE(has_checkpoints(checkpoints));
  REQUIRE(restore());
  CHECK(read(in_pod("saved/1")) == "one");
  CHECK(read(in_pod("saved/sub/2")) == "two");
  CHECK(has_checkpoints(checkpoints));
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints of an earlier attempt: 2 files"));
}

TEST_CASE_METHOD(Checkpoints, "without checkpoints the first attempt reports nothing and succeeds") {
  REQUIRE(restore());
  CHECK(told.empty());
  CHECK_FALSE(has_checkpoints(checkpoints));
}

TEST_CASE_METHOD(Checkpoints, "an empty folder has no checkpoints") {
  std::filesystem::create_directories(checkpoints.path);
  CHECK_FALSE(has_checkpoints(checkpoints));
  save("1", "one");
  CHECK(has_checkpoints(checkpoints));
}

TEST_CASE_METHOD(Checkpoints, "checkpoints on a volume that survived the pod are newer than the uploaded ones") {
  const TempDir volume("/dev/shm");
  REQUIRE(lies_on_a_mount(volume.path()));
  checkpoints.path = (volume.path() / "run").string();
  const auto mark = volume.path() / "run" / restoring_mark;
  objects = {{"jobs/job/checkpoints/last", "epoch 1"}};
  REQUIRE(restore());
  CHECK(read(checkpoints.path + "/last") == "epoch 1");
  CHECK_FALSE(fs::exists(mark));
  write(checkpoints.path + "/last", "epoch 4");
  SECTION("it stays") {
    REQUIRE(restore());
    CHECK(read(checkpoints.path + "/last") == "epoch 4");
    CHECK_THAT(told.back(), Contains("unchanged"));
  }
  SECTION("but what a pod has begun to fill is filled") {
    write(mark, "");
    CHECK_FALSE(has_checkpoints(checkpoints));
    REQUIRE(restore());
    CHECK(read(checkpoints.path + "/last") == "epoch 1");
  }
  SECTION("a second pod waits while the first restores, and finds the result") {
    write(mark, "");
    const Fd file(::open(mark.c_str(), O_RDWR));
    auto lock = FileLock::take(file);
    REQUIRE(lock);
    running.after(1s, [&] {
      fs::remove(mark);
      lock.reset();
      ::flock(file.get(), LOCK_UN);
    });
    REQUIRE(restore());
    CHECK(read(checkpoints.path + "/last") == "epoch 4");
  }
  CHECK_FALSE(fs::exists(mark));
}

TEST_CASE_METHOD(Checkpoints, "a folder that is being filled is kept without its mark") {
  save("1", "one");
  save(std::string(restoring_mark), "");
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  CHECK(kept() == Files{{"1", "one"}});
}

TEST_CASE_METHOD(Checkpoints, "checkpoints that may not be read are an error, not a fresh start") {
  objects["jobs/job/checkpoints/1"] = "one";
  refuse("GET", 403, "AccessDenied");
  const auto restored = restore();
  REQUIRE_FALSE(restored);
  CHECK(restored.error().kind == ErrorKind::denied);
}

TEST_CASE_METHOD(Checkpoints, "a checkpoint replaced by another of the same size is not restored") {
  save("1", "one");
  save("2", "two");
  std::string key;
  {
    const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
    running.advance(16s);
    for (const auto& [name, content] : objects)
      if (content == "two") key = name;
    REQUIRE(kept() == Files{{"1", "one"}, {"2", "two"}});
  }
  objects[key] = "owt";
  CHECK(kept().empty());
  std::filesystem::remove_all(checkpoints.path);
  REQUIRE(restore());
  CHECK_FALSE(has_checkpoints(checkpoints));
  CHECK(told == Texts{"checkpoints: none of the 1 saved states is complete"});
  save("1", "one");
  save("2", "two");
  const CheckpointSync next(running, *stores, checkpoints, log, 8, 15s);
  running.advance(16s);
  CHECK(kept() == Files{{"1", "one"}, {"2", "two"}});
}

TEST_CASE_METHOD(Checkpoints, "a set without ETags, as of an earlier version, is checked by file sizes") {
  objects["jobs/job/checkpoints/.trainstep/files/a-1/1"] = "one";
  objects["jobs/job/checkpoints/.trainstep/sets/0000000001-a.json"] = R"({"files":[["1",".trainstep/files/a-1/1",3,5]]})";
  CHECK(kept() == Files{{"1", "one"}});
}

TEST_CASE_METHOD(Checkpoints, "a file replaced by one of the same size and modification time is saved again") {
  const bool in_place = GENERATE(true, false);
  save("w", "one");
  const fs::path file = in_pod("saved/w");
  const auto time = fs::last_write_time(file);
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  CHECK(kept() == Files{{"w", "one"}});
  const fs::path other = in_pod("other");
  write(in_place ? file : other, "two");
  fs::last_write_time(in_place ? file : other, time);
  if (!in_place) fs::rename(other, file);
  running.advance(16s);
  CHECK(kept() == Files{{"w", "two"}});
  running.advance(60s);
  CHECK(sent().size() == 2);
}

TEST_CASE_METHOD(Checkpoints, "each scan saves new and changed files, and nothing twice") {
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(14s);
  CHECK(transport.asked().empty());
  running.advance(2s);
  CHECK(transport.asked().empty());  // there is no folder yet
  save("1", "one");
  save("log", "a");
  running.advance(15s);
  CHECK(kept() == Files{{"1", "one"}, {"log", "a"}});
  save("2", "two");
  save("log", "a longer one");
  running.advance(15s);
  CHECK(kept()["log"] == "a longer one");
  running.advance(60s);
  auto names = sent();
  std::ranges::sort(names);
  CHECK(names == Texts{"1", "2", "log", "log"});
  CHECK(told.empty());
}

TEST_CASE_METHOD(Checkpoints, "a state of the folder is saved only completely: a file that refers to an unsent one is not restored") {
  save("step-1/weights", "one");
  save("latest", "step-1");
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  save("step-2/weights", "two");
  save("latest", "step-2");
  fault = [](const FakeTransport::Asked& asked) {
    return asked.line().ends_with("step-2/weights") ? std::optional(refusal(403, "AccessDenied")) : std::nullopt;
  };
  running.advance(15s);
  CHECK(kept() == Files{{"latest", "step-1"}, {"step-1/weights", "one"}});
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints: ") && Contains("AccessDenied"));
  running.advance(30s);
  CAPTURE(told);
  CHECK(told.size() == 1);  // the same once more is no news
  fault = nullptr;
  running.advance(15s);
  CHECK(kept()["latest"] == "step-2");
  CHECK(told.back() == "checkpoints: saving works again");
}

TEST_CASE_METHOD(Checkpoints, "files removed by the program are removed from the store once a later state is complete") {
  save("step-1", "one");
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  save("step-2", "two");
  std::filesystem::remove(in_pod("saved/step-1"));
  running.advance(15s);
  CHECK(kept() == Files{{"step-2", "two"}});
  CHECK(objects.size() == 2);  // the file, and the set that lists it
  std::filesystem::remove(in_pod("saved/step-2"));
  running.advance(15s);
  CHECK(kept() == Files{{"step-2", "two"}});  // an empty folder is no state to go on from
}

TEST_CASE_METHOD(Checkpoints, "a pod cut off from the cluster removes nothing that its successor restored") {
  save("best", "best");
  save("last", "A1");
  const CheckpointSync cut_off(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  auto next = checkpoints;
  next.path = in_pod("next");
  REQUIRE(restore_checkpoints(running, *stores, next, log));
  told.clear();
  Texts told_next;
  {
    const CheckpointSync successor(running, *stores, next, [&](const std::string& line) { told_next.push_back(line); }, 8, 15s);
    write(in_pod("next/last"), "B1");
    running.advance(16s);
    write(in_pod("next/last"), "B2");
    running.advance(15s);
  }
  for (const auto* text : {"A2", "A3"}) {
    fs::remove(in_pod("saved/best"));
    save("last", text);
    running.advance(15s);
  }
  CHECK(kept()["best"] == "best");
  CHECK(kept()["last"] == "B2");
  CHECK(told == Texts{"checkpoints: another pod is saving to the same location; no longer removing anything there"});
  CHECK(told_next.empty());  // of who was there before nothing is to be feared
}

TEST_CASE_METHOD(Checkpoints, "the newest complete set is restored, with the times of its files") {
  save("a", "old");
  {
    const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
    running.advance(16s);
    save("a", "newer");
    save("b", "bb");
    running.advance(15s);
  }
  const auto time = std::filesystem::last_write_time(in_pod("saved/b"));
  std::filesystem::remove_all(in_pod("saved"));
  REQUIRE(restore());
  CHECK(read(in_pod("saved/a")) == "newer");
  CHECK(std::filesystem::last_write_time(in_pod("saved/b")) == time);
  const auto puts = count("PUT");
  const CheckpointSync next(running, *stores, checkpoints, log, 8, 15s);
  running.advance(31s);
  CHECK(count("PUT") == puts);  // all of it is known
  CHECK(kept().size() == 2);
}

TEST_CASE_METHOD(Checkpoints, "an incomplete set is ignored") {
  objects = {{"jobs/job/checkpoints/.trainstep/sets/0000000001-a.json", R"({"files": [["x", ".trainstep/files/a-1/x", 3, 5]]})"},
             {"jobs/job/checkpoints/.trainstep/files/a-1/x", "old"},
             {"jobs/job/checkpoints/.trainstep/sets/0000000002-a.json", R"({"files": [["x", ".trainstep/files/a-2/x", 3, 5]]})"},
             {"jobs/job/checkpoints/.trainstep/files/a-2/x", "ha"},
             {"jobs/job/checkpoints/.trainstep/sets/0000000003-a.json", "{"}};
  SECTION("an older one does") {
    REQUIRE(restore());
    CHECK(read(in_pod("saved/x")) == "old");
  }
  SECTION("none is complete: the training starts from scratch, and this is reported") {
    objects.erase("jobs/job/checkpoints/.trainstep/files/a-1/x");
    REQUIRE(restore());
    CHECK_FALSE(has_checkpoints(checkpoints));
    CHECK(told == Texts{"checkpoints: none of the 3 saved states is complete"});
  }
}

TEST_CASE_METHOD(Checkpoints, "a truncated set is requested again") {
  const std::string set = R"({"files": [["x", ".trainstep/files/a-1/x", 3, 5]]})";
  objects = {{"jobs/job/checkpoints/.trainstep/sets/0000000001-a.json", set}, {"jobs/job/checkpoints/.trainstep/files/a-1/x", "old"}};
  fault = [&, first = true](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
    if (asked.line().find("/sets/") == std::string::npos || !std::exchange(first, false)) return std::nullopt;
    return Reply::text(set.substr(0, 20), 206);
  };
  REQUIRE(restore());
  CHECK(read(in_pod("saved/x")) == "old");
}

TEST_CASE_METHOD(Checkpoints, "a file that changes on every read delays the others for a minute only, and is reported") {
  save("step-1", "one");
  save("log", "a");
  fault = [&, turn = 0](const FakeTransport::Asked& asked) mutable {
    if (asked.line().ends_with("/log") && asked.request.method == "PUT") save("log", "a" + std::string(static_cast<std::size_t>(++turn), 'x'));
    return std::nullopt;
  };
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(50s);
  CHECK(kept().empty());
  CHECK_THAT(told.at(0), Contains("log changed or disappeared while being read"));
  running.advance(60s);
  CHECK(kept() == Files{{"step-1", "one"}});
  CHECK(std::ranges::any_of(told, [](const auto& line) { return line.find("log keeps changing") != std::string::npos; }));
}

TEST_CASE_METHOD(Checkpoints, "a store that rejects a state is reported, and the state is saved once the store accepts it") {
  const auto [status, code] =
      GENERATE(table<int, std::string>({{507, "XMinioStorageFull"}, {400, "EntityTooLarge"}, {404, "NoSuchBucket"}, {413, ""}}));
  CAPTURE(status);
  save("w", "one");
  refuse("PUT", status, code);
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(40s);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints: ") && Contains(code.empty() ? std::to_string(status) : code) && !Contains("changed"));
  fault = nullptr;
  running.advance(20s);
  CHECK(kept() == Files{{"w", "one"}});
  CHECK(told.back() == "checkpoints: saving works again");
}

TEST_CASE_METHOD(Checkpoints, "links in the folder do not stop the scans; skipped files are reported once") {
  save("step-1/weights", "one");
  std::filesystem::create_directory_symlink("step-1", in_pod("saved/last"));
  std::filesystem::create_symlink("nowhere", in_pod("saved/dangling"));
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(46s);
  CHECK(kept() == Files{{"step-1/weights", "one"}});
  CHECK(told == Texts{"checkpoints: skipped: dangling: a link that is broken"});
}

TEST_CASE_METHOD(Checkpoints, "a link within the folder is restored as a link, and its target is saved once") {
  const auto link = [this](const std::string& to, const std::string& name) { fs::create_symlink(to, in_pod("saved/" + name)); };
  const auto said = [this](const std::string& name) { return fs::read_symlink(in_pod("saved/" + name)).string(); };
  save("step-1/weights", "one");
  save("step-2/weights", "two");
  write(in_pod("elsewhere/file"), "x");
  fs::create_directories(in_pod("saved/refs"));
  const std::map<std::string, std::string> links{{"latest", "step-2"}, {"best", "latest"}, {"refs/last", "../step-2/weights"}, {"self", "."}};
  for (const auto& [name, to] : links) link(to, name);
  link(in_pod("saved/step-1"), "absolute");
  link("../../saved/step-1", "refs/roundabout");
  link("../elsewhere/file", "out");
  {
    const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
    running.advance(31s);
    auto names = sent();
    std::ranges::sort(names);
    CHECK(names == Texts{"out", "weights", "weights"});
    CHECK(count("PUT") == 4);  // and one set
    fs::remove(in_pod("saved/latest"));
    link("step-1", "latest");
    running.advance(15s);
    CHECK(count("PUT") == 5);  // another state, with the same files
  }
  fs::remove_all(in_pod("saved"));
  REQUIRE(restore());
  CHECK(said("latest") == "step-1");
  for (const auto* name : {"best", "refs/last", "self"}) CHECK(said(name) == links.at(name));
  CHECK(said("absolute") == "step-1");
  CHECK(said("refs/roundabout") == "../step-1");
  CHECK(read(in_pod("saved/best/weights")) == "one");
  CHECK(fs::is_regular_file(fs::symlink_status(in_pod("saved/out"))));
  CHECK(told.size() == 1);
}

TEST_CASE_METHOD(Checkpoints, "a link replaces only a link or nothing, and nothing is written through one") {
  save("step-1/weights", "one");
  save("step-2/weights", "two");
  fs::create_symlink("step-2", in_pod("saved/latest"));
  fs::create_symlink("step-2", in_pod("saved/best"));
  {
    const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
    running.advance(16s);
  }
  fs::remove_all(in_pod("saved"));
  write(in_pod("elsewhere/weights"), "of others");
  fs::create_directories(in_pod("saved/best"));
  fs::create_symlink("../elsewhere", in_pod("saved/step-1"));
  fs::create_symlink("nowhere", in_pod("saved/latest"));
  REQUIRE(restore());
  CHECK(read(in_pod("elsewhere/weights")) == "of others");
  CHECK(read(in_pod("saved/step-1/weights")) == "one");
  CHECK(fs::read_symlink(in_pod("saved/latest")) == "step-2");
  CHECK_FALSE(fs::is_symlink(in_pod("saved/best")));
  REQUIRE(told.size() == 2);
  CHECK(told[0] == "checkpoints: skipped best: cannot create a link to step-2 there");
}

TEST_CASE_METHOD(Checkpoints, "a set whose links lead out of the folder makes none of them") {
  objects = {
      {"jobs/job/checkpoints/.trainstep/files/a-1/x", "old"},
      {"jobs/job/checkpoints/.trainstep/sets/0000000001-a.json",
       R"({"files": [["x", ".trainstep/files/a-1/x", 3, 5]], "links": [["a", "../.."], ["b", "/etc"], ["../c", "x"], ["/d", "x"], ["e", ""], ["f/g", "../x"]],
                  "folders": [["../..", 1], ["/", 1], ["f", 1000000000]]})"}};
  REQUIRE(restore());
  CHECK(read(in_pod("saved/f/g")) == "old");
  CHECK(std::distance(fs::directory_iterator(in_pod("saved")), {}) == 2);
  CHECK_FALSE(fs::exists(in_pod("c")));
  CHECK(told.size() == 6);
  CHECK(seconds_of("f") == 1);
}

TEST_CASE_METHOD(Checkpoints, "folders are restored with their times: the newest stays the newest") {
  for (const auto* step : {"step-1", "step-2", "step-3"}) save(std::string(step) + "/deep/weights", step);
  fs::create_directory_symlink("../step-1", in_pod("saved/step-2/base"));
  set_time("step-1/deep", 100);
  set_time("step-1", 50);
  set_time("step-2", 300);
  set_time("step-3", 200);
  {
    const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
    running.advance(16s);
    set_time("step-3", 250);
    running.advance(15s);
  }
  fs::remove_all(in_pod("saved"));
  REQUIRE(restore());
  CHECK(seconds_of("step-1/deep") == 100);
  CHECK(seconds_of("step-1") == 50);
  CHECK(seconds_of("step-2") == 300);
  CHECK(seconds_of("step-3") == 250);
  const auto puts = count("PUT");
  const CheckpointSync next(running, *stores, checkpoints, log, 8, 15s);
  running.advance(31s);
  CHECK(count("PUT") == puts);  // all of it is known
}

TEST_CASE_METHOD(Checkpoints, "each pod of an indexed job keeps checkpoints of its own, and gets those back") {
  plan::Task task;
  task.stores.emplace_back().endpoint = "http://store:9000";
  task.checkpoints = checkpoints;
  std::string found;
  const auto live = [&](const std::string& index, bool primary) {
    fs::remove_all(in_pod("saved"));  // another pod
    Context with{.loop = running,
                 .transport = transport,
                 .environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}},
                 .seed = 7,
                 .log = log,
                 .index = index,
                 .run_program =
                     [&](const OnOutlived&) {
                       found = read(in_pod("saved/epoch"));
                       save("epoch", "of " + index);
                       return ProgramEnd{1};
                     },
                 .signals = [](const auto&) { return nullptr; }};
    work(task, primary, "", with);
    return found;
  };
  for (const auto* index : {"1", "0", "10", "2"}) CHECK(live(index, std::string(index) == "0") == "(none)");
  for (const auto* index : {"0", "1", "2", "10"}) CHECK(live(index, std::string(index) == "0") == std::string("of ") + index);
  CHECK(kept() == Files{{"epoch", "of 0"}});
  CHECK(live("", false) == "of 0");  // a replica of a gang gets what the primary has kept
  CHECK(kept() == Files{{"epoch", "of 0"}});
}

TEST_CASE_METHOD(Checkpoints, "a state with a name that cannot be restored is not saved in part, and this is reported once") {
  save("1", "one");
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  save("2", "two");
  save("odd-\xff", "x");
  running.advance(60s);
  CHECK(kept() == Files{{"1", "one"}});
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints: ") && Contains("is not a valid object name: not UTF-8"));
}

TEST_CASE_METHOD(Checkpoints, "uploads of a killed attempt are aborted at a later scan if the store did not respond at first") {
  uploads["killed"][1] = "part";
  upload_keys["killed"] = "jobs/job/checkpoints/.trainstep/files/0-1/weights";
  fault = [silent = 6](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
    if (asked.request.method != "GET" || asked.line().find("uploads=") == std::string::npos || silent-- <= 0) return std::nullopt;
    return Reply::silent();
  };
  save("1", "one");
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(5min);
  CHECK(kept() == Files{{"1", "one"}});
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Checkpoints, "an unreadable folder is reported") {
  save("file", "x");
  checkpoints.path = in_pod("saved/file/folder");
  const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(46s);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints: cannot read"));
}

TEST_CASE_METHOD(Checkpoints, "a file in place of the folder is reported once, and nothing is saved") {
  checkpoints.path = in_pod("saved/model.pt");
  save("model.pt", "x");
  objects["jobs/job/checkpoints/others"] = "x";
  CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(46s);
  sync.finish(60s);
  CHECK(objects.size() == 1);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("saved/model.pt is a file; checkpoints are kept only in a folder of this name"));
}

TEST_CASE_METHOD(Checkpoints, "the final scan starts at once, and ends when everything is saved") {
  CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  save("1", "one");
  const auto began = running.now();
  sync.finish(60s);
  CHECK(running.now() - began < 1s);
  CHECK(kept() == Files{{"1", "one"}});
}

TEST_CASE_METHOD(Checkpoints, "the final scan sends files again that were being sent when the program ended") {
  save("1", "one");
  auto slow = Reply::silent();
  fault = [&, first = true](const FakeTransport::Asked&) mutable { return std::exchange(first, false) ? std::optional(slow) : std::nullopt; };
  CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  running.advance(16s);
  CHECK(kept().empty());
  save("1", "newer one");
  sync.finish(60s);
  CHECK(kept() == Files{{"1", "newer one"}});
}

TEST_CASE_METHOD(Checkpoints, "an unresponsive store takes no longer than the limit of the final scan") {
  save("1", "one");
  fault = [](const FakeTransport::Asked&) { return std::optional(Reply::silent()); };
  CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
  const auto began = running.now();
  sync.finish(60s);
  CHECK(running.now() - began >= 60s);
  CHECK(running.now() - began < 61s);
  REQUIRE_FALSE(told.empty());
  CHECK_THAT(told.back(), Contains("did not answer within") && Contains("the last checkpoint may be lost"));
}

TEST_CASE_METHOD(Checkpoints, "with the sync its looking ends") {
  {
    const CheckpointSync sync(running, *stores, checkpoints, log, 7, 15s);
    running.advance(16s);
  }
  save("1", "one");
  running.advance(60s);
  CHECK(transport.asked().empty());
}
