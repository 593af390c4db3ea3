// Data into the pod and out of it, on virtual time.
// SPDX-License-Identifier: Apache-2.0
#include <sys/fsuid.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/digest.h"
#include "objectstore/local_tree.h"
#include "staging/delivery.h"
#include "staging/fetching.h"
#include "support/catch.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::staging;
using namespace trainstep::staging::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

struct Staging : StoreOfPod {
  std::vector<std::string> told;
  std::vector<plan::TaskInput> inputs;
  std::vector<plan::TaskOutput> outputs;
  DeliveryOptions options{.mark = "train.1"};

  StagingSink sink(std::optional<Result<Staged>>& result) {
    return {[this](const std::string& line) { told.push_back(line); },
            [&result](Result<Staged> staged) {
              REQUIRE_FALSE(result);
              result = std::move(staged);
            }};
  }
  Result<Staged> fetch() {
    std::optional<Result<Staged>> result;
    const Fetching fetching(*stores, inputs, sink(result), options.own);
    CHECK_FALSE(result);
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  Result<Staged> deliver(Duration limit = 30min) {
    std::optional<Result<Staged>> result;
    const Delivery delivery(*stores, outputs, limit, sink(result), options);
    CHECK_FALSE(result);
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  void input(const std::string& name, const std::string& uri) { inputs.push_back({name, in_pod("inputs/" + name), {uri, 0, ""}}); }
  std::string output(const std::string& name, const std::string& uri) {
    outputs.push_back({name, spec::Type::artifact, "", in_pod("outputs/" + name + "/data"), "", {uri, 0, ""}});
    return outputs.back().path;
  }
};

}  // namespace

TEST_CASE_METHOD(Staging, "inputs are fetched one after another: trees and single files") {
  objects = {{"data/a", "1"}, {"data/deep/b", "22"}, {"data2/no", "x"}, {"one.csv", "333"}};
  input("data", "s3://bkt/data");
  input("file", "s3://bkt/one.csv");
  const auto staged = fetch();
  if (!staged) FAIL(staged.error().message);
  CHECK(staged->files == 3);
  CHECK(staged->bytes == 6);
  CHECK(staged->took > Duration(0));
  CHECK(read(in_pod("inputs/data/a")) == "1");
  CHECK(read(in_pod("inputs/data/deep/b")) == "22");
  CHECK_FALSE(fs::exists(in_pod("inputs/data2")));
  CHECK_FALSE(fs::exists(in_pod("inputs/data/no")));
  CHECK(read(in_pod("inputs/file")) == "333");
}

TEST_CASE_METHOD(Staging, "an input that is fetched again has the store's objects, and files added next to them") {
  objects = {{"data/a", "1"}, {"data/old/b", "22"}, {"data/old/changed", "3"}, {"data/both/kept", "4"}, {"data/both/gone", "5"}};
  input("data", "s3://bkt/data");
  REQUIRE(fetch());
  const fs::path data = in_pod("inputs/data");
  write((data / "old/changed").string(), "by the program");
  write((data / "added").string(), "by the program");
  objects = {{"data/a", "1"}, {"data/both/kept", "4"}, {"data/new", "6"}};
  told.clear();
  REQUIRE(fetch());
  CHECK(read((data / "a").string()) == "1");
  CHECK(read((data / "new").string()) == "6");
  CHECK(read((data / "both/kept").string()) == "4");
  CHECK_FALSE(fs::exists(data / "both/gone"));
  CHECK_FALSE(fs::exists(data / "old/b"));
  CHECK(read((data / "old/changed").string()) == "by the program");
  CHECK(read((data / "added").string()) == "by the program");
  REQUIRE(told.size() == 1);
  CHECK(told[0] == "input data: removed: both/gone: it no longer exists in the store; old/b: it no longer exists in the store");
}

TEST_CASE_METHOD(Staging, "a folder of which nothing is left in the store goes, and a file may become a folder") {
  objects = {{"data/a", "1"}, {"data/old/deep/b", "22"}, {"data/x", "3"}};
  input("data", "s3://bkt/data");
  REQUIRE(fetch());
  objects = {{"data/a", "1"}, {"data/x/y", "4"}};
  REQUIRE(fetch());
  CHECK_FALSE(fs::exists(fs::path(in_pod("inputs/data")) / "old"));
  CHECK(read(in_pod("inputs/data/x/y")) == "4");
}

TEST_CASE_METHOD(Staging, "nothing is fetched through a link that a program has put in an input's place") {
  const auto linked = GENERATE("inputs/data", "inputs/data/sub");
  CAPTURE(linked);
  objects = {{"data/sub/a", "1"}, {"data/sub/b", "2"}};
  input("data", "s3://bkt/data");
  REQUIRE(fetch());
  const fs::path cache = in_pod("cache");
  fs::create_directories(cache / "sub");
  write((cache / "a").string(), "another's");
  write((cache / "sub/a").string(), "another's");
  fs::remove_all(in_pod(linked));
  fs::create_directory_symlink(cache, in_pod(linked));
  REQUIRE(fetch());
  CHECK(read((cache / "a").string()) == "another's");
  CHECK(read((cache / "sub/a").string()) == "another's");
  CHECK_FALSE(fs::is_symlink(in_pod(linked)));
  CHECK(read(in_pod("inputs/data/sub/a")) == "1");
  CHECK(read(in_pod("inputs/data/sub/b")) == "2");
}

TEST_CASE_METHOD(Staging, "an input's place that was a link from the beginning stays one") {
  objects = {{"data/a", "1"}, {"data/b", "2"}};
  input("data", "s3://bkt/data");
  fs::create_directories(in_pod("large"));
  fs::create_directories(in_pod("inputs"));
  fs::create_directory_symlink(in_pod("large"), in_pod("inputs/data"));
  REQUIRE(fetch());
  objects["data/b"] = "22";
  REQUIRE(fetch());
  CHECK(fs::is_symlink(in_pod("inputs/data")));
  CHECK(read(in_pod("large/b")) == "22");
}

TEST_CASE_METHOD(Staging, "an object with the name of a folder is skipped in an input, and reported") {
  objects["data"] = "itself";
  objects["data/a"] = "below";
  input("data", "s3://bkt/data");
  const auto staged = fetch();
  REQUIRE(staged);
  CHECK(staged->files == 1);
  CHECK(std::ranges::find(told, "input data: skipped the object s3://bkt/data: it is both a file and a folder") != told.end());
}

TEST_CASE_METHOD(Staging, "nothing to fetch is fetched at once") {
  const auto staged = fetch();
  REQUIRE(staged);
  CHECK(staged->files == 0);
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Staging, "an empty address is an input error that names both") {
  objects = {{"database/x", "1"}};
  input("data", "s3://bkt/data");
  const auto staged = fetch();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::input);
  CHECK_THAT(staged.error().message, Contains("input data") && Contains("s3://bkt/data"));
}

