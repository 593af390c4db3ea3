// A watch before a collection that changes at random, over connections that fail at random: what it has told is in the end what is true.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>

#include "kube/watch.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace trainstep::kube::test;

namespace {

using Mirror = std::map<std::string, std::string>;  // name → version

// An API server with one collection: its history, of which only the newest part is kept.
class Collection {
 public:
  explicit Collection(std::uint64_t seed) : m_random(seed) { change(); }

  [[nodiscard]] const Mirror& truth() const { return m_truth; }
  void quiet() { m_quiet = true; }

  Reply answer(const FakeTransport::Asked& asked) {
    if (!m_quiet && below(6) == 0) return fault();
    m_refused = false;
    if (asked.query("watch") == "true") return watch(std::stoul(asked.query("resourceVersion")));
    return list(asked);
  }

 private:
  struct Change {
    std::string type;
    Json object;
  };

  std::size_t below(std::size_t bound) { return m_random() % bound; }

  Json pod(const std::string& name) const {
    return {{"kind", "Pod"}, {"apiVersion", "v1"}, {"metadata", {{"name", name}, {"resourceVersion", std::to_string(m_version)}}}};
  }

  void change() {
    ++m_version;
    const auto name = "p" + std::to_string(below(6));
    const auto known = m_truth.contains(name);
    const auto type = !known ? "ADDED" : below(2) == 0 ? "DELETED" : "MODIFIED";
    m_history[m_version] = {type, pod(name)};
    if (std::string_view(type) == "DELETED")
      m_truth.erase(name);
    else
      m_truth[name] = std::to_string(m_version);
    while (m_history.size() > 8) m_history.erase(m_history.begin());  // compaction
  }

  Reply fault() {
    switch (below(5)) {
      case 0:
        return Reply::lost();
      case 1:
        return Reply::text("", 503);
      case 2:
        return std::exchange(m_refused, true) ? Reply::lost() : Reply::text("", 401);  // two in a row would end the watch
      case 3:
        return refusal(410, "Expired", "too old");
      default:
        return Reply::text("<html>", 429);
    }
  }

  Reply list(const FakeTransport::Asked& asked) {
    if (!m_quiet && below(4) == 0) change();
    if (asked.query("continue").empty()) m_snapshot = {m_version, m_truth};
    // Two to a page.
    Json items = Json::array();
    auto at = m_snapshot.second.upper_bound(asked.query("continue"));
    for (int i = 0; i < 2 && at != m_snapshot.second.end(); ++i, ++at)
      items.push_back({{"metadata", {{"name", at->first}, {"resourceVersion", at->second}}}});
    Json metadata{{"resourceVersion", std::to_string(m_snapshot.first)}};
    if (at != m_snapshot.second.end()) metadata["continue"] = std::prev(at)->first;
    return Reply::text(to_text(Json{{"kind", "PodList"}, {"apiVersion", "v1"}, {"metadata", metadata}, {"items", items}}));
  }

  static std::string line(const std::string& type, const Json& object) { return to_text(Json{{"type", type}, {"object", object}}) + "\n"; }

  // Everything since `version`, some of it twice, with changes that happen meanwhile; then an end of some sort, after bytes cut at random.
  Reply watch(unsigned long version) {
    if (m_history.begin()->first > version + 1) return refusal(410, "Expired", "too old");
    std::string bytes;
    const auto tell_since = [&](unsigned long since) {
      for (auto at = m_history.upper_bound(since); at != m_history.end(); ++at)
        for (auto times = m_quiet || below(5) != 0 ? 1 : 2; times > 0; --times) bytes += line(at->second.type, at->second.object);
    };
    tell_since(version);
    for (auto changes = m_quiet ? 0 : below(4); changes > 0; --changes) {
      const auto before = m_version;
      change();
      tell_since(before);
    }
    Reply reply{.end = m_quiet ? Reply::End::open : below(2) == 0 ? Reply::End::cut : Reply::End::whole};
    if (!m_quiet) spoil(bytes);
    for (std::size_t at = 0; at < bytes.size();) {
      const auto length = 1 + below(200);
      reply.pieces.push_back({Duration(static_cast<int>(below(50))), bytes.substr(at, length)});
      at += length;
    }
    return reply;
  }

  void spoil(std::string& bytes) {
    switch (below(6)) {
      case 0:
        bytes += line("BOOKMARK", pod(""));
        break;
      case 1:
        bytes += line("ERROR", parse_json(status_text(410, "Expired", "too old"), "status").value());
        break;
      case 2:
        bytes += line("ERROR", parse_json(status_text(500, "InternalError", "oops"), "status").value());
        break;
      case 3:
        bytes += "{\"type\":\"ADDED\",\"obj\n";
        break;
      case 4:
        bytes.resize(below(bytes.size() + 1));
        break;
      default:
        break;
    }
    if (below(3) == 0) change();  // that is not sent on this connection
  }

  std::mt19937_64 m_random;
  unsigned long m_version = 0;
  Mirror m_truth;
  std::pair<unsigned long, Mirror> m_snapshot;
  std::map<unsigned long, Change> m_history;
  bool m_quiet = false;
  bool m_refused = false;
};

std::pair<std::string, std::string> entry(const Json& object) {
  const auto& metadata = object.at("metadata");
  return {metadata.at("name").get<std::string>(), metadata.at("resourceVersion").get<std::string>()};
}

void converges(std::uint64_t seed) {
  Harness h(seed);
  Collection collection(seed);
  h.server.serve([&](const auto& asked) { return collection.answer(asked); });
  Mirror mirror;
  bool failed = false;
  const Watch watch(*h.client, {.path = {"v1", "pods", "ns", "", ""}},
                    {.synced =
                         [&](const auto& items) {
                           mirror.clear();
                           for (const auto& item : items) mirror.insert(entry(item));
                         },
                     .changed = [&](const auto& object) { mirror[entry(object).first] = entry(object).second; },
                     .deleted = [&](const auto& object) { mirror.erase(entry(object).first); },
                     .failed = [&](const auto&) { failed = true; }});
  h.loop.run(6s);
  collection.quiet();
  h.loop.run(60s);
  INFO("seed " << seed);
  REQUIRE_FALSE(failed);
  REQUIRE(mirror == collection.truth());
}

}  // namespace

TEST_CASE("whatever faults occur, a watch finally reports the actual state", "[native]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) converges(seed);
}

TEST_CASE("the same, for long", "[.soak]") {
  for (std::uint64_t seed = 1000; seed < 11'000; ++seed) converges(seed);
}
