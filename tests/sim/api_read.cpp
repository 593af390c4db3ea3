// get and list; pod logs.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "sim/api_server.h"
#include "sim/operators.h"

namespace trainstep::sim {
namespace {

std::uint64_t number_in(std::string_view text, std::uint64_t otherwise) {
  std::uint64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whole seconds count, as the kubelet has it.
Time since_time(std::string_view text) { return Time{std::chrono::seconds(seconds_of(text))}; }

const Json* container_status(const Json& pod, std::string_view container) {
  for (const auto* list : {"containerStatuses", "initContainerStatuses"}) {
    const auto* statuses = dig(pod, {"status", list});
    if (statuses == nullptr) continue;
    for (const auto& status : *statuses)
      if (text_at(status, {"name"}) == container) return &status;
  }
  return nullptr;
}

std::vector<std::string> containers_of(const Json& pod) {
  std::vector<std::string> names;
  for (const auto* list : {"containers", "initContainers"}) {
    const auto* containers = dig(pod, {"spec", list});
    if (containers == nullptr) continue;
    for (const auto& container : *containers) names.emplace_back(text_at(container, {"name"}));
  }
  return names;
}

Reply bad_log(const std::string& why) { return failure(400, "BadRequest", why); }

}  // namespace

Past ApiServer::past(const Target& to) const {
  const auto lag = m_options.lag ? m_options.lag(*to.resource, !to.name.empty()) : Duration{0};
  return {m_store, m_store.loop().now() - lag};
}

Reply ApiServer::get(const Target& to, bool metadata_only) const {
  const auto object = m_options.lag ? past(to).find(*to.resource, to.name_space, to.name) : m_store.find(*to.resource, to.name_space, to.name);
  if (object == nullptr) return not_found(*to.resource, to.name);
  return {200, (metadata_only ? object->metadata_text() : object->text()) + "\n"};
}

// The token is the number of the first page's state and the last name given. Later pages show the present, with the first page's number: a watch from
// there tells what changed in between.
Reply ApiServer::list(Call request, const Target& to, bool metadata_only) const {
  const Selector selector(asked(request, "labelSelector"), asked(request, "fieldSelector"));
  const auto limit = number_in(asked(request, "limit"), 0);
  const auto then = m_options.lag ? std::optional(past(to)) : std::nullopt;
  auto number = then ? then->number() : m_store.number();
  std::string after;
  if (const auto token = asked(request, "continue"); !token.empty()) {
    number = number_in(token, 0);
    after = token.substr(std::min(token.size(), token.find(':') + 1));
    if (number < m_store.compacted())
      return failure(410, "Expired",
                     "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
                     "parameter, or use the continue token in this response to retrieve the remainder of the results.");
  }
  std::string items, last;
  std::uint64_t count = 0, remaining = 0;
  for (const auto& version : then ? then->list(*to.resource, to.name_space) : m_store.list(*to.resource, to.name_space)) {
    if (version->name() <= after || !selector.matches(version->object)) continue;
    if (limit != 0 && count == limit) {
      ++remaining;
      continue;
    }
    if (count++ != 0) items += ",";
    items += metadata_only ? version->metadata_text() : version->item_text();
    last = version->name();
  }
  Json metadata = {{"resourceVersion", std::to_string(number)}};
  if (remaining != 0) {
    metadata["continue"] = fmt::format("{}:{}", number, last);
    metadata["remainingItemCount"] = remaining;
  }
  const auto kind = metadata_only ? std::string("PartialObjectMetadataList") : to.resource->kind + "List";
  const auto version = metadata_only ? std::string("meta.k8s.io/v1") : to.resource->group_version;
  return {200, fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[{}]}})", kind, version, metadata.dump(), items) + "\n"};
}

void ApiServer::log(Call request, const Target& to, const WirePtr& wire) {
  if (auto trouble = m_options.log_trouble ? m_options.log_trouble(*to.resource, to.name) : std::nullopt) return reply(wire, *trouble);
  const auto pod = m_store.find(*to.resource, to.name_space, to.name);
  if (pod == nullptr || (m_options.lag && past(to).find(*to.resource, to.name_space, to.name) == nullptr))
    return reply(wire, not_found(*to.resource, to.name));
  const auto names = containers_of(pod->object);
  auto container = std::string(asked(request, "container"));
  if (container.empty() && !names.empty()) container = names.front();
  if (std::find(names.begin(), names.end(), container) == names.end())
    return reply(wire, bad_log(fmt::format("container {} is not valid for pod {}", container, to.name)));
  if (text_at(pod->object, {"spec", "nodeName"}).empty()) return reply(wire, {204, ""});  // without a place: no log, no error
  if (text_at(pod->object, {"status", "reason"}) == "NodeLost")
    return reply(wire,
                 failure(500, "InternalError",
                         fmt::format("Get \"https://10.0.0.3:10250/containerLogs/{}/{}/{}\": dial tcp 10.0.0.3:10250: connect: no route to host",
                                     to.name_space, to.name, container)));
  const auto* status = container_status(pod->object, container);
  const bool previous = asked(request, "previous") == "true";
  // Between two attempts (CrashLoopBackOff) the last one is both the current and the previous.
  const bool between = status != nullptr && dig(*status, {"state", "waiting"}) != nullptr && dig(*status, {"lastState", "terminated"}) != nullptr;
  const auto attempt = static_cast<int>(status == nullptr ? 0 : number_at(*status, {"restartCount"})) - (previous && !between ? 1 : 0);
  if (previous && attempt < 0)
    return reply(wire, bad_log(fmt::format("previous terminated container \"{}\" in pod \"{}\" not found", container, to.name)));
  LogKey key{std::string(pod->uid()), container, attempt};
  if (!m_logs.has(key)) {
    const auto reason = status == nullptr ? std::string_view("ContainerCreating") : text_at(*status, {"state", "waiting", "reason"});
    const auto why = reason == "ImagePullBackOff" || reason == "ErrImagePull" ? std::string("trying and failing to pull image")
                     : reason.empty()                                         ? std::string("ContainerCreating")
                                                                              : std::string(reason);
    return reply(wire, bad_log(fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}", container, to.name, why)));
  }
  const auto since = asked(request, "sinceTime");
  wire->open(200, {{"Content-Type", "text/plain"}, {"Transfer-Encoding", "chunked"}});
  m_logs.read(key, since.empty() ? Time::min() : since_time(since),
              static_cast<std::size_t>(number_in(asked(request, "tailLines"), std::numeric_limits<std::uint64_t>::max())),
              asked(request, "follow") == "true",
              {[wire](std::string_view bytes) { wire->send(bytes); }, [wire] { wire->close(); }, [wire] { return wire->closed(); },
               asked(request, "timestamps") == "true"});
}

}  // namespace trainstep::sim