TEST_CASE_METHOD(Staging, "the first input that cannot be fetched ends it, with its name") {
  objects = {{"data/a", "1"}, {"more/a", "1"}, {"most/a", "1"}};
  input("data", "s3://bkt/data");
  input("more", "s3://bkt/more");
  input("most", "s3://bkt/most");
  refuse("GET /bkt/more", 403, "AccessDenied");
  const auto staged = fetch();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::denied);
  CHECK_THAT(staged.error().message, Contains("input more") && Contains("AccessDenied"));
  CHECK_FALSE(fs::exists(in_pod("inputs/most")));
}

TEST_CASE_METHOD(Staging, "an object that changes between listing and fetching is named, and may be there for the next attempt") {
  objects = {{"data/a", "1"}, {"data/b", "22"}};
  input("data", "s3://bkt/data");
  heeds_if_match = GENERATE(true, false);
  const bool gone = GENERATE(true, false);
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.line() == "GET /bkt/data/b" && gone) objects.erase("data/b");
    if (asked.line() == "GET /bkt/data/b" && !gone) objects["data/b"] = "33";
    return std::nullopt;
  };
  const auto staged = fetch();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::unavailable);
  CHECK_THAT(staged.error().message, Contains("input data: ") && Contains("s3://bkt/data/b") && Contains("changed while it was being fetched"));
  CHECK_FALSE(fs::exists(in_pod("inputs/data/b")));
}

TEST_CASE_METHOD(Staging, "passing faults of the store do no harm") {
  objects = {{"data/a", "1"}, {"data/b", "22"}};
  input("data", "s3://bkt/data");
  refuse("GET /bkt", 503, "SlowDown", 4);
  CHECK(fetch());
  CHECK(read(in_pod("inputs/data/a")) == "1");
  CHECK(read(in_pod("inputs/data/b")) == "22");
}

TEST_CASE_METHOD(Staging, "a key that is not a path below the input's folder is rejected") {
  objects = {{"data/../../etc/passwd", "x"}};
  input("data", "s3://bkt/data");
  const auto staged = fetch();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::input);
}

