// SPDX-License-Identifier: Apache-2.0
#include "objectstore/client.h"

#include "data/digest.h"
#include "objectstore/listing.h"
#include "support/catch.h"
#include "support/fake_transport.h"

using namespace trainstep;
using namespace trainstep::objectstore;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using test::FakeTransport;
using test::Reply;
using test::VirtualLoop;

namespace {

// "key-1", and after each refusal the next one.
class CountingKeys : public CredentialsProvider {
 public:
  void ask(Done done) override {
    done(problem ? Result<Credentials>(*problem) : Result<Credentials>(Credentials{"key-" + std::to_string(number), secret, token}));
  }
  void refused(const Credentials& keys) override { number += keys.access_key == "key-" + std::to_string(number) ? 1 : 0; }
  int number = 1;
  std::string secret = "secret", token;
  std::optional<Error> problem;
};

struct Bucket {
  VirtualLoop loop;
  FakeTransport server{loop};
  std::shared_ptr<CountingKeys> keys = std::make_shared<CountingKeys>();
  Client client{loop, server, Store{{"http", "store", 9000, "", {}}}, keys, 1};
  Address object{"s3", "b", "dir/k"};

  static Body text(std::string content) {
    return [content = std::move(content)] { return Result<std::string>(content); };
  }
  static Reply refusal(int status, const std::string& code) {
    return Reply::text("<Error><Code>" + code + "</Code><Message>m</Message></Error>", status);
  }

