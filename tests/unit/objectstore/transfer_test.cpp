// SPDX-License-Identifier: Apache-2.0
#include "objectstore/transfer.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/files.h"
#include "objectstore/listing.h"
#include "support/temp_dir.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::objectstore;
using namespace trainstep::objectstore::test;
namespace fs = std::filesystem;
using trainstep::TempDir;

namespace {

struct Trees : FakeStore {
  TempDir here;
  fs::path source = here.path() / "source", target = here.path() / "target";
  Address at{"s3", "b", "model"};
  TransferLimits limits{.requests = 4, .bytes = 64, .part = 10, .range = 10};
  std::int64_t moved = 0;
  std::unique_ptr<Transfer> transfer;

  void write(const std::string& path, const std::string& content) { REQUIRE(write_file_atomically(path.empty() ? source : source / path, content)); }
  std::string read(const std::string& path) const { return read_file(path.empty() ? target : target / path, 1'000).value_or("(none)"); }

  Result<KnownFiles> outcome(const std::function<std::unique_ptr<Transfer>(Transfer::Sink)>& begin) {
    std::optional<Result<KnownFiles>> result;
    transfer = begin({[this](std::int64_t bytes) { moved += bytes; },
                      [&](Result<void> moved_all) {
                        if (moved_all)
                          result = transfer->settled();
                        else
                          result = std::move(moved_all.error());
                        transfer.reset();
                      }});
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  std::vector<Object> listed() {
    std::optional<Answer<std::vector<Object>>> all;
    const Listing listing(client, at, [&](auto answer) { all = std::move(answer); });
    loop.run();
    REQUIRE(all);
    REQUIRE(*all);
    return **all;
  }
  Result<KnownFiles> up(const KnownFiles& known = {}) {
    const auto files = read_tree(source);
    REQUIRE(files);
    auto plan = plan_upload(files->files, known.empty() ? std::vector<Object>() : listed(), known);
    return outcome([&](auto sink) { return upload(client, std::move(plan), source, at, std::move(sink), limits); });
  }
  Result<KnownFiles> down(const KnownFiles& known = {}) {
    const auto there = listed();
    auto plan = plan_download(there, read_tree(target).value_or(LocalTree()).files, known);
    return outcome([&](auto sink) { return download(client, std::move(plan), target, at, std::move(sink), limits); });
  }
  std::vector<std::string> left_beside() const {
    std::vector<std::string> names;
    if (fs::exists(target))
      for (const auto& entry : fs::recursive_directory_iterator(target))
        if (entry.path().extension() == ".part") names.push_back(entry.path().string());
    return names;
  }
};

const std::string long_text = "0123456789abcdefghijABCDEFGHIJxyz";  // four parts

// In kB, so far.
long max_memory() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE_METHOD(Trees, "a tree survives upload and download") {
  write("a.txt", "a");
  write("empty", "");
  write("sub/large", long_text);
  write("sub/deep/ten", "0123456789");
  write("sp ace/ü+%&=?#'\"", "odd");
  const auto sent = up();
  REQUIRE(sent);
  CHECK(sent->size() == 5);
  CHECK(moved == 1 + 33 + 10 + 3);
  CHECK(objects.size() == 5);
  CHECK(objects.at("model/sub/large") == long_text);
  CHECK(uploads.empty());
  moved = 0;
  const auto got = down();
  REQUIRE(got);
  CHECK(got->size() == 5);
  CHECK(moved == 47);
  CHECK(read("sp ace/ü+%&=?#'\"") == "odd");
  CHECK(read("a.txt") == "a");
  CHECK(read("empty").empty());
  CHECK(read("sub/large") == long_text);
  CHECK(read("sub/deep/ten") == "0123456789");
  CHECK(left_beside().empty());
}

TEST_CASE_METHOD(Trees, "a single file is a tree too") {
  write("", long_text);
  REQUIRE(up());
  CHECK(objects.at("model") == long_text);
  objects["model.txt"] = "beside";
  REQUIRE(down());
  CHECK(fs::is_regular_file(target));
  CHECK(read("") == long_text);
}

TEST_CASE_METHOD(Trees, "a file that changes at the very end of its upload is an error, and no upload is left open") {
  write("large", long_text);
  fault = [this](const FakeTransport::Asked& asked) {
    if (asked.request.method == "HEAD") write("large", long_text + "!");
    return std::nullopt;
  };
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind == ErrorKind::input);
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Trees, "identical files are not transferred again") {
  write("a", "1");
  write("b", long_text);
  const auto known = up();
  REQUIRE(known);
  moved = 0;
  REQUIRE(up(*known));
  CHECK(moved == 0);
  write("a", "2");
  REQUIRE(up(*known));
  CHECK(moved == 1);
  const auto got = down();
  REQUIRE(got);
  moved = 0;
  REQUIRE(down(*got));
  CHECK(moved == 0);
  objects["model/a"] = "3";
  fs::remove(target / "b");
  REQUIRE(down(*got));
  CHECK(moved == 1 + 33);
}

TEST_CASE_METHOD(Trees, "concurrency is limited by requests and memory") {
  for (int i = 0; i < 40; ++i) write(std::to_string(i), "0123456789");
  REQUIRE(up());
  CHECK(max_at_once == 4);
  max_at_once = 0;
  limits.bytes = 25;
  REQUIRE(up());
  CHECK(max_at_once == 2);
  max_at_once = 0;
  limits.bytes = 5;  // smaller than a part: one at a time
  REQUIRE(up());
  CHECK(max_at_once == 1);
}

TEST_CASE_METHOD(Trees, "a part that fails in a passing way is sent again") {
  int faults = 3;
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.method != "PUT" || faults-- <= 0) return std::nullopt;
    return faults % 2 == 0 ? refusal(503, "SlowDown") : Reply::lost();
  };
  write("large", long_text);
  REQUIRE(up());
  CHECK(objects.at("model/large") == long_text);
}

TEST_CASE_METHOD(Trees, "uploads left by lost responses and killed attempts are aborted once the object exists, and no others") {
  lose_beginnings = true;
  uploads["killed"][1] = "part";
  upload_keys["killed"] = "model/large";
  uploads["other"][1] = "part";
  upload_keys["other"] = "model/larger";
  write("large", long_text);
  REQUIRE(up());
  CHECK(objects.at("model/large") == long_text);
  CHECK(uploads.size() == 1);
  CHECK(uploads.contains("other"));
}

TEST_CASE_METHOD(Trees, "a failed upload is aborted, even if the response to its creation was not awaited") {
  write("large", long_text);
  write("small", "x");
  fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.line().starts_with("PUT /b/model/small")) return refusal(403, "AccessDenied");
    return std::nullopt;
  };
  SECTION("its answer comes late") {
    transport.serve([this](const FakeTransport::Asked& asked) {
      auto reply = fault(asked).value_or(answer(asked));
      if (asked.line().ends_with("uploads=") && asked.request.method == "POST") reply.delay = Duration(60'000);
      return reply;
    });
  }
  SECTION("its answer was lost") { lose_beginnings = true; }
  REQUIRE_FALSE(up());
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Trees, "an upload whose completion was processed, but got no response, is found to be complete") {
  lose_completions = true;
  write("large", long_text);
  const auto sent = up();
  REQUIRE(sent);
  CHECK(sent->at("large").etag.ends_with("-4"));
}