TEST_CASE_METHOD(Staging, "a slow input is reported every half minute") {
  for (int i = 0; i < 40; ++i) objects["data/" + std::to_string(i)] = "1234567890";
  input("data", "s3://bkt/data");
  transport.serve([this](const FakeTransport::Asked& asked) {
    auto reply = answer(asked);
    if (asked.query("list-type").empty()) reply.delay = 20s;
    return reply;
  });
  REQUIRE(fetch());
  REQUIRE_FALSE(told.empty());
  CHECK_THAT(told.front(), Contains("input data: ") && Contains(" of 400 B"));
  CHECK(told.size() <= 2);
}

TEST_CASE_METHOD(Staging, "a stopped fetch leaves nothing in progress") {
  objects = {{"data/a", "1"}};
  input("data", "s3://bkt/data");
  const auto part = GENERATE(0ms, 1ms, 2ms, 3ms);
  std::optional<Result<Staged>> result;
  {
    const Fetching fetching(*stores, inputs, sink(result));
    loop.run(part);
  }
  loop.run();
  CHECK(transport.open() == 0);
}

TEST_CASE_METHOD(Staging, "outputs are put where they belong: trees and single files") {
  write(output("model", "s3://bkt/run/model") + "/variables/v", "w");
  write(outputs.back().path + "/graph", "gg");
  write(output("metrics", "s3://bkt/run/metrics"), "m");
  const auto staged = deliver();
  if (!staged) FAIL(staged.error().message);
  CHECK(staged->files == 3);
  CHECK(staged->bytes == 4);
  CHECK(objects == std::map<std::string, std::string>{{"run/model/variables/v", "w"}, {"run/model/graph", "gg"}, {"run/metrics", "m"}});
  CHECK(told.empty());
}

TEST_CASE_METHOD(Staging, "in the job's own folder leftovers of an earlier attempt are removed after the delivery, and nothing next to it") {
  options.own = "s3://bkt/run";
  objects = {{"run/model/old/a", "x"}, {"run/model/old/b", "x"}, {"run/model/graph", "old"}, {"run/model2/a", "y"}, {"run/models", "y"}};
  write(output("model", "s3://bkt/run/model") + "/graph", "new");
  REQUIRE(deliver());
  CHECK_FALSE(objects.extract("run/model.objects.json").empty());
  CHECK(objects == std::map<std::string, std::string>{{"run/model/graph", "new"}, {"run/model2/a", "y"}, {"run/models", "y"}});
  std::vector<std::string> changes;
  for (const auto& asked : transport.asked())
    if (const auto& method = asked.request.method; method == "PUT" || method == "DELETE") changes.push_back(method + ' ' + asked.request.url.path);
  REQUIRE(changes.size() == 4);
  CHECK(changes.front() == "PUT /bkt/run/model/graph");
  CHECK(changes.back() == "PUT /bkt/run/model.objects.json");  // what it lists is there, and nothing else
}

TEST_CASE_METHOD(Staging, "uploads that a killed attempt started at an output's address are aborted, whatever the files are called, and no others") {
  options.own = "s3://bkt/run";
  for (const auto* where : {"run/model/old", "run/model", "run/model2/a"}) upload_keys[where] = where;
  for (const auto& [id, key] : upload_keys) uploads[id][1] = "part";
  write(output("model", "s3://bkt/run/model") + "/graph", "new");
  SECTION("they may be listed") {
    REQUIRE(deliver());
    REQUIRE(uploads.size() == 1);
    CHECK(uploads.contains("run/model2/a"));
  }
  SECTION("they may not: this is not an error") {
    refuse("GET /bkt encoding-type=url&prefix=run/model&uploads=", 403, "AccessDenied");
    REQUIRE(deliver());
    CHECK(uploads.size() == 3);
    CHECK(told.empty());
  }
  SECTION("the store does not abort them: the leftovers are reported, without an error") {
    refuse("DELETE /bkt/run/model/old", 503, "SlowDown");
    REQUIRE(deliver());
    REQUIRE_FALSE(told.empty());
    CHECK_THAT(told.back(), Contains("SlowDown") && Contains("incomplete uploads of an earlier attempt may remain there"));
  }
}

TEST_CASE_METHOD(Staging, "a tree replaces a file, and a file a tree") {
  options.own = "s3://bkt/run";
  SECTION("tree") {
    objects = {{"run/model", "file"}};
    write(output("model", "s3://bkt/run/model") + "/graph", "g");
    REQUIRE(deliver());
    CHECK_FALSE(objects.extract("run/model.objects.json").empty());
    CHECK(objects == std::map<std::string, std::string>{{"run/model/graph", "g"}});
  }
  SECTION("file") {
    objects = {{"run/model/graph", "g"}};
    write(output("model", "s3://bkt/run/model"), "file");
    REQUIRE(deliver());
    CHECK_FALSE(objects.extract("run/model.objects.json").empty());
    CHECK(objects == std::map<std::string, std::string>{{"run/model", "file"}});
  }
}