  // What a call came to: its value, or its error's message.
  template <typename T, typename Call>
  Answer<T> outcome(Call call) {
    std::optional<Answer<T>> result;
    call([&](Answer<T> answer) { result = std::move(answer); });
    CHECK_FALSE(result);
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  Answer<Object> put(const std::string& content) {
    return outcome<Object>([&](auto done) { client.put(object, text(content), done, {{"Content-Type", "text/plain"}}).detach(); });
  }
  Answer<std::string> get(std::optional<Range> range = {}, const std::string& etag = "") {
    return outcome<std::string>([&](auto done) { client.get(object, range, etag, done).detach(); });
  }
};

Reply with_etag(const std::string& etag, std::string body = "", int status = 200) {
  auto reply = Reply::text(std::move(body), status);
  reply.headers = {{"ETag", '"' + etag + '"'}};
  return reply;
}

}  // namespace

TEST_CASE_METHOD(Bucket, "an object is put in one signed request") {
  server.reply(with_etag("e1"));
  const auto answer = put("hello");
  REQUIRE(answer);
  CHECK(answer->etag == "e1");
  REQUIRE(server.asked().size() == 1);
  const auto& asked = server.asked().front();
  CHECK(asked.line() == "PUT /b/dir/k");
  CHECK(asked.request.body == "hello");
  CHECK(asked.header("X-Amz-Content-Sha256") == sha256_hex("hello"));
  CHECK(asked.header("Content-Type") == "text/plain");
  CHECK(asked.header("Content-MD5") == "XUFAKrxLKna5cZ2REBfFkg==");  // without which a bucket with Object Lock takes nothing
  CHECK(asked.header("Authorization").starts_with("AWS4-HMAC-SHA256 Credential=key-1/"));
  CHECK(asked.header("Authorization").find("content-md5;content-type;host;user-agent;x-amz-content-sha256;x-amz-date") != std::string::npos);
}

TEST_CASE_METHOD(Bucket, "a store that says it has other bytes than were sent has not got the object") {
  const auto put_part = [this] { return outcome<std::string>([&](auto done) { client.put_part(object, "u", 1, text("hello"), done).detach(); }); };
  SECTION("once") {
    server.reply(with_etag(md5_hex("hellp")));
    server.reply(with_etag(md5_hex("hello")));
    CHECK(put("hello")->etag == md5_hex("hello"));
    CHECK(server.asked().size() == 2);
  }
  SECTION("a part") {
    server.reply(with_etag(md5_hex("hellp")));
    server.reply(with_etag(md5_hex("hello")));
    CHECK(put_part().value() == md5_hex("hello"));
    CHECK(server.asked().size() == 2);
  }
  SECTION("for good") {
    server.serve([](const auto&) { return with_etag(md5_hex("hellp")); });
    const auto answer = put("hello");
    REQUIRE_FALSE(answer);
    CHECK(answer.error().error.kind == ErrorKind::unavailable);
    CHECK(answer.error().error.message.starts_with("put s3://b/dir/k: the object store's data differs from what was sent: their MD5 is " +
                                                   md5_hex("hello") + ", its ETag " + md5_hex("hellp") + " (after "));
  }
  SECTION("it writes its digits large") {
    server.reply(with_etag("5D41402ABC4B2A76B9719D911017C592"));
    CHECK(put("hello"));
  }
  SECTION("a key service encrypts") {
    auto reply = with_etag(md5_hex("another sum"));
    reply.headers.push_back({"x-amz-server-side-encryption", "aws:kms"});
    server.reply(reply);
    CHECK(put("hello"));
  }
  SECTION("its ETags are not MD5 sums") {
    server.reply(with_etag(md5_hex("another sum") + "-1"));
    CHECK(put("hello"));
  }
}

TEST_CASE_METHOD(Bucket, "a body that was damaged on its way to the store is sent again") {
  server.reply(refusal(400, GENERATE(as<std::string>(), "BadDigest", "XAmzContentSHA256Mismatch")));
  server.reply(with_etag("e1"));
  CHECK(put("hello"));
  CHECK(server.asked().size() == 2);
}

TEST_CASE_METHOD(Bucket, "an object whose bytes are not those of its ETag is asked for again") {
  const auto said = [](std::string place) {
    auto reply = with_etag(md5_hex("hello"), "hellp", place.empty() ? 200 : 206);
    if (!place.empty()) reply.headers.push_back({"Content-Range", std::move(place)});
    return reply;
  };
  SECTION("whole") {
    server.reply(said(""));
    server.reply(with_etag(md5_hex("hello"), "hello"));
    CHECK(get().value() == "hello");
    CHECK(server.asked().size() == 2);
  }
  SECTION("nothing comes of it") {
    server.reply(with_etag(md5_hex("hello"), ""));
    server.reply(with_etag(md5_hex("hello"), "hello"));
    CHECK(get().value() == "hello");
    server.reply(with_etag(md5_hex(""), ""));
    CHECK(get().value().empty());
    CHECK(server.asked().size() == 3);
  }
  SECTION("whole, as a part") {
    server.reply(said("bytes 0-4/5"));
    server.reply(with_etag(md5_hex("hello"), "hello", 206));
    CHECK(get(Range{0, 5}).value() == "hello");
    CHECK(server.asked().size() == 2);
  }
  SECTION("a part says nothing about the whole") {
    server.reply(said("bytes 0-4/9"));
    CHECK(get(Range{0, 5}).value() == "hellp");
  }
  SECTION("the caller's own key encrypts") {
    auto reply = said("");
    reply.headers.push_back({"x-amz-server-side-encryption-customer-algorithm", "AES256"});
    server.reply(reply);
    CHECK(get().value() == "hellp");
  }
  SECTION("truncated, then complete: the sum starts over") {
    auto cut = with_etag(md5_hex("hello"));
    cut.pieces = {{1ms, "he"}};
    cut.end = Reply::End::cut;
    server.reply(cut);
    server.reply(with_etag(md5_hex("hello"), "hello"));
    CHECK(get().value() == "hello");
    CHECK(server.asked().size() == 2);
  }
}

TEST_CASE_METHOD(Bucket, "what may pass is tried again, each time with a signature of its own time") {
  server.reply(refusal(503, "SlowDown"));
  server.reply(Reply::lost());
  server.reply(refusal(500, "InternalError"));
  server.reply(with_etag("e1"));
  CHECK(put("hello"));
  REQUIRE(server.asked().size() == 4);
  CHECK(server.asked()[3].at - server.asked()[0].at > 500ms);
  CHECK(server.asked()[3].request.body == "hello");
  const auto long_wait = refusal(503, "SlowDown");
  server.reply({.status = 503, .headers = {{"Retry-After", "20"}}, .pieces = long_wait.pieces});
  server.reply(with_etag("e2"));
  CHECK(put("again"));
  CHECK(server.asked()[5].at - server.asked()[4].at >= 20s);
}

TEST_CASE_METHOD(Bucket, "permanent errors are reported at once") {
  server.reply(refusal(404, "NoSuchBucket"));
  const auto answer = put("hello");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().error.message == "put s3://b/dir/k: the object store answered 404 NoSuchBucket (m); create the bucket, or correct its name");
  CHECK(server.asked().size() == 1);
}

