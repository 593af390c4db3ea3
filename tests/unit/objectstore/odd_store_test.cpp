// Stores, and networks before them, that are slow of memory, list in their own way, or have another clock.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <vector>

#include "base/files.h"
#include "objectstore/listing.h"
#include "objectstore/transfer.h"
#include "support/temp_dir.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::objectstore;
using namespace trainstep::objectstore::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

bool lists_uploads(const FakeTransport::Asked& asked) { return asked.request.method == "GET" && asked.line().find("uploads=") != std::string::npos; }

struct OddStore : FakeStore {
  Address at{"s3", "b", "model"};

  // The first `times` questions for uploads are not answered at all.
  void forget_uploads(int times) {
    fault = [times](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
      if (!lists_uploads(asked) || times-- <= 0) return std::nullopt;
      return Reply::silent();
    };
  }
  Answer<std::size_t> remove() {
    std::optional<Answer<std::size_t>> removed;
    const Removal removal(client, at, [&](auto answer) { removed = std::move(answer); });
    loop.run();
    REQUIRE(removed);
    return *removed;
  }
  Answer<std::vector<Object>> list() {
    std::optional<Answer<std::vector<Object>>> found;
    const Listing listing(client, at, [&](auto answer) { found = std::move(answer); });
    loop.run();
    REQUIRE(found);
    return *found;
  }
  // A page of a listing: keys and sizes; "": it is the last.
  void page(const std::vector<std::pair<std::string, int>>& objects, const std::string& next) {
    std::string xml = "<ListBucketResult>";
    for (const auto& [key, size] : objects) xml += fmt::format("<Contents><Key>{}</Key><Size>{}</Size><ETag>e</ETag></Contents>", key, size);
    if (!next.empty()) xml += fmt::format("<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>", next);
    transport.reply(Reply::text(xml + "</ListBucketResult>"));
  }
};

std::string http_date(Time time) {
  const auto seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::array<char, 40> text{};
  tm parts{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", ::gmtime_r(&seconds, &parts))};
}

// As requests are signed with it: 20130524T000000Z.
std::string basic(Time time) {
  auto text = to_rfc3339(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

}  // namespace

TEST_CASE_METHOD(OddStore, "two lost answers do not leave the uploads of a tree that is removed") {
  uploads["left"][1] = "part";
  upload_keys["left"] = "model/large";
  forget_uploads(2);
  const auto began = loop.now();
  REQUIRE(remove());
  CHECK(uploads.empty());
  CHECK(loop.now() - began < 60s);
}

TEST_CASE_METHOD(OddStore, "a tree whose uploads nobody would list is not told to be removed; who may not list them leaves them") {
  objects["model/a"] = "x";
  SECTION("no answer") {
    forget_uploads(1'000);
    const auto began = loop.now();
    const auto removed = remove();
    REQUIRE_FALSE(removed);
    CHECK(removed.error().error.kind == ErrorKind::unavailable);
    CHECK_THAT(removed.error().error.message, Contains("list the uploads of b/model"));
    CHECK(loop.now() - began < 90s);
  }
  SECTION("they may not be listed") {
    const auto refused = GENERATE(refusal(403, "AccessDenied"), refusal(501, "NotImplemented"));
    fault = [refused](const FakeTransport::Asked& asked) { return lists_uploads(asked) ? std::optional(refused) : std::nullopt; };
    CHECK(remove().value() == 1);
  }
  CHECK(objects.empty());
}

TEST_CASE_METHOD(OddStore, "an upload whose beginning was not answered is given up, also when the look for it has to be repeated") {
  const TempDir here;
  REQUIRE(write_file_atomically(here.path() / "large", "longer than one part"));
  lose_beginnings = true;
  forget_uploads(2);
  const auto files = read_tree(here.path());
  REQUIRE(files);
  std::optional<Result<void>> done;
  const auto transfer = upload(client, plan_upload(files->files, {}, {}), here.path(), at, {nullptr, [&](auto result) { done = std::move(result); }},
                               {.requests = 2, .bytes = 64, .part = 10, .range = 10});
  loop.run();
  REQUIRE((done && *done));
  CHECK(objects.at("model/large") == "longer than one part");
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(OddStore, "a store that was silent about one object's uploads is asked about those of the next") {
  const TempDir here;
  REQUIRE(write_file_atomically(here.path() / "first", "much longer than one part"));
  REQUIRE(write_file_atomically(here.path() / "second", "longer than one part"));
  uploads["killed"][1] = "part";
  upload_keys["killed"] = "model/second";
  fault = [](const FakeTransport::Asked& asked) {
    return lists_uploads(asked) && asked.query("prefix") == "model/first" ? std::optional(Reply::silent()) : std::nullopt;
  };
  const auto files = read_tree(here.path());
  REQUIRE(files);
  std::optional<Result<void>> done;
  const auto transfer = upload(client, plan_upload(files->files, {}, {}), here.path(), at, {nullptr, [&](auto result) { done = std::move(result); }},
                               {.requests = 1, .bytes = 64, .part = 10, .range = 10});
  loop.run();
  REQUIRE((done && *done));
  CHECK(objects.size() == 2);
  CHECK(uploads.empty());
}