TEST_CASE_METHOD(Trees, "an upload that is gone is not a success because an older object exists") {
  write("large", long_text);
  REQUIRE(up());
  write("large", std::string(long_text.rbegin(), long_text.rend()));
  fault = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.method == "POST" && !asked.query("uploadId").empty()) uploads.clear();
    return std::nullopt;
  };
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().message.find("NoSuchUpload") != std::string::npos);
}

TEST_CASE_METHOD(Trees, "a store that calls an upload complete is not believed before the object is there") {
  write("large", long_text);
  bool older = false;
  SECTION("nothing is there") {}
  SECTION("an older one is there") { older = true; }
  if (older) objects["model/large"] = "older";
  fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.method == "POST" && !asked.query("uploadId").empty())
      return Reply::text("<CompleteMultipartUploadResult><ETag>claimed</ETag></CompleteMultipartUploadResult>");
    return std::nullopt;
  };
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind == ErrorKind::unavailable);
  CHECK(sent.error().message.find("but the object does not exist") != std::string::npos);
}

TEST_CASE_METHOD(Trees, "a bucket alone is not a location for a file") {
  write("", "text");
  at.key.clear();
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().message == "put s3://b: a bucket is not an object: a key is required");
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Trees, "a failed upload leaves no parts, and reports the reason") {
  fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.query("partNumber") == "3") return refusal(403, "AccessDenied");
    return std::nullopt;
  };
  write("large", long_text);
  write("larger", long_text + long_text);
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind == ErrorKind::denied);
  CHECK(sent.error().message.starts_with("upload part 3 of s3://b/model/large"));
  CHECK(uploads.empty());
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Trees, "a file that changes while it is uploaded is an error") {
  write("large", long_text);
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.query("partNumber") == "2") std::ofstream(source / "large", std::ios::app) << "more";
    return std::nullopt;
  };
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().message == (source / "large").string() + " changed while it was being uploaded");
  CHECK(objects.empty());
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Trees, "a file rewritten in place during its upload is an error, whatever its modification time") {
  write("large", long_text);
  const auto time = fs::last_write_time(source / "large");
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.query("partNumber") != "2") return std::nullopt;
    std::ofstream(source / "large", std::ios::in | std::ios::out) << "new";
    fs::last_write_time(source / "large", time);
    return std::nullopt;
  };
  const auto sent = up();
  REQUIRE_FALSE(sent);
  CHECK(sent.error().message == (source / "large").string() + " changed while it was being uploaded");
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Trees, "an object that changes while it is fetched is a conflict, and no half of it is left") {
  objects["model/large"] = long_text;
  SECTION("the store knows If-Match") {}
  SECTION("it does not") { heeds_if_match = false; }
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.header("Range") == "bytes=20-29") objects["model/large"] = "another text of the same length!!";
    return std::nullopt;
  };
  const auto got = down();
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == ErrorKind::conflict);
  CHECK(read("large") == "(none)");
  CHECK(left_beside().empty());
}