TEST_CASE_METHOD(Bucket, "an unreachable store is given up after the timeout, with the number of attempts") {
  server.serve([](const auto&) { return Reply::lost(); });
  const auto begin = loop.now();
  const auto answer = put("hello");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().error.kind == ErrorKind::unavailable);
  CHECK(answer.error().error.message.find("(after ") != std::string::npos);
  CHECK(loop.now() - begin > 300s);
  CHECK(loop.now() - begin < 335s);
}

TEST_CASE_METHOD(Bucket, "rejected credentials are requested again once") {
  server.reply(refusal(403, "InvalidAccessKeyId"));
  server.reply(with_etag("e1"));
  CHECK(put("hello"));
  CHECK(server.asked()[1].header("Authorization").find("Credential=key-2/") != std::string::npos);
  server.reply(refusal(403, "AccessDenied"));
  server.reply(refusal(403, "AccessDenied"));
  const auto answer = put("hello");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().error.kind == ErrorKind::denied);
  CHECK(server.asked().size() == 4);
}

TEST_CASE_METHOD(Bucket, "keys that several requests under way were sent with are renewed once") {
  for (int i = 0; i < 3; ++i) server.reply(refusal(400, "ExpiredToken"));
  for (int i = 0; i < 3; ++i) server.reply(with_etag("e"));
  int stored = 0;
  for (int i = 0; i < 3; ++i) client.put(object, text("hello"), [&](const Answer<Object>& answer) { stored += answer ? 1 : 0; }, {}).detach();
  loop.run();
  CHECK(stored == 3);
  REQUIRE(server.asked().size() == 6);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(server.asked()[i].header("Authorization").find(i < 3 ? "Credential=key-1/" : "Credential=key-2/") != std::string::npos);
}

TEST_CASE_METHOD(Bucket, "without keys nothing is asked") {
  keys->problem = input_error("/keys/accesskey is empty: no access key");
  const auto answer = put("hello");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().error.message == "put s3://b/dir/k: /keys/accesskey is empty: no access key");
  CHECK(server.asked().empty());
}

TEST_CASE_METHOD(Bucket, "that keys cannot be had is not taken for the store's answer about an object") {
  const auto kind = GENERATE(ErrorKind::not_found, ErrorKind::conflict, ErrorKind::denied);
  keys->problem = Error{kind, "cannot read /keys/token"};
  CHECK(get().error().error.kind == ErrorKind::input);
  std::optional<Answer<std::vector<Object>>> listed;
  const Listing listing(client, object, [&](auto answer) { listed = std::move(answer); });
  loop.run();
  REQUIRE(listed);
  CHECK_FALSE(*listed);
}

TEST_CASE_METHOD(Bucket, "a 404 without the store's code is retried, as it may be a proxy's") {
  server.reply(Reply::text("<html>default backend - 404</html>", 404));
  server.reply(Reply::text("", 404));
  server.reply(with_etag("e"));
  CHECK(get());
}

TEST_CASE_METHOD(Bucket, "an address is empty if a listing shows it, not on HEAD alone") {
  server.reply(Reply::text("<ListBucketResult></ListBucketResult>"));
  server.reply(Reply::text("", 404));
  server.reply(Reply::text("<ListBucketResult><Contents><Key>dir/k</Key><Size>42</Size></Contents></ListBucketResult>"));
  std::optional<Answer<std::vector<Object>>> listed;
  const Listing listing(client, object, [&](auto answer) { listed = std::move(answer); });
  loop.run();
  REQUIRE(listed);
  CHECK(listed->value().size() == 1);
}