TEST_CASE_METHOD(Staging, "objects at an output's address that the job did not put there are kept, and reported once") {
  options.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  objects = {{"run/model/old", "x"}, {"run/model/data/train.csv", "y"}, {"run/model/graph", "old"}};
  upload_keys["u"] = "run/model/strange";
  uploads["u"][1] = "part";
  write(output("model", "s3://bkt/run/model") + "/graph", "new");
  refuse("PUT /bkt/run/model", 503, "SlowDown", 1);
  REQUIRE(deliver());
  CHECK(objects["run/model/old"] == "x");
  CHECK(objects["run/model/data/train.csv"] == "y");
  CHECK(objects["run/model/graph"] == "new");
  CHECK(uploads.size() == 1);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("output model: 2 objects, such as \"data/train.csv\", at s3://bkt/run/model were not written by this job"));
}

TEST_CASE_METHOD(Staging, "objects of an earlier attempt of the job are removed after the delivery") {
  const bool on_claim = GENERATE(false, true);
  options.written =
      on_claim ? plan::TaskPlace{"", 0, in_pod("claim/.outputs.json")} : plan::TaskPlace{"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  objects = {{"run/model/others", "x"}, {"run/model/replaced", "of others"}};
  const auto path = output("model", "s3://bkt/run/model");
  write(path + "/a", "1");
  write(path + "/b", "1");
  write(path + "/replaced", "ours");
  SECTION("an attempt that came to its end") { REQUIRE(deliver()); }
  SECTION("an attempt that was killed before it had put all") {
    refuse("PUT /bkt/run/model/b", 403, "AccessDenied");
    REQUIRE_FALSE(deliver(0s));
    fault = nullptr;
    upload_keys["u"] = "run/model/b";
    uploads["u"][1] = "part";
  }
  told.clear();
  fs::remove_all(path);
  write(path + "/c", "2");
  REQUIRE(deliver());
  objects.erase("run/.trainstep/job/outputs.json");
  CHECK(objects == std::map<std::string, std::string>{{"run/model/others", "x"}, {"run/model/c", "2"}});
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Staging, "an object of others that was to be replaced, but was not, stays") {
  options.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  objects = {{"run/model/graph", "of others"}};
  const auto path = output("model", "s3://bkt/run/model");
  write(path + "/graph", "ours");
  refuse("PUT /bkt/run/model/graph", 403, "AccessDenied");
  REQUIRE_FALSE(deliver(0s));
  fault = nullptr;
  fs::remove_all(path);
  write(path + "/c", "2");
  REQUIRE(deliver());
  CHECK(objects["run/model/graph"] == "of others");
}

TEST_CASE_METHOD(Staging, "without permission to read existing objects nothing is removed") {
  options.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  write(output("model", "s3://bkt/run/model") + "/a", "1");
  REQUIRE(deliver());
  fs::remove_all(outputs.back().path);
  write(outputs.back().path + "/b", "2");
  refuse("GET /bkt/run/.trainstep/job/outputs.json", 403, "AccessDenied", 2);
  REQUIRE(deliver());
  CHECK(objects["run/model/a"] == "1");
}

TEST_CASE_METHOD(Staging, "a stopped delivery reverts what others could see, and leaves no upload open") {
  options.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  objects = {{"run/model/others", "x"}};
  write(output("model", "s3://bkt/run/model") + "/a", "1");
  write(outputs.back().path + "/large", std::string(20 << 20, 'x'));
  fault = [](const FakeTransport::Asked& asked) { return asked.query("partNumber") == "2" ? std::optional(Reply::silent()) : std::nullopt; };
  std::optional<Result<Staged>> result;
  Delivery delivery(*stores, outputs, 30min, sink(result), options);
  loop.run(3s);
  CHECK(objects.contains("run/model/a"));
  CHECK(uploads.size() == 1);
  const auto asked = loop.now();
  Time ended{};
  loop.after(1ms, [&] { delivery.stop({ErrorKind::cancelled, "stopped"}); });
  loop.after(25s, [&] { ended = loop.now(); });
  loop.run(26s);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::cancelled);
  CHECK(loop.now() - asked < 30s);
  CHECK(uploads.empty());
  objects.erase("run/.trainstep/job/outputs.json");
  CHECK(objects == std::map<std::string, std::string>{{"run/model/others", "x"}});
}