TEST_CASE_METHOD(Trees, "an object of another length than it was listed with is a conflict, also where the store knows no etags") {
  objects["model/small"] = "12345";
  auto there = listed();
  for (auto& object : there) object.etag.clear();
  objects["model/small"] = "123";
  auto plan = plan_download(there, {}, {});
  const auto got = outcome([&](auto sink) { return download(client, std::move(plan), target, at, std::move(sink), limits); });
  REQUIRE_FALSE(got);
  CHECK(got.error().message == "s3://b/model/small changed while it was being fetched");
  CHECK(read("small") == "(none)");
}

TEST_CASE_METHOD(Trees, "a tree is removed with its incomplete uploads, and nothing next to it") {
  for (int i = 0; i < 50; ++i) objects["model/" + std::to_string(i)] = "x";
  objects["model.txt"] = "beside";
  uploads["left"][1] = "part";
  upload_keys["left"] = "model/large";
  uploads["beside"][1] = "part";
  upload_keys["beside"] = "models";
  std::optional<Answer<std::size_t>> removed;
  const auto remove = [&] {
    const Removal removal(client, at, [&](auto answer) { removed = std::move(answer); });
    loop.run();
    REQUIRE(removed);
  };
  SECTION("all of it") {
    remove();
    CHECK(removed->value() == 50);
    CHECK(objects.size() == 1);
    CHECK(uploads.size() == 1);
    CHECK(max_at_once > 10);
  }
  SECTION("what cannot be removed is reported") {
    fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.method == "DELETE") return refusal(403, "AccessDenied");
      return std::nullopt;
    };
    remove();
    REQUIRE_FALSE(*removed);
    CHECK(removed->error().error.kind == ErrorKind::denied);
  }
  SECTION("never a whole bucket") {
    at.key.clear();
    remove();
    REQUIRE_FALSE(*removed);
    CHECK(removed->error().error.message == "remove s3://b: refusing to remove a whole bucket");
    CHECK(objects.size() == 51);
  }
}