TEST_CASE_METHOD(Bucket, "a body that cannot be read ends the call") {
  const auto answer = outcome<Object>(
      [&](auto done) { client.put(object, [] { return Result<std::string>(input_error("model.bin changed while it was read")); }, done).detach(); });
  REQUIRE_FALSE(answer);
  CHECK(answer.error().error.message == "put s3://b/dir/k: model.bin changed while it was read");
  CHECK(server.asked().empty());
}

TEST_CASE_METHOD(Bucket, "a part of an object is asked for by range and etag, and comes whole or again") {
  server.reply(with_etag("e1", "234", 206));
  CHECK(get(Range{2, 3}, "e1").value() == "234");
  CHECK(server.asked()[0].header("Range") == "bytes=2-4");
  CHECK(server.asked()[0].header("If-Match") == "\"e1\"");
  server.reply(with_etag("e1", "23", 206));
  server.reply(with_etag("e1", "0123456789", 200));
  server.reply(with_etag("e1", "234", 206));
  CHECK(get(Range{2, 3}).value() == "234");
  CHECK(server.asked().size() == 4);
  server.reply(refusal(412, "PreconditionFailed"));
  CHECK(get(Range{2, 3}, "e0").error().error.kind == ErrorKind::conflict);
}

TEST_CASE_METHOD(Bucket, "bytes that are taken as they come: from the beginning again after a cut, none of what is another object") {
  std::string taken;
  std::vector<std::int64_t> offsets;
  const auto fetch = [&](const Take& take) {
    return outcome<std::int64_t>([&](auto done) { client.fetch(object, Range{0, 6}, "e1", take, done).detach(); });
  };
  const Take take = [&](std::int64_t offset, std::string_view bytes) -> Result<void> {
    offsets.push_back(offset);
    taken.resize(static_cast<std::size_t>(offset));
    taken += bytes;
    return {};
  };
  auto cut = with_etag("e1", "", 206);
  cut.pieces = {{1ms, "abc"}};
  cut.end = Reply::End::cut;
  auto whole = with_etag("e1", "", 206);
  whole.pieces = {{1ms, "abcd"}, {1ms, "ef"}};
  SECTION("a cut") {
    server.reply(cut);
    server.reply(whole);
    CHECK(fetch(take).value() == 6);
    CHECK(taken == "abcdef");
    CHECK(offsets == std::vector<std::int64_t>{0, 0, 4});
  }
  SECTION("too little, then the whole object instead of a part, then right") {
    server.reply(with_etag("e1", "abc", 206));
    server.reply(with_etag("e1", "xyzabcdefxyz", 200));
    server.reply(whole);
    CHECK(fetch(take).value() == 6);
    CHECK(taken == "abcdef");
  }
  SECTION("another object, from a store that does not know If-Match") {
    server.reply(with_etag("e2", "abcdef", 206));
    CHECK(fetch(take).error().error.kind == ErrorKind::conflict);
    CHECK(taken.empty());
  }
  SECTION("the receiver fails") {
    server.reply(whole);
    const auto answer = fetch([](std::int64_t, std::string_view) -> Result<void> { return input_error("/data: no space"); });
    REQUIRE_FALSE(answer);
    CHECK(answer.error().error.message == "get s3://b/dir/k: /data: no space");
    CHECK(server.asked().size() == 1);
  }
  CHECK(server.open() == 0);
}

TEST_CASE_METHOD(Bucket, "head, list and remove") {
  auto head = with_etag("e1");
  head.headers.push_back({"Content-Length", "42"});
  server.reply(head);
  CHECK(outcome<Object>([&](auto done) { client.head(object, done).detach(); })->size == 42);
  server.reply(Reply::text("<ListBucketResult><Contents><Key>dir/k</Key><Size>42</Size></Contents></ListBucketResult>"));
  CHECK(outcome<ListPage>([&](auto done) { client.list("b", "dir/", "tok en", done).detach(); })->objects.size() == 1);
  CHECK(server.asked()[1].line() == "GET /b encoding-type=url&list-type=2&prefix=dir/&continuation-token=tok en");
  server.reply(Reply::text("", 204));
  CHECK(outcome<std::monostate>([&](auto done) { client.remove(object, done).detach(); }));
  server.reply(refusal(404, "NoSuchKey"));
  CHECK(outcome<std::monostate>([&](auto done) { client.remove(object, done).detach(); }));
  server.reply(refusal(404, "NoSuchBucket"));
  CHECK_FALSE(outcome<std::monostate>([&](auto done) { client.remove(object, done).detach(); }));
}