TEST_CASE_METHOD(Staging, "a stopped delivery that is nearly done is completed") {
  write(output("model", "s3://bkt/run/model") + "/a", "1");
  std::optional<Result<Staged>> result;
  Delivery delivery(*stores, outputs, 30min, sink(result), options);
  delivery.stop({ErrorKind::cancelled, "stopped"});
  loop.run(10s);
  REQUIRE(result);
  CHECK(result->has_value());
  CHECK(objects["run/model/a"] == "1");
}

TEST_CASE_METHOD(Staging, "a key that cannot be a file name does not block others, and is reported; only such keys are an error") {
  objects = {{"data/a", "1"}, {"data/b//c", "2"}, {"only//x", "1"}};
  input("data", "s3://bkt/data");
  REQUIRE(fetch());
  CHECK(read(in_pod("inputs/data/a")) == "1");
  REQUIRE(told.size() == 1);
  CHECK(told[0] == "input data: skipped: \"b//c\": not a path below a folder");
  inputs.clear();
  input("only", "s3://bkt/only");
  const auto staged = fetch();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::input);
}

TEST_CASE_METHOD(Staging, "files that cannot be delivered are skipped and reported; an output of only such files is absent") {
  const auto path = output("model", "s3://bkt/run/model");
  write(path + "/graph", "g");
  fs::create_symlink("nowhere", path + "/dangling");
  REQUIRE(deliver());
  CHECK(told == std::vector<std::string>{"output model: skipped: dangling: a link that is broken"});
  fs::remove(path + "/graph");
  const auto staged = deliver();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::input);
}

TEST_CASE_METHOD(Staging, "a rejected delivery is retried with growing pauses, and each retry is reported") {
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  refuse("PUT /bkt", 403, "AccessDenied", 6);  // of a try each refusal counts twice: keys may have changed
  const auto began = loop.now();
  const auto staged = deliver();
  if (!staged) FAIL(staged.error().message);
  CHECK(objects.at("run/model/graph") == "g");
  CHECK(told.size() == 3);
  CHECK_THAT(told.front(), Contains("output model: ") && Contains("AccessDenied") && Contains("trying again in 1.0 s"));
  CHECK_THAT(told.back(), Contains("trying again in 4.0 s"));
  CHECK(loop.now() - began >= 7s);
  CHECK(staged->took >= 7s);
}

TEST_CASE_METHOD(Staging, "what could not be removed is tried again, too") {
  options.own = "s3://bkt/run";
  objects = {{"run/model/old", "x"}};
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  refuse("DELETE /bkt", 403, "AccessDenied", 2);
  REQUIRE(deliver());
  CHECK(told.size() == 1);
  CHECK_FALSE(objects.contains("run/model/old"));
}

TEST_CASE_METHOD(Staging, "until the limit has passed; then the last error is reported") {
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  refuse("", 403, "AccessDenied");
  const auto began = loop.now();
  const auto staged = deliver(5min);
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::denied);
  CHECK_THAT(staged.error().message, Contains("output model") && Contains("AccessDenied"));
  CHECK(loop.now() - began >= 5min);
  CHECK(loop.now() - began < 7min);
  CHECK(told.size() >= 5);
  CHECK(told.size() < 15);
}

TEST_CASE_METHOD(Staging, "a store that rejects an output is not blamed on the program, whatever its response") {
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  refuse("PUT", 400, GENERATE("ExpiredToken", "InvalidRequest"));
  const auto staged = deliver(1min);
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::denied);
}

TEST_CASE_METHOD(Staging, "outputs that are there already are not sent again because a later one failed") {
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  write(output("metrics", "s3://bkt/run/metrics"), "m");
  refuse("PUT /bkt/run/metrics", 403, "AccessDenied", 2);
  const auto staged = deliver();
  REQUIRE(staged);
  CHECK(staged->files == 2);
  CHECK(count("PUT /bkt/run/model") == 1);
}

TEST_CASE_METHOD(Staging, "if the store cannot be asked about an output, the files of the previous one are not evidence") {
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  write(output("metrics", "s3://bkt/run/metrics"), "m");  // no folder: nothing could lie below it
  fault = [tries = 0](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
    if (asked.query("prefix") != "run/metrics/" || ++tries > 2) return std::nullopt;
    return refusal(403, "AccessDenied");
  };
  const auto staged = deliver();
  if (!staged) FAIL(staged.error().message);
  CHECK(objects.at("run/metrics") == "m");
  CHECK(told.size() == 1);
}

