// SPDX-License-Identifier: Apache-2.0
#include "objectstore/sync.h"

#include <limits>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::objectstore;

namespace {

using Words = std::vector<std::string>;

Words travelling(const SyncPlan& plan) {
  Words result;
  for (const auto& item : plan.items) result.push_back(item.object.key);
  return result;
}

}  // namespace

TEST_CASE("a file is transferred unless file and object are both unchanged since they were equal") {
  struct Row {
    const char* what;
    LocalFile file;
    std::vector<Object> there;
    KnownFiles known;
    bool travels;
  };
  const LocalFile file{"a", 3, 100};
  const Object object{"a", 3, "e"};
  const KnownFiles known{{"a", {3, 100, "e"}}};
  const Row rows[] = {
      {"nothing is known", file, {object}, {}, true},
      {"all as it was", file, {object}, known, false},
      {"the object has gone", file, {}, known, true},
      {"the object is another", file, {{"a", 3, "f"}}, known, true},
      {"the object has another size", file, {{"a", 4, "e"}}, known, true},
      {"the file was touched", {"a", 3, 101}, {object}, known, true},
      {"the file was written anew and got its old time", {"a", 3, 100, 7}, {object}, known, true},
      {"the file has grown", {"a", 4, 100}, {object}, known, true},
      {"the store knows no etags", file, {{"a", 3, ""}}, {{"a", {3, 100, ""}}}, true},
  };
  for (const auto& row : rows) {
    INFO(row.what);
    const auto up = plan_upload({row.file}, row.there, row.known);
    CHECK(up.items.size() == (row.travels ? 1 : 0));
    CHECK(up.equal == (row.travels ? 0 : 1));
    if (row.there.empty()) continue;
    const auto down = plan_download(row.there, {row.file}, row.known);
    CHECK(down.items.size() == (row.travels ? 1 : 0));
  }
}

TEST_CASE("large files are transferred first, and the bytes are counted") {
  const auto plan = plan_upload({{"small", 1, 0}, {"large", 1'000, 0}, {"b", 10, 0}, {"a", 10, 0}}, {}, {});
  CHECK(travelling(plan) == Words{"large", "a", "b", "small"});
  CHECK(plan.bytes == 1'021);
}

TEST_CASE("a download makes all folders, the empty ones too") {
  const auto plan = plan_download({{"a/b/c.txt", 1, "e"}, {"a/b/d.txt", 2, "e"}, {"empty/", 0, "e"}, {"top.txt", 3, "e"}}, {}, {});
  CHECK(plan.folders == Words{"a", "a/b", "empty"});
  CHECK(travelling(plan) == Words{"top.txt", "a/b/d.txt", "a/b/c.txt"});
  CHECK(plan.bytes == 6);
  CHECK(plan.left_out.empty());
}

TEST_CASE("a key that leaves its folder, or is not a path, is skipped, and no other") {
  for (const auto* key : {"../x", "a/../../x", "/etc/passwd", "a//b", "./x", "a/.", ".."}) {
    INFO(key);
    const auto plan = plan_download({{key, 1, "e"}, {"good", 1, "e"}}, {}, {});
    CHECK(travelling(plan) == Words{"good"});
    CHECK(plan.left_out == Words{"\"" + std::string(key) + "\": not a path below a folder"});
  }
  const std::string long_name(300, 'x');
  CHECK(plan_download({{long_name, 1, "e"}}, {}, {}).left_out == Words{"\"" + long_name + "\": a name too long for a file"});
}

TEST_CASE("an object with others below it cannot be a file; nor can a tool's folder marker") {
  const auto both = plan_download({{"a", 1, "e"}, {"a/b", 1, "e"}}, {}, {});
  CHECK(travelling(both) == Words{"a/b"});
  CHECK(both.left_out == Words{"\"a\": both a file and a folder"});
  const auto folder = plan_download({{"a/", 3, "e"}, {"b/", 0, "e"}, {"/", 0, "e"}}, {}, {});
  CHECK(folder.left_out == Words{"\"a/\": a folder name with content"});
  CHECK(folder.folders == Words{"a", "b"});
}

TEST_CASE("sizes that a listing invents do not overflow") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(plan_download({{"a", most, "e"}, {"b", most, "e"}}, {}, {}).bytes == most);
}

TEST_CASE("a change in a tree is described by the first changed file") {
  const std::vector<LocalFile> before{{"a", 1, 10}, {"b", 2, 20}};
  CHECK(describe_change(before, before).empty());
  CHECK(describe_change(before, {{"b", 2, 20}}) == "a was removed");
  CHECK(describe_change(before, {}) == "a was removed");
  CHECK(describe_change(before, {{"a", 1, 10}, {"b", 3, 20}}) == "b changed from 2 to 3 bytes");
  CHECK(describe_change(before, {{"a", 1, 10}, {"b", 2, 21}}) == "b was rewritten");
  CHECK(describe_change(before, {{"a", 1, 10}, {"b", 2, 20}, {"c", 1, 1}}) == "c was added");
  CHECK(describe_change({{"", 1, 10}}, {}) == "the file was removed");
}
