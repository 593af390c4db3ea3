// What a pipeline can make of a value: every key of every object of the interface with every wrong one. Either it is refused as input, or a manifest
// comes of it in which nothing is named by an empty text.
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "job_types/render.h"
#include "plan/plan.h"
#include "support/catch.h"

using namespace trainstep;

namespace {

const std::string huge(300'000, 'x');
const std::vector<Json> values{"",
                               " ",
                               nullptr,
                               true,
                               3,
                               -1,
                               2.5,
                               1e300,
                               "null",
                               "abc",
                               "a\nb",
                               "\x1b[31m",
                               "a=b",
                               "A B",
                               huge,
                               Json::array(),
                               Json::array({""}),
                               Json::array({nullptr}),
                               Json::array({3}),
                               Json::object(),
                               Json{{"", ""}},
                               Json{{"a", nullptr}},
                               Json{{"a", Json::object()}},
                               Json{{"a=b", "x"}},
                               Json{{"a", huge}}};

plan::Request request(const std::string& kind) {
  plan::Request request;
  request.train_specification = R"({"image": "a", "command": ["b"]})";
  request.run_id = "run";
  request.distribution_specification = {{"distribution_type", kind}};
  return request;
}

// The keys that the reader of an object knows, by what it says of one that it does not.
std::vector<std::string> keys_of(const plan::Request& with_unknown_key) {
  const auto plan = plan::make_plan(with_unknown_key, job_types::traits());
  REQUIRE_FALSE(plan);
  const auto& message = plan.error().message;
  const auto at = message.find("expected one of ");
  REQUIRE(at != std::string::npos);
  std::vector<std::string> keys;
  for (const auto part : split(std::string_view(message).substr(at + 10), ',')) keys.emplace_back(trim(part));
  return keys;
}

// The place of an empty text under a key that names something; empty: there is none.
std::string nameless(const Json& json, const std::string& place = "") {
  static const std::set<std::string> naming{"name",      "claimName",          "secretName",        "key",           "path",
                                            "image",     "serviceAccountName", "priorityClassName", "schedulerName", "runtimeClassName",
                                            "mountPath", "fieldPath",          "subPath",           "subPathExpr"};
  if (json.is_object()) {
    for (const auto& [key, member] : json.items()) {
      if (naming.contains(key) && member.is_string() && trim(member.get_ref<const std::string&>()).empty()) return place + "/" + key;
      if (auto found = nameless(member, place + "/" + key); !found.empty()) return found;
    }
  } else if (json.is_array()) {
    for (const auto& item : json)
      if (auto found = nameless(item, place + "[]"); !found.empty()) return found;
  }
  return {};
}

void check(const plan::Request& request) {
  const auto plan = plan::make_plan(request, job_types::traits());
  if (!plan) {
    CHECK(plan.error().kind == ErrorKind::input);
    CHECK(plan.error().message.size() < 2000);
    return;
  }
  const auto manifest = job_types::render(*plan, "");
  if (!manifest) {
    CHECK(manifest.error().kind == ErrorKind::input);
    return;
  }
  CHECK(nameless(manifest->json()).empty());
}

}  // namespace

TEST_CASE("every option with every wrong value is refused, or named by something") {
  for (const std::string kind : {"Job", "MPI"}) {
    auto unknown = request(kind);
    unknown.job_options = {{"qqqqqqqqqqqqqqqq", 1}};
    for (const auto& key : keys_of(unknown))
      for (const auto& value : values) {
        CAPTURE(kind, key, to_text(value).substr(0, 40));
        auto with = request(kind);
        with.job_options[key] = value;
        check(with);
        with.job_options = {{"replicas", {{kind == "Job" ? "Main" : "Worker", {{key, value}}}}}};
        check(with);
      }
  }
}

TEST_CASE("every part of a volume or variable with every wrong value is refused, or named by something") {
  const std::vector<std::pair<std::string, Json>> objects{{"volumes", Json{{"mount_path", "/d"}, {"claim", "c"}}},
                                                          {"volumes", Json{{"mount_path", "/d"}, {"secret", "s"}, {"name", "n"}}},
                                                          {"volumes", Json{{"mount_path", "/d"}, {"config_map", "s"}, {"sub_path", "p"}}},
                                                          {"volumes", Json{{"mount_path", "/d"}, {"host_path", "/h"}, {"sub_path_expr", "p"}}},
                                                          {"volumes", Json{{"mount_path", "/d"}, {"empty_dir", Json::object()}, {"read_only", true}}},
                                                          {"volumes", Json{{"mount_path", "/d"}, {"volume", {{"nfs", Json::object()}}}}},
                                                          {"environment", Json{{"secret", "s"}, {"key", "k"}, {"optional", true}}},
                                                          {"environment", Json{{"config_map", "c"}, {"key", "k"}}},
                                                          {"environment", Json{{"field", "metadata.name"}}},
                                                          {"environment", Json{{"value_from", {{"fieldRef", Json::object()}}}}}};
  for (const auto& [option, object] : objects)
    for (const auto& [key, good] : object.items())
      for (const auto& value : values) {
        CAPTURE(option, to_text(object), key, to_text(value).substr(0, 40));
        auto changed = object;
        changed[key] = value;
        auto with = request("Job");
        with.job_options[option] = option == "volumes" ? Json::array({changed}) : Json{{"A", changed}};
        check(with);
      }
}

TEST_CASE("every part of a distribution with every wrong value is refused, or means something") {
  for (const std::string kind : {"Job", "MPI", "PyTorch", "TF"}) {
    auto unknown = request(kind);
    unknown.distribution_specification["qqqqqqqqqqqqqqqq"] = 1;
    for (const auto& key : keys_of(unknown))
      for (const auto& value : values) {
        CAPTURE(kind, key, to_text(value).substr(0, 40));
        auto with = request(kind);
        with.distribution_specification[key] = value;
        check(with);
      }
  }
}