TEST_CASE_METHOD(Bucket, "a multipart upload: created, filled, completed; or aborted") {
  server.reply(Reply::text("<InitiateMultipartUploadResult><UploadId>u 1</UploadId></InitiateMultipartUploadResult>"));
  CHECK(outcome<std::string>([&](auto done) { client.begin_upload(object, done).detach(); }).value() == "u 1");
  CHECK(server.asked()[0].line() == "POST /b/dir/k uploads=");
  server.reply(with_etag("p1"));
  CHECK(outcome<std::string>([&](auto done) { client.put_part(object, "u 1", 1, text("part"), done).detach(); }).value() == "p1");
  CHECK(server.asked()[1].line() == "PUT /b/dir/k partNumber=1&uploadId=u 1");
  server.reply(refusal(200, "InternalError"));
  server.reply(Reply::text("<CompleteMultipartUploadResult><ETag>\"x-1\"</ETag></CompleteMultipartUploadResult>"));
  CHECK(outcome<Object>([&](auto done) { client.complete_upload(object, "u 1", {"p1"}, done).detach(); })->etag == "x-1");
  CHECK(server.asked()[3].request.body == completion({"p1"}));
  server.reply(refusal(404, "NoSuchUpload"));
  CHECK(outcome<std::monostate>([&](auto done) { client.abort_upload(object, "u 1", done).detach(); }));
}

TEST_CASE_METHOD(Bucket, "a cancelled call reports nothing, and its exchange ends") {
  int told = 0;
  auto id = client.put(object, text("x"), [&](const auto&) { ++told; });
  loop.run(1s);
  REQUIRE(server.open() == 1);
  id.cancel();
  CHECK(server.open() == 0);
  loop.run();
  CHECK(told == 0);
}

TEST_CASE_METHOD(Bucket, "an error in the body of a success is an error, and is tried again") {
  int refusals = 0;
  server.serve([&](const FakeTransport::Asked&) {
    auto reply = with_etag("e");
    if (refusals++ == 0) reply.pieces = {{Duration(0), "<Error><Code>InternalError</Code><Message>m</Message></Error>"}};
    return reply;
  });
  CHECK(put("1"));
  CHECK(server.asked().size() == 2);
}

TEST_CASE_METHOD(Bucket, "a bucket is in the region that the store names, which is used from then on") {
  const auto home = GENERATE("Region", "header");
  server.serve([&](const FakeTransport::Asked& asked) {
    if (asked.header("Authorization").find("/eu-central-1/s3/") != std::string::npos) return with_etag("e");
    if (std::string(home) == "Region")
      return Reply::text("<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>eu-central-1</Region></Error>", 400);
    return Reply{.status = 400, .headers = {{"x-amz-bucket-region", "eu-central-1"}}};
  });
  CHECK(put("1"));
  CHECK(server.asked().size() == 2);
  CHECK(put("2"));
  CHECK(server.asked().size() == 3);
}

TEST_CASE_METHOD(Bucket, "calls under way together all learn the region") {
  server.serve([&](const FakeTransport::Asked& asked) {
    if (asked.header("Authorization").find("/eu-central-1/s3/") != std::string::npos) return with_etag("e");
    return Reply::text("<Error><Code>AuthorizationHeaderMalformed</Code><Message>m</Message><Region>eu-central-1</Region></Error>", 400);
  });
  int stored = 0;
  for (int i = 0; i < 3; ++i) client.put(object, text("x"), [&](const Answer<Object>& answer) { stored += answer ? 1 : 0; }).detach();
  loop.run();
  CHECK(stored == 3);
}