TEST_CASE_METHOD(Trees, "data too large for one write is written in the background, and complete in the end") {
  std::string large;
  for (int i = 0; large.size() < 2'000'000; ++i) large += std::to_string(i);
  objects["model/large"] = large;
  objects["model/larger"] = large + large;
  limits.bytes = std::int64_t{32} << 20;
  limits.range = 700'000;
  REQUIRE(down());
  CHECK(read_file(target / "large", 10'000'000).value() == large);
  CHECK(read_file(target / "larger", 10'000'000).value() == large + large);
  CHECK(left_beside().empty());
}

TEST_CASE_METHOD(Trees, "what cannot be written ends the transfer, and nothing of it is left") {
  objects["model/large"] = std::string(2'000'000, 'x');
  limits.bytes = std::int64_t{32} << 20;
  limits.range = 700'000;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{200'000, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto got = down();
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(got);
  CHECK(got.error().message.find("File too large") != std::string::npos);
  CHECK(read("large") == "(none)");
  CHECK(left_beside().empty());
}

TEST_CASE_METHOD(Trees, "a single object is found with list permission only") {
  fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.method == "HEAD") return Reply::text("", 403);
    return std::nullopt;
  };
  objects["model.txt"] = "beside";
  CHECK(listed().empty());
  objects["model"] = "itself";
  REQUIRE(listed().size() == 1);
  CHECK(listed()[0].size == 6);
}

TEST_CASE_METHOD(Trees, "a listing has everything below, or the object itself, and nothing next to it") {
  const auto keys = [this] {
    std::vector<std::string> result;
    for (const auto& object : listed()) result.push_back(object.key);
    return result;
  };
  CHECK(keys().empty());
  objects["model.txt"] = objects["model2/x"] = "beside";
  CHECK(keys().empty());
  objects["model"] = "itself";
  CHECK(keys() == std::vector<std::string>{""});
  for (const auto* key : {"model/", "model/a", "model/b/c", "model/b/d", "model/e"}) objects[key] = "below";
  CHECK(keys() == std::vector<std::string>{"a", "b/c", "b/d", "e"});
  fault = [](const auto& asked) { return asked.request.method == "GET" ? std::optional(refusal(403, "AccessDenied")) : std::nullopt; };
  std::optional<Answer<std::vector<Object>>> all;
  const Listing listing(client, at, [&](auto answer) { all = std::move(answer); });
  loop.run();
  REQUIRE(all);
  CHECK(all->error().error.kind == ErrorKind::denied);
}

TEST_CASE_METHOD(Trees, "a file being fetched has no name: a killed process leaves nothing of it") {
  const auto unnamed = PartialFile::create(target / "large");
  REQUIRE(unnamed);
  REQUIRE((*unnamed)->write(0, "0123"));
  CHECK(fs::is_empty(target));
  SECTION("whole, it is there") {}
  SECTION("whole, it takes the place of what was there") { REQUIRE(write_file_atomically(target / "large", "another and longer")); }
  REQUIRE((*unnamed)->finish());
  CHECK(read("large") == "0123");
  CHECK(left_beside().empty());
}