TEST_CASE_METHOD(Staging, "only the rest of an output that failed half way is sent again") {
  write(output("model", "s3://bkt/run/model") + "/a", "aa");
  write(outputs.back().path + "/b", "b");
  refuse("PUT /bkt/run/model/b", 403, "AccessDenied", 2);
  const auto staged = deliver();
  REQUIRE(staged);
  CHECK(count("PUT /bkt/run/model/a") == 1);
  CHECK(objects == std::map<std::string, std::string>{{"run/model/a", "aa"}, {"run/model/b", "b"}});
  CHECK(staged->files == 2);
  CHECK(staged->bytes == 3);
  CHECK(staged->equal == 0);
}

TEST_CASE_METHOD(Staging, "with a sync state in a folder the next process moves only what has changed since, in both directions") {
  const auto again = [this] { stores->sync_state() = SyncState(in_pod("sync state")); };
  objects = {{"data/a", "1"}, {"data/b", "22"}};
  input("data", "s3://bkt/data");
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  write(outputs.back().path + "/v", "v");
  again();
  REQUIRE(fetch());
  REQUIRE(deliver());
  again();
  const auto same = fetch();
  REQUIRE(same);
  CHECK(same->files == 0);
  CHECK(same->equal == 2);
  const auto sent = deliver();
  REQUIRE(sent);
  CHECK(sent->files == 0);
  CHECK(sent->equal == 2);
  objects["data/b"] = "33";
  objects["run/model/v"] = "spoilt";
  write(in_pod("inputs/data/a"), "spoilt");
  write(outputs.back().path + "/graph", "new");
  again();
  CHECK(fetch()->files == 2);
  CHECK(read(in_pod("inputs/data/a")) == "1");
  CHECK(read(in_pod("inputs/data/b")) == "33");
  CHECK(deliver()->files == 2);
  CHECK(objects["run/model/graph"] == "new");
  CHECK(objects["run/model/v"] == "v");
}

TEST_CASE_METHOD(Staging, "with a sync state in a folder a file rewritten with its old size and time is sent again") {
  const auto written_anew = [](const std::string& file, const std::string& content) {
    const auto time = fs::last_write_time(file);
    const auto before = objectstore::read_state(file, "");
    for (auto now = before; now && now->touched == before->touched; now = objectstore::read_state(file, "")) {  // the clock's next tick
      write(file, content);
      fs::last_write_time(file, time);
    }
    const auto after = objectstore::read_state(file, "");
    CHECK((after && *after == *before));
  };
  stores->sync_state() = SyncState(in_pod("sync state"));
  objects = {{"data/a", "1"}, {"data/b", "2"}};
  input("data", "s3://bkt/data");
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  write(outputs.back().path + "/v", "v");
  REQUIRE(fetch());
  REQUIRE(deliver());
  written_anew(in_pod("inputs/data/a"), "x");
  written_anew(outputs.back().path + "/graph", "h");
  if (GENERATE(true, false)) stores->sync_state() = SyncState(in_pod("sync state"));
  CHECK(fetch()->files == 1);
  CHECK(read(in_pod("inputs/data/a")) == "1");
  CHECK(deliver()->files == 1);
  CHECK(objects["run/model/graph"] == "h");
}

TEST_CASE_METHOD(Staging, "a sync state that cannot be read or written costs a transfer, nothing more") {
  objects = {{"data/a", "1"}};
  input("data", "s3://bkt/data");
  SECTION("spoilt") {
    stores->sync_state() = SyncState(in_pod("sync state"));
    REQUIRE(fetch());
    for (const auto& page : fs::directory_iterator(in_pod("sync state")))
      write(page.path(), GENERATE(as<std::string>(), "", "{", "[[1]]", "[[\"a\",1,2,3]]", "[[\"a\",1,2,\"e\"]]"));
    stores->sync_state() = SyncState(in_pod("sync state"));
    CHECK(fetch()->files == 1);
  }
  SECTION("no folder") {
    write(in_pod("file"), "");
    stores->sync_state() = SyncState(in_pod("file"));
    CHECK(fetch()->files == 1);
  }
}

TEST_CASE_METHOD(Staging, "with content comparison a delivery sends no file that exists with the same bytes") {
  objects = {{"run/data/a", "same"}, {"run/data/b", "same length"}};
  write(output("data", "s3://bkt/run/data") + "/a", "same");
  write(outputs.back().path + "/b", "some length");
  std::optional<Result<Staged>> result;
  const Delivery delivery(*stores, outputs, 0s, sink(result), {.equal = DeliveryOptions::Equal::content});
  loop.run();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((*result)->files == 1);
  CHECK((*result)->equal == 1);
  CHECK(objects["run/data/b"] == "some length");
}

TEST_CASE_METHOD(Staging, "a missing local file is not retried") {
  output("model", "s3://bkt/run/model");
  const auto staged = deliver();
  REQUIRE_FALSE(staged);
  CHECK_THAT(staged.error().message, Contains("output model") && Contains(outputs.back().path));
  CHECK(told.empty());
}

