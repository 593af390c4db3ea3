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
  void page(const std::vector<std::pair<std::string, int>>& listed, const std::string& next) {
    std::string xml = "<ListBucketResult>";
    for (const auto& [key, size] : listed) xml += fmt::format("<Contents><Key>{}</Key><Size>{}</Size><ETag>e</ETag></Contents>", key, size);
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

TEST_CASE_METHOD(OddStore, "a tree whose uploads cannot be listed is not reported as removed; without list permission they are left") {
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

TEST_CASE_METHOD(OddStore, "an upload whose creation got no response is aborted, even if listing it has to be repeated") {
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

TEST_CASE_METHOD(OddStore, "pages that overlap, are unsorted, or contain unrelated keys: each object once, with its last listed state") {
  page({{"model/b", 1}, {"model/c", 2}}, "1");
  page({{"model/c", 3}, {"model/a", 4}, {"other/model/d", 5}, {"mo", 6}, {"model", 7}, {"models/e", 8}}, "");
  const auto found = list();
  REQUIRE(found);
  std::vector<std::pair<std::string, std::int64_t>> told;
  for (const auto& object : *found) told.emplace_back(object.key, object.size);
  CHECK(told == std::vector<std::pair<std::string, std::int64_t>>{{"a", 4}, {"b", 1}, {"c", 3}});
}

TEST_CASE_METHOD(OddStore, "pages that come again and again under new names have no end") {
  int pages = 0;
  transport.serve([&](const auto&) {
    ++pages;
    return Reply::text(
        fmt::format("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken><Contents>"
                    "<Key>model/{}</Key><Size>1</Size><ETag>e</ETag></Contents></ListBucketResult>",
                    pages, pages % 2));
  });
  const auto found = list();
  REQUIRE_FALSE(found);
  CHECK_THAT(found.error().error.message, Contains("does not end"));
  CHECK(pages < 1'100);
}

TEST_CASE_METHOD(OddStore, "an upload that is listed twice is aborted once") {
  transport.reply(Reply::text("<ListBucketResult></ListBucketResult>"));
  transport.reply(Reply::text("", 404));
  transport.reply(Reply::text("<ListBucketResult></ListBucketResult>"));  // of the object itself
  transport.reply(
      Reply::text("<ListMultipartUploadsResult><Upload><Key>model/a</Key><UploadId>1</UploadId></Upload>"
                  "<IsTruncated>true</IsTruncated><NextKeyMarker>model/a</NextKeyMarker></ListMultipartUploadsResult>"));
  transport.reply(Reply::text("<ListMultipartUploadsResult><Upload><Key>model/a</Key><UploadId>1</UploadId></Upload></ListMultipartUploadsResult>"));
  REQUIRE(remove());
  CHECK(std::ranges::count_if(transport.asked(), [](const auto& asked) { return asked.request.method == "DELETE"; }) == 1);
}

TEST_CASE_METHOD(OddStore, "another part of the object than was asked for is not taken for it") {
  const auto part = [](const std::string& bytes, const std::string& place) {
    auto reply = Reply::text(bytes, 206);
    reply.headers = {{"ETag", "\"e\""}, {"Content-Range", place}};
    return reply;
  };
  transport.reply(part("012", "bytes 0-2/10"));
  transport.reply(part("345", "bytes 3-5/10"));
  std::optional<Answer<std::string>> got;
  client.get(at, Range{3, 3}, "e", [&](auto answer) { got = std::move(answer); }).detach();
  loop.run();
  REQUIRE(got);
  CHECK(got->value() == "345");
  CHECK(transport.asked().size() == 2);
}

TEST_CASE_METHOD(OddStore, "for a store with another clock its time is used, and this is reported once") {
  const auto ahead = GENERATE(Duration(3h), Duration(-26h));
  std::vector<std::string> told;
  client.on_waiting([&](const std::string& text) { told.push_back(text); });
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const auto theirs = loop.now() + ahead;
    const auto signed_at = asked.header("X-Amz-Date");
    if (signed_at >= basic(theirs - 15min) && signed_at <= basic(theirs + 15min)) return std::nullopt;
    auto reply = asked.request.method == "HEAD" ? Reply::text("", 403) : refusal(403, "RequestTimeTooSkewed");
    reply.headers = {{"Date", http_date(theirs)}};
    return reply;
  };
  int put = 0;
  for (int i = 0; i < 3; ++i)
    client.put(
              at.child(std::to_string(i)), [] { return Result<std::string>("x"); }, [&](const Answer<Object>& answer) { put += answer ? 1 : 0; })
        .detach();
  loop.run();
  CHECK(put == 3);
  CHECK(transport.asked().size() == 6);
  std::optional<Answer<Object>> head;
  client.head(at.child("0"), [&](auto answer) { head = std::move(answer); }).detach();
  loop.run();
  REQUIRE((head && *head));
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains(ahead > 0h ? "http://store:9000 is 3 h 00 min ahead of" : "behind") && Contains("signing requests with its time"));
}

TEST_CASE_METHOD(OddStore, "a HEAD is rejected without a message: the clock may be the reason") {
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.header("X-Amz-Date") > basic(loop.now() + 2h)) return std::nullopt;
    auto reply = Reply::text("", 403);
    reply.headers = {{"Date", http_date(loop.now() + 3h)}};
    return reply;
  };
  objects["model"] = "x";
  std::optional<Answer<Object>> head;
  client.head(at, [&](auto answer) { head = std::move(answer); }).detach();
  loop.run();
  REQUIRE((head && *head));
}

TEST_CASE_METHOD(OddStore, "a clock that a store rejects whatever is signed is reported") {
  fault = [&](const FakeTransport::Asked&) {
    auto reply = refusal(403, "RequestTimeTooSkewed");
    reply.headers = {{"Date", http_date(loop.now() + 3h)}};
    return std::optional(reply);
  };
  std::optional<Answer<Object>> put;
  client.put(at, [] { return Result<std::string>("x"); }, [&](auto answer) { put = std::move(answer); }).detach();
  loop.run();
  REQUIRE(put);
  REQUIRE_FALSE(*put);
  CHECK_THAT(put->error().error.message, Contains("the clocks of this machine and the store differ too much"));
  CHECK(transport.asked().size() <= 3);
}

TEST_CASE_METHOD(OddStore, "a response that trickles in is cut off: the call ends in time") {
  auto drops = Reply::text("<");
  drops.pieces.assign(2'000, {30s, " "});
  transport.serve([drops](const auto&) { return drops; });
  const auto began = loop.now();
  SECTION("a page of a listing") { REQUIRE_FALSE(list()); }
  SECTION("what is read into memory") {
    std::optional<Answer<std::string>> got;
    client.get(at, std::nullopt, "", [&](auto answer) { got = std::move(answer); }).detach();
    loop.run();
    REQUIRE((got && !*got));
    CHECK(got->error().error.kind == ErrorKind::timeout);
  }
  CHECK(loop.now() - began < 11min);
}
