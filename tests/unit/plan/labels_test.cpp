// SPDX-License-Identifier: Apache-2.0
#include "plan/labels.h"

#include <string>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using Catch::Matchers::Contains;

TEST_CASE("a key of a label has an optional subdomain and a name") {
  const auto parts = [](std::size_t count) { return std::string(count, 'a'); };
  for (const auto& key :
       {std::string("a"), std::string("A_b.c-9"), std::string("example.com/team"), std::string("a-b.c/X"), parts(63), parts(253) + "/" + parts(63)}) {
    INFO(key);
    CHECK(is_qualified_name(key));
  }
  for (const auto& key : {std::string(), std::string("-a"), std::string("a-"), std::string("a b"), std::string("a/b/c"), std::string("/a"),
                          std::string("a/"), std::string("Example.com/a"), std::string("a_b.c/x"), std::string("a..b/x"), std::string("a.-b/x"),
                          std::string("ä"), parts(64), parts(254) + "/a"}) {
    INFO(key);
    CHECK_FALSE(is_qualified_name(key));
  }
}

TEST_CASE("a value of a label is empty or a name") {
  for (const auto& value : {std::string(), std::string("1.10"), std::string("Tesla-V100"), std::string(63, 'x')}) CHECK(is_label_value(value));
  for (const auto& value : {std::string("a b"), std::string("a/b"), std::string("-1"), std::string("a."), std::string(64, 'x')})
    CHECK_FALSE(is_label_value(value));
}

TEST_CASE("labels and annotations are refused by their place") {
  const auto label = check_labels("here", Json{{"team", "a b"}});
  REQUIRE_FALSE(label);
  CHECK_THAT(label.error().message, Contains("here.team: \"a b\" is not a valid label value"));
  CHECK(check_annotations("here", Json{{"Example.com/note", "any text: ä\n"}}));
  const auto key = check_annotations("here", Json{{"a b", ""}});
  REQUIRE_FALSE(key);
  CHECK_THAT(key.error().message, Contains("here: \"a b\" is not a valid annotation key"));
  CHECK(check_annotations("here", Json{{"a", std::string(262'143, 'x')}}));
  const auto large = check_annotations("here", Json{{"a", std::string(262'144, 'x')}});
  REQUIRE_FALSE(large);
  CHECK(large.error().message == "here: 262145 bytes of keys and values, the Kubernetes limit is 262144");
}

TEST_CASE("a resource of a container has a domain, unless Kubernetes defines it") {
  for (const auto* name : {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/hca"})
    CHECK(check_resource_name("x", name));
  for (const auto* name : {"gpu", "", "a b", "nvidia.com/", "pods", "hugepages-"}) CHECK_FALSE(check_resource_name("x", name));
}

TEST_CASE("a key of a Secret is a file name") {
  for (const auto* key : {"a", ".netrc", "_X.y-z"}) CHECK(check_data_key("x", key));
  for (const auto* key : {"", ".", "..", "..a", "a/b", "a b"}) CHECK_FALSE(check_data_key("x", key));
}