TEST_CASE_METHOD(Bucket, "for AWS another region is another host; an invalid region name is ignored") {
  Client aws(loop, server, Store{{"https", "s3.amazonaws.com", 443, "", {}}}, keys, 1);
  std::string region = "eu-central-1";
  server.serve([&](const FakeTransport::Asked& asked) {
    if (asked.request.url.host == "s3.eu-central-1.amazonaws.com") return with_etag("e");
    return Reply{.status = 301, .headers = {{"x-amz-bucket-region", region}}};
  });
  const auto ask = [&] { return outcome<Object>([&](auto done) { aws.put(object, text("x"), done).detach(); }); };
  SECTION("a region") { CHECK(ask()); }
  SECTION("none") {
    region = "evil.example/";
    CHECK_FALSE(ask());
    CHECK(server.asked().size() == 1);
  }
}

TEST_CASE_METHOD(Bucket, "a region that is not accepted either is reported with what to correct") {
  server.serve([](const auto&) {
    return Reply::text("<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting 'x'</Message><Region>x</Region></Error>", 400);
  });
  const auto answer = put("1");
  REQUIRE_FALSE(answer);
  CHECK(server.asked().size() == 2);
  CHECK(answer.error().error.message.ends_with("(expecting 'x'); correct the region (minio-region in the Secret of the bucket)"));
}

TEST_CASE_METHOD(Bucket, "uploads that were begun are listed page by page") {
  server.reply(
      Reply::text("<ListMultipartUploadsResult><EncodingType>url</EncodingType><Upload><Key>dir/k/a+b</Key><UploadId>1</UploadId></Upload>"
                  "<IsTruncated>true</IsTruncated><NextKeyMarker>dir/k/a+b</NextKeyMarker><NextUploadIdMarker>1</NextUploadIdMarker>"
                  "</ListMultipartUploadsResult>"));
  server.reply(
      Reply::text("<ListMultipartUploadsResult><Upload><Key>dir/k</Key><UploadId>2</UploadId></Upload>"
                  "<Upload><Key>dir/k2</Key><UploadId>3</UploadId></Upload></ListMultipartUploadsResult>"));
  std::optional<Answer<std::vector<MultipartUpload>>> found;
  const UploadListing listing(client, object, [&](auto answer) { found = std::move(answer); });
  loop.run();
  REQUIRE((found && *found));
  REQUIRE((*found)->size() == 2);
  CHECK((*found)->at(0).key == "dir/k");
  CHECK((*found)->at(0).upload == "2");
  CHECK((*found)->at(1).key == "dir/k/a b");
  CHECK((*found)->at(1).upload == "1");
  CHECK(server.asked().at(1).query("key-marker") == "dir/k/a b");
  CHECK(server.asked().at(1).query("upload-id-marker") == "1");
}

TEST_CASE_METHOD(Bucket, "cyclic upload pages end") {
  server.serve([](const auto&) {
    return Reply::text("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker></ListMultipartUploadsResult>");
  });
  std::optional<Answer<std::vector<MultipartUpload>>> found;
  const UploadListing listing(client, object, [&](auto answer) { found = std::move(answer); });
  loop.run();
  REQUIRE(found);
  REQUIRE_FALSE(*found);
  CHECK(server.asked().size() == 2);
}

TEST_CASE_METHOD(Bucket, "a store whose answers keep a call waiting is named after five seconds with its words, and then rarely") {
  std::vector<std::string> told;
  const auto began = loop.now();
  client.on_waiting([&](const std::string& text) { told.push_back(std::to_string((loop.now() - began).count() / 1000) + " s: " + text); });
  SECTION("an error") {
    server.serve([](const auto&) { return refusal(503, "SlowDown"); });
    client.put(object, text("a"), [](const auto&) {}).detach();
    client.put(object, text("b"), [](const auto&) {}).detach();
    loop.run();
    REQUIRE(told.size() >= 2);
    CHECK_THAT(told[0], Catch::StartsWith("5 s: waiting for http://store:9000: put s3://b/dir/k: ") && Contains("SlowDown"));
    CHECK_THAT(told[1], Catch::StartsWith("60 s: "));
    CHECK(told.size() <= 4);
  }
  SECTION("a false success") {
    server.serve([](const auto&) { return refusal(200, "InternalError"); });
    client.complete_upload(object, "u", {"e"}, [](const auto&) {}).detach();
    loop.run(6s);
    CHECK(told.size() == 1);
  }
  SECTION("not a permanent one, nor a missing response: these are reported elsewhere") {
    server.reply(refusal(503, "SlowDown"));
    server.reply(Reply::text("", 200));
    client.remove(object, [](const auto&) {}).detach();
    loop.run(1min);
    server.serve([](const auto&) { return Reply::lost(); });
    client.remove(object, [](const auto&) {}).detach();
    loop.run();
    CHECK(told.empty());
  }
}