TEST_CASE_METHOD(Staging, "what cannot be read here is no fault of a store, and is not tried again") {
  options.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  const auto path = output("model", "s3://bkt/run/model");
  write(path + "/a", "1");
  write(path + "/b", "2");
  fs::permissions(path + "/b", fs::perms::none);
  fs::permissions(folder.path(), fs::perms(0755));
  constexpr uid_t nobody = 65534;
  const auto us = static_cast<uid_t>(::setfsuid(nobody));  // without the rights of root, if we have them
  const auto delivered = deliver();
  ::setfsuid(us);
  REQUIRE_FALSE(delivered);
  CHECK_THAT(delivered.error().message, Contains("output model: ") && Contains(path + "/b"));
  CHECK(told.empty());
  CHECK(objects.size() == 1);  // the list, and nothing that others could take for a model
  CHECK(objects.contains("run/.trainstep/job/outputs.json"));
}

TEST_CASE_METHOD(Staging, "from the job's own folder exactly the uploaded objects are fetched, whatever a listing shows") {
  options.own = "s3://bkt/job";
  write(output("model", "s3://bkt/job/outputs/model") + "/a", "1");
  write(outputs.back().path + "/b", "22");
  REQUIRE(deliver());
  input("model", "s3://bkt/job/outputs/model");
  objects["job/outputs/model/strange"] = "x";
  SECTION("objects put there by others are kept") {
    REQUIRE(fetch());
    CHECK(read(in_pod("inputs/model/a")) == "1");
    CHECK(read(in_pod("inputs/model/b")) == "22");
    CHECK_FALSE(fs::exists(in_pod("inputs/model/strange")));
  }
  SECTION("what is gone or another one is asked for again, and then an error that is not the user's") {
    const bool gone = GENERATE(true, false);
    heeds_if_match = GENERATE(true, false);
    gone ? void(objects.erase("job/outputs/model/b")) : void(objects["job/outputs/model/b"] = "33");
    const auto staged = fetch();
    REQUIRE_FALSE(staged);
    CHECK(staged.error().kind == ErrorKind::unavailable);
    CHECK_THAT(staged.error().message, Contains("job/outputs/model/b") && Contains("is missing or was changed"));
    CHECK_THAT(told.back(), Contains("trying again"));
  }
  SECTION("without the list the uploaded inputs are unknown") {
    const auto list = objects.extract("job/outputs/model.objects.json");
    REQUIRE_FALSE(list.empty());
    const auto staged = fetch();
    REQUIRE_FALSE(staged);
    CHECK(staged.error().kind == ErrorKind::unavailable);
  }
  SECTION("what appears late is still taken") {
    auto b = objects.extract("job/outputs/model/b");
    loop.after(5s, [&] { objects.insert(std::move(b)); });
    REQUIRE(fetch());
    CHECK(read(in_pod("inputs/model/b")) == "22");
  }
  SECTION("so it is when all that came before has taken long") {
    auto b = objects.extract("job/outputs/model/b");
    transport.serve([this, first = true](const FakeTransport::Asked& asked) mutable {
      auto reply = answer(asked);
      if (std::exchange(first, false)) reply.delay = 50s;
      return reply;
    });
    loop.after(60s, [&] { objects.insert(std::move(b)); });
    REQUIRE(fetch());
    CHECK(read(in_pod("inputs/model/b")) == "22");
  }
}

TEST_CASE_METHOD(Staging, "what a listing lacks was brought all the same") {
  options.own = "s3://bkt/job";
  write(output("model", "s3://bkt/job/outputs/model") + "/a", "1");
  REQUIRE(deliver());
  input("model", "s3://bkt/job/outputs/model");
  refuse("GET /bkt encoding-type=url&list-type=2", 500, "InternalError");
  REQUIRE(fetch());
  CHECK(read(in_pod("inputs/model/a")) == "1");
}

TEST_CASE_METHOD(Staging, "a single file and an empty folder are restored from the job's own folder") {
  options.own = "s3://bkt/job";
  write(output("one", "s3://bkt/job/inputs/one"), "1");
  fs::create_directories(output("none", "s3://bkt/job/inputs/none"));
  REQUIRE(deliver());
  input("one", "s3://bkt/job/inputs/one");
  input("none", "s3://bkt/job/inputs/none");
  REQUIRE(fetch());
  CHECK(read(in_pod("inputs/one")) == "1");
  CHECK(fs::is_directory(in_pod("inputs/none")));
}