TEST_CASE_METHOD(Trees, "a folder that cannot be made, and a file that cannot be written, are errors") {
  objects["model/sub/a"] = "a";
  REQUIRE(write_file_atomically(target / "sub", "a file"));
  const auto got = down();
  REQUIRE_FALSE(got);
  CHECK(got.error().message.find((target / "sub").string()) != std::string::npos);
}

TEST_CASE_METHOD(Trees, "a cancelled transfer reports nothing more") {
  write("large", long_text);
  int told = 0;
  {
    auto plan = plan_upload(read_tree(source)->files, {}, {});
    const auto given_up = upload(client, std::move(plan), source, at, {{}, [&](const auto&) { ++told; }}, limits);
    loop.run(Duration{2});
  }
  CHECK(transport.open() == 0);
  loop.run();
  CHECK(told == 0);
}

TEST_CASE_METHOD(Trees, "a file can be put under a key of another name, and come back under its own") {
  write("large", long_text);
  write("small", "1");
  auto plan = plan_upload(read_tree(source)->files, {}, {});
  for (auto& item : plan.items) item.object.key = "elsewhere/" + item.file.path;
  REQUIRE(outcome([&](auto sink) { return upload(client, std::move(plan), source, at, std::move(sink), limits); }));
  CHECK(objects.at("model/elsewhere/large") == long_text);
  auto back = plan_download(listed(), {}, {});
  back.folders.clear();
  for (auto& item : back.items) item.file.path = item.file.path.substr(10);
  REQUIRE(outcome([&](auto sink) { return download(client, std::move(back), target, at, std::move(sink), limits); }));
  CHECK(read("large") == long_text);
  CHECK(read("small") == "1");
}