TEST_CASE_METHOD(Bucket, "a call that is begun or under way when the time is over does not wait much longer") {
  server.serve([](const auto&) {
    auto reply = refusal(503, "SlowDown");
    reply.headers.push_back({"Retry-After", "600"});
    return reply;
  });
  const auto began = loop.now();
  std::vector<Duration> ended;
  const auto end = [&](const Answer<std::monostate>& answer) {
    CHECK_FALSE(answer);
    ended.push_back(loop.now() - began);
  };
  client.remove(object, end).detach();
  loop.after(20s, [&] {
    client.hurry();
    client.remove(object, end).detach();
  });
  loop.run();
  REQUIRE(ended.size() == 2);
  CHECK(ended[1] < 27s);
}

TEST_CASE_METHOD(Bucket, "a pause that a store asks for is not waited for longer than the timeout") {
  server.serve([](const auto&) {
    auto reply = refusal(503, "SlowDown");
    reply.headers.push_back({"Retry-After", "3600"});
    return reply;
  });
  const auto began = loop.now();
  const auto removed = outcome<std::monostate>([&](auto done) { client.remove(object, done).detach(); });
  REQUIRE_FALSE(removed);
  CHECK_THAT(removed.error().error.message, Contains("SlowDown"));
  CHECK(loop.now() - began <= 6min);
}

TEST_CASE_METHOD(Bucket, "an endless listing ends with an error") {
  int pages = 0;
  const auto key = GENERATE(as<std::string>(), "", "<Contents><Key>dir/k/always</Key><Size>1</Size><ETag>e</ETag></Contents>");
  server.serve([&](const auto&) {
    return Reply::text("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" + std::to_string(++pages) +
                       "</NextContinuationToken>" + key + "</ListBucketResult>");
  });
  std::optional<Answer<std::vector<Object>>> found;
  const Listing listing(client, object, [&](auto answer) { found = std::move(answer); });
  loop.run(1h);
  REQUIRE(found);
  REQUIRE_FALSE(*found);
  CHECK(found->error().error.kind == ErrorKind::unavailable);
  CHECK_THAT(found->error().error.message, Contains("list s3://b/dir/k") && Contains("does not end"));
}

TEST_CASE_METHOD(Bucket, "endless upload pages end with an error") {
  int pages = 0;
  server.serve([&](const auto&) {
    return Reply::text("<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>" + std::to_string(++pages) +
                       "</NextKeyMarker></ListMultipartUploadsResult>");
  });
  std::optional<Answer<std::vector<MultipartUpload>>> found;
  const UploadListing listing(client, object, [&](auto answer) { found = std::move(answer); });
  loop.run(1h);
  REQUIRE(found);
  REQUIRE_FALSE(*found);
  CHECK_THAT(found->error().error.message, Contains("does not end"));
}

TEST_CASE_METHOD(Bucket, "credentials that a store quotes are redacted") {
  keys->secret = "SKEY-98765432";
  keys->token = "session-12345678";
  for (int i = 0; i < 2; ++i)
    server.reply(Reply::text("<Error><Code>SignatureDoesNotMatch</Code><Message>SKEY-98765432, session-12345678</Message></Error>", 403));
  const auto answer = put("hello");
  REQUIRE_FALSE(answer);
  CHECK_THAT(answer.error().error.message, Contains("SignatureDoesNotMatch ([redacted], [redacted])"));
}
