// SPDX-License-Identifier: Apache-2.0
#include "objectstore/recognition.h"

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "data/digest.h"
#include "objectstore/local_tree.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/virtual_loop.h"

using namespace trainstep;
using namespace trainstep::objectstore;

namespace {

struct Files {
  TempDir here;
  trainstep::test::VirtualLoop loop;
  TransferLimits limits{.requests = 1, .bytes = 64, .part = 10, .range = 10};

  void write(const std::string& path, const std::string& text) const { std::ofstream(here.path() / path) << text; }
  KnownFiles recognise(const std::vector<Object>& there) {
    std::optional<KnownFiles> known;
    const auto files = read_tree(here.path());
    REQUIRE(files);
    const Recognition recognition(loop, files->files, there, here.path(), [&](const KnownFiles& same) { known = same; }, limits);
    CHECK_FALSE(known);
    loop.run();
    REQUIRE(known);
    return *known;
  }
};

const std::string three_parts = "0123456789abcdefghijABC";
const std::string tag_of_three_parts = etag_of_parts({md5_hex("0123456789"), md5_hex("abcdefghij"), md5_hex("ABC")});

}  // namespace

TEST_CASE("the ETag of an object in parts is the digest of their digests, and how many") {
  CHECK(tag_of_three_parts == md5_hex(from_hex(md5_hex("0123456789") + md5_hex("abcdefghij") + md5_hex("ABC")).value()) + "-3");
  CHECK(etag_of_parts({"not hexadecimal"}).empty());
  CHECK(etag_of_parts({md5_hex("a"), "ab"}).empty());
}

TEST_CASE_METHOD(Files, "files whose objects have the ETag of their content are recognised, in one part and in several") {
  write("a", "1234");
  write("long", three_parts);
  write("ten", "0123456789");
  const auto known = recognise({{"a", 4, md5_hex("1234")}, {"long", 23, tag_of_three_parts}, {"ten", 10, md5_hex("0123456789")}});
  REQUIRE(known.size() == 3);
  CHECK(known.at("long").etag == tag_of_three_parts);
  CHECK(known.at("a").size == 4);
  CHECK(plan_upload(read_tree(here.path())->files, {{"a", 4, md5_hex("1234")}}, known).equal == 1);
}

TEST_CASE_METHOD(Files, "other bytes, another size, another ETag, no object: not recognised") {
  write("a", "1234");
  write("long", three_parts);
  CHECK(recognise({}).empty());
  CHECK(recognise({{"a", 4, md5_hex("1235")}, {"long", 23, md5_hex(three_parts)}}).empty());
  CHECK(recognise({{"a", 5, md5_hex("1234")}, {"long", 23, ""}, {"other", 4, md5_hex("1234")}}).empty());
}

TEST_CASE_METHOD(Files, "an empty file is recognised too") {
  write("empty", "");
  CHECK(recognise({{"empty", 0, md5_hex("")}}).size() == 1);
}