TEST_CASE_METHOD(Staging, "folders without a file inside of what went through the job's own folder come back") {
  options.own = "s3://bkt/job";
  const auto data = output("data", "s3://bkt/job/inputs/data");
  write(data + "/a", "1");
  fs::create_directories(data + "/classes/none");
  fs::create_directories(data + "/log/of/nothing");
  const auto folders = output("folders", "s3://bkt/job/inputs/folders");
  fs::create_directories(folders + "/é");
  REQUIRE(deliver());
  CHECK(told.empty());
  input("data", "s3://bkt/job/inputs/data");
  input("folders", "s3://bkt/job/inputs/folders");
  const auto fetched = fetch();
  REQUIRE(fetched);
  CHECK(fetched->files == 1);
  CHECK(fs::is_directory(in_pod("inputs/data/classes/none")));
  CHECK(fs::is_directory(in_pod("inputs/data/log/of/nothing")));
  CHECK(fs::is_directory(in_pod("inputs/folders/é")));
}

TEST_CASE_METHOD(Staging, "empty folders that no object can represent are reported") {
  const bool own = GENERATE(true, false);
  if (own) options.own = "s3://bkt/job";
  const auto model = output("model", own ? "s3://bkt/job/outputs/model" : "s3://bkt/run/model");
  const std::string empty = own ? "\xff" : "none";
  write(model + "/a", "1");
  fs::create_directories(model + "/" + empty);
  REQUIRE(deliver());
  CHECK(told == std::vector<std::string>{"output model: skipped: " + empty + ": an empty folder"});
}

TEST_CASE_METHOD(Staging, "an address that others use gets no list of what was put there") {
  options.own = "s3://bkt/run/.trainstep/job";
  options.written = {"s3://bkt/run/.trainstep/job/outputs.json", 0, ""};
  write(output("model", "s3://bkt/run/model") + "/a", "1");
  REQUIRE(deliver());
  CHECK(objects.size() == 2);
  CHECK(objects.contains("run/model/a"));
  CHECK(objects.contains("run/.trainstep/job/outputs.json"));
}

TEST_CASE_METHOD(Staging, "an unreadable list of uploaded inputs is ignored") {
  options.own = "s3://bkt/job";
  input("data", "s3://bkt/job/inputs/data");
  objects["job/inputs/data/a"] = "1";
  objects["job/inputs/data.objects.json"] = GENERATE("", "{", "[]", R"({"objects": {}})", R"({"objects": [["a", -1, ""]]})",
                                                     R"({"objects": [["a", 1]]})", R"({"objects": [["a", "1", ""]]})");
  const auto staged = fetch();
  REQUIRE_FALSE(staged);
  CHECK(staged.error().kind == ErrorKind::unavailable);
}

TEST_CASE_METHOD(Staging, "a stopped delivery leaves nothing in progress") {
  objects = {{"run/model/old", "x"}};
  write(output("model", "s3://bkt/run/model") + "/graph", "g");
  const auto part = GENERATE(0ms, 1ms, 2ms, 3ms, 4ms);
  std::optional<Result<Staged>> result;
  {
    const Delivery delivery(*stores, outputs, 30min, sink(result), options);
    loop.run(part);
  }
  loop.run(1h);
  CHECK(transport.open() == 0);
  CHECK((objects.contains("run/model/old") || read(outputs.back().path + "/graph") == objects["run/model/graph"]));
}

TEST_CASE("amounts are formatted for people") {
  CHECK(describe({1, 1, 1ms}) == "1 file, 1 B in " + trainstep::describe(Duration(1)));
  CHECK_THAT(describe({999, 2, 1s}), Catch::StartsWith("2 files, 999 B in"));
  CHECK_THAT(describe({1'500'000'000, 12, 1s}), Catch::StartsWith("12 files, 1.5 GB in"));
  CHECK_THAT(describe({5, 1, 1s, 11}), Catch::EndsWith(", 11 were already there"));
  CHECK_THAT(describe({std::int64_t{5'000} << 40, 2, 1s}), Contains(" TB in"));
}

TEST_CASE("a store that no address leads to is an error of input") {
  objectstore::test::VirtualLoop loop;
  FakeTransport transport(loop);
  const auto open = [&](plan::TaskStore store) { return Stores::open(loop, transport, {std::move(store)}, {}, 1); };
  const auto address = open({"nowhere", "", true, "", "", ""});
  REQUIRE_FALSE(address);
  CHECK(address.error().kind == ErrorKind::input);
  const auto trust = open({"https://store", "", true, "/nowhere/ca.pem", "", ""});
  REQUIRE_FALSE(trust);
  CHECK_THAT(trust.error().message, Contains("/nowhere/ca.pem"));
}