TEST_CASE_METHOD(Trees, "a download larger than the free space is not started") {
  SyncPlan plan = plan_download({{"a", std::numeric_limits<std::int64_t>::max(), "e"}}, {}, {});
  const auto got = outcome([&](auto sink) { return download(client, std::move(plan), target, at, std::move(sink), limits); });
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == ErrorKind::internal);
  CHECK(got.error().message.find("No space left on device") != std::string::npos);
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Trees, "only as many ranges are queued as can be requested") {
  objects["model/large"] = "x";
  constexpr std::int64_t size = std::int64_t{1} << 30;  // of 100 million ranges
  auto plan = plan_download({{"large", size, FakeStore::etag("x")}}, {}, {});
  auto small = limits;
  small.range = 10;
  fault = [](const FakeTransport::Asked&) { return std::optional(refusal(416, "InvalidRange")); };
  const auto before = max_memory();
  const auto got = outcome([&](auto sink) { return download(client, std::move(plan), target, at, std::move(sink), small); });
  REQUIRE_FALSE(got);
  CHECK(max_memory() - before < 65'536);
}

TEST_CASE("a tree has files, and what links lead to") {
  const TempDir here;
  const auto root = here.path() / "tree";
  REQUIRE(write_file_atomically(root / "b/file", "1234"));
  REQUIRE(write_file_atomically(here.path() / "outside", "12345"));
  REQUIRE(make_directories(root / "empty"));
  fs::create_symlink(root / "b/file", root / "a-link");
  fs::create_symlink(here.path() / "outside", root / "c-link");
  fs::create_directory_symlink("b", root / "latest");
  const auto tree = read_tree(root);
  REQUIRE(tree);
  std::vector<std::string> paths;
  for (const auto& file : tree->files) paths.push_back(file.path + ' ' + std::to_string(file.size));
  CHECK(paths == std::vector<std::string>{"a-link 4", "b/file 4", "c-link 5", "latest/file 4"});
  CHECK(tree->left_out.empty());
  CHECK(read_tree(root / "none").error().kind == ErrorKind::not_found);
}

TEST_CASE("with links kept, those within the tree are recorded relative to it, and all others are followed") {
  const TempDir here;
  const auto root = here.path() / "tree";
  REQUIRE(write_file_atomically(root / "a/b/file", "1"));
  REQUIRE(write_file_atomically(here.path() / "outside/file", "12"));
  REQUIRE(make_directories(root / "empty"));
  REQUIRE(make_directories(root / "refs"));
  fs::create_directory_symlink("tree", here.path() / "way");
  const std::map<std::string, std::string> verbatim{{"file", "a/b/file"},          {"folder", "a/"}, {"chain", "folder"}, {"refs/up", ".."},
                                                    {"refs/round", "../a/../a/b"}, {"none", "empty"}};
  for (const auto& [name, said] : verbatim) fs::create_symlink(said, root / name);
  fs::create_symlink(root / "a/b", root / "refs/absolute");
  fs::create_symlink(here.path() / "way/a", root / "refs/by-another-way");
  fs::create_symlink("../../way/a", root / "refs/out-and-in");
  fs::create_symlink("../outside/file", root / "out");
  fs::create_symlink("../outside", root / "elsewhere");
  fs::create_symlink("nowhere", root / "dangling");
  const auto tree = read_tree(root, Links::kept);
  REQUIRE(tree);
  auto links = verbatim;
  links.insert({{"refs/absolute", "../a/b"}, {"refs/by-another-way", "../a"}, {"refs/out-and-in", "../a"}});
  CHECK(tree->links == links);
  REQUIRE(tree->files.size() == 2);
  CHECK(tree->files[1].path == "out");
  CHECK(tree->left_out == std::vector<std::string>{"dangling: a link that is broken", "elsewhere: a link to a folder elsewhere"});
  std::vector<std::string> folders;
  for (const auto& [path, changed] : tree->folders) folders.push_back(path);
  CHECK(folders == std::vector<std::string>{"a", "a/b", "refs"});
  CHECK(tree->empty_folders == std::vector<std::string>{"empty"});
}

TEST_CASE("a path leads out of its folder as it is written") {
  for (const auto* in : {"a", ".", "a/..", "a/../b", "./a/", "..a"}) CHECK_FALSE(leads_out(in));
  for (const auto* out : {"", "..", "../a", "a/../..", "/", "/a", "a/../../b"}) CHECK(leads_out(out));
}

TEST_CASE("files that cannot be transferred are skipped by name, and do not block others") {
  const TempDir here;
  const auto root = here.path() / "tree";
  REQUIRE(write_file_atomically(root / "a/file", "1234"));
  REQUIRE(::mkfifo((root / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("nowhere", root / "dangling");
  fs::create_symlink("itself", root / "itself");
  fs::create_directory_symlink("..", root / "a/up");
  fs::create_directory_symlink("/", root / "root");
  fs::create_symlink("/dev/null", root / "null");
  const auto tree = read_tree(root);
  REQUIRE(tree);
  REQUIRE(tree->files.size() == 1);
  CHECK(tree->left_out == std::vector<std::string>{"a/up: a link that loops", "dangling: a link that is broken", "itself: a link that is broken",
                                                   "null: a device", "pipe: a FIFO", "root: a link to a folder elsewhere"});
  CHECK(describe_left_out(tree->left_out).ends_with("; null: a device; pipe: a FIFO; and 1 more"));
  CHECK(read_tree(root / "pipe").error().kind == ErrorKind::input);
}

TEST_CASE("links of folders to each other come to an end") {
  const TempDir here;
  const auto root = here.path() / "tree";
  for (const auto* name : {"a", "b"}) REQUIRE(write_file_atomically(root / name / "file", "1"));
  fs::create_directory_symlink("../b", root / "a/x");
  fs::create_directory_symlink("../a", root / "b/y");
  const auto tree = read_tree(root);
  REQUIRE(tree);
  CHECK(tree->files.size() == 4);
  CHECK(tree->left_out.size() == 2);
}
