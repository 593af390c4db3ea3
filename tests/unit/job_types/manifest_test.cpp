// SPDX-License-Identifier: Apache-2.0
#include "job_types/manifest.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::job_types;

namespace {

// {"spec": {"list": ["a", {"name": "b"}, "c"], "text": "x"}} with a source for each.
Manifest sample() {
  Manifest manifest;
  manifest.append("/spec/list", "a", "source of a");
  manifest.append("/spec/list", {{"name", "b"}}, "source of b");
  manifest.append("/spec/list", "c", "source of c");
  manifest.set("/spec/text", "x", "source of x");
  return manifest;
}

}  // namespace

TEST_CASE("a field is made with everything above it and knows its source") {
  const auto manifest = sample();
  CHECK(to_text(manifest.json()) == R"({"spec":{"list":["a",{"name":"b"},"c"],"text":"x"}})");
  CHECK(manifest.source_of("/spec/text") == "source of x");
  CHECK(manifest.source_of("/spec/list/1") == "source of b");
}

TEST_CASE("a field without a source of its own has that of the nearest one above it") {
  const auto manifest = sample();
  CHECK(manifest.source_of("/spec/list/1/name") == "source of b");
  CHECK(manifest.source_of("/spec").empty());
  CHECK(manifest.source_of("/nothing").empty());
}

TEST_CASE("a later value replaces an earlier one with its source, and everything below it") {
  Manifest manifest;
  manifest.set("/a/b", 1, "first");
  manifest.set("/a", {{"c", 2}}, "second");
  CHECK(to_text(manifest.json()) == R"({"a":{"c":2}})");
  CHECK(manifest.source_of("/a/b") == "second");
}

TEST_CASE("keys that are data may look like pointers or numbers") {
  Manifest manifest;
  manifest.set_member("/labels", "example.org/a~b", "x", "label");
  manifest.set_member("/numbers", "0", "y", "label");
  CHECK(manifest.json().at("labels").at("example.org/a~b") == "x");
  CHECK(to_text(manifest.json().at("numbers")) == R"({"0":"y"})");
  CHECK(manifest.source_of("/labels/example.org~1a~0b") == "label");
}

TEST_CASE("merging a part keeps its siblings and copies its sources") {
  auto manifest = sample();
  Manifest part;
  part.set("/more", true, "part");
  manifest.merge("/spec", part);
  CHECK(manifest.json().at("spec").at("text") == "x");
  CHECK(manifest.json().at("spec").at("more") == true);
  CHECK(manifest.source_of("/spec/more") == "part");
  CHECK(manifest.source_of("/spec/text") == "source of x");
}

TEST_CASE("an object patch is a merge patch") {
  auto manifest = sample();
  REQUIRE(manifest.patch({{"spec", {{"text", nullptr}, {"new", {{"a", 1}}}}}}));
  CHECK(to_text(manifest.json()) == R"({"spec":{"list":["a",{"name":"b"},"c"],"new":{"a":1}}})");
  CHECK(manifest.source_of("/spec/new/a") == "job_options.patch");
  CHECK(manifest.source_of("/spec/list/0") == "source of a");
  CHECK(manifest.source_of("/spec/text").empty());
}

TEST_CASE("a list patch is a JSON patch, and the sources move with the elements of a list") {
  auto manifest = sample();
  SECTION("an element in front") {
    REQUIRE(manifest.patch(Json::parse(R"([{"op": "add", "path": "/spec/list/0", "value": "new"}])")));
    CHECK(manifest.source_of("/spec/list/0") == "job_options.patch");
    CHECK(manifest.source_of("/spec/list/1") == "source of a");
    CHECK(manifest.source_of("/spec/list/2/name") == "source of b");
    CHECK(manifest.source_of("/spec/list/3") == "source of c");
  }
  SECTION("an element at the end") {
    REQUIRE(manifest.patch(Json::parse(R"([{"op": "add", "path": "/spec/list/-", "value": "new"}])")));
    CHECK(manifest.source_of("/spec/list/3") == "job_options.patch");
    CHECK(manifest.source_of("/spec/list/2") == "source of c");
  }
  SECTION("an element removed") {
    REQUIRE(manifest.patch(Json::parse(R"([{"op": "remove", "path": "/spec/list/0"}])")));
    CHECK(manifest.source_of("/spec/list/0/name") == "source of b");
    CHECK(manifest.source_of("/spec/list/1") == "source of c");
  }
  SECTION("an element moved") {
    REQUIRE(manifest.patch(Json::parse(R"([{"op": "move", "from": "/spec/list/2", "path": "/spec/list/0"}])")));
    CHECK(to_text(manifest.json().at("spec").at("list")) == R"(["c","a",{"name":"b"}])");
    CHECK(manifest.source_of("/spec/list/0") == "job_options.patch");
    CHECK(manifest.source_of("/spec/list/2/name") == "source of b");
  }
  SECTION("a value replaced") {
    REQUIRE(
        manifest.patch(Json::parse(R"([{"op": "test", "path": "/spec/text", "value": "x"}, {"op": "replace", "path": "/spec/text", "value": 1}])")));
    CHECK(manifest.source_of("/spec/text") == "job_options.patch");
    CHECK(manifest.source_of("/spec/list/0") == "source of a");
  }
}

TEST_CASE("a patch that does not apply is refused by the number of its operation and changes nothing") {
  const char* patches[] = {
      R"([{"op": "replace", "path": "/spec/text", "value": 1}, {"op": "remove", "path": "/spec/nothing"}])",
      R"([{"op": "replace", "path": "/spec/text", "value": 1}, {"op": "test", "path": "/spec/text", "value": 2}])",
      R"([{"op": "replace", "path": "/spec/text", "value": 1}, {"op": "shake", "path": "/spec/text"}])",
      R"([{"op": "replace", "path": "/spec/text", "value": 1}, {"path": "/spec/text"}])",
      R"([{"op": "replace", "path": "/spec/text", "value": 1}, "remove"])",
      R"([{"op": "replace", "path": "/spec/text", "value": 1}, {"op": "add", "path": "spec", "value": 1}])",
  };
  for (const auto* patch : patches) {
    CAPTURE(patch);
    auto manifest = sample();
    const auto result = manifest.patch(Json::parse(patch));
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::input);
    CHECK(result.error().message.starts_with("job_options.patch[1]: "));
    CHECK(manifest.json() == sample().json());
    CHECK(manifest.source_of("/spec/text") == "source of x");
  }
}

TEST_CASE("a patch is an object or a list") {
  auto manifest = sample();
  CHECK(manifest.patch(nullptr));
  CHECK_FALSE(manifest.patch("text"));
}
