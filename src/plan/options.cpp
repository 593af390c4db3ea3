// SPDX-License-Identifier: Apache-2.0
#include "plan/options.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "data/fields.h"
#include "data/secrets.h"
#include "plan/labels.h"
#include "plan/memory.h"
#include "plan/names.h"
#include "plan/pod_options.h"
#include "plan/task.h"

namespace trainstep::plan {
namespace {

// "90", "90s", "10m", "1h30m", "2d"
Result<Duration> parse_duration(std::string_view text, std::string_view what) {
  const auto wrong = [&] {
    return input_error(fmt::format("{}: \"{}\" is not a valid duration; write seconds, or 90s, 10m, 2h, 1h30m, 3d", what, text));
  };
  auto rest = trim(text);
  double seconds = 0;
  bool units = false;
  constexpr std::size_t max_text_length = 64;
  if (rest.size() > max_text_length) return input_error(fmt::format("{}: {}… is not a valid duration", what, rest.substr(0, max_text_length)));
  if (rest.empty()) return wrong();
  while (!rest.empty()) {
    double number = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (code != std::errc{} || number < 0) return wrong();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    constexpr std::string_view letters = "smhd";
    constexpr std::array<double, 4> factors{1, 60, 3600, 86400};
    if (rest.empty() && units) return wrong();  // 1h30: seconds or minutes?
    const auto unit = rest.empty() ? 0 : letters.find(rest.front());
    if (unit == std::string_view::npos) return wrong();
    if (!rest.empty()) rest.remove_prefix(1);
    units = true;
    seconds += number * factors.at(unit);
  }
  constexpr double longest = 10.0 * 365 * 86400;
  if (!(seconds <= longest)) return input_error(fmt::format("{}: \"{}\" is longer than ten years", what, text));
  return Duration(std::llround(seconds * 1000));
}

Result<Duration> parse_lease(std::string_view text, std::string_view what) {
  if (trim(text) == "off") return Duration(0);
  ASSIGN(const auto length, parse_duration(text, what));
  if (length > Duration(0) && length < shortest_lease)
    return input_error(fmt::format("{}: \"{}\" is shorter than 3m; write 0 or off for none", what, trim(text)));
  return length;
}

RunPolicy read_run_policy(Fields& parent) {
  RunPolicy policy;
  const auto object = parent.object("run_policy");
  if (!object) return policy;
  Fields fields(*object, parent.path("run_policy"));
  policy.restart_policy = fields.choice("restart_policy", {"Never", "OnFailure", "ExitCode", "Always"}).value_or(policy.restart_policy);
  policy.backoff_limit = static_cast<int>(fields.integer("backoff_limit", 0, 1'000'000).value_or(policy.restart_policy == "Never" ? 0 : 3));
  policy.active_deadline = fields.parsed("active_deadline", parse_duration);
  policy.ttl_after_finished = fields.parsed("ttl_after_finished", parse_duration);
  policy.clean_pod_policy = fields.choice("clean_pod_policy", {"All", "Running", "None"}).value_or(policy.clean_pod_policy);
  policy.suspend = fields.boolean("suspend").value_or(false);
  policy.stop_grace = fields.parsed("stop_grace", parse_duration).value_or(policy.stop_grace);
  if (auto done = fields.done(); !done) parent.fail(done.error());
  return policy;
}

// Default TTL of a week, which removes a finished job that no attempt of the step adopts; a week is long enough for any attempt. Not for queued jobs:
// training-operators before 1.8.1 cannot suspend a job with a TTL (training-operator#2239).
void set_backstop(JobOptions& options) {
  constexpr Duration week = std::chrono::hours(7 * 24);
  auto& policy = options.run_policy;
  policy.ttl_is_default = !policy.ttl_after_finished && options.cleanup != "never" && options.queue.empty() && !policy.suspend;
  if (policy.ttl_is_default) policy.ttl_after_finished = week;
}

Limits read_limits(Fields& parent) {
  Limits limits;
  const auto object = parent.object("limits");
  if (!object) return limits;
  Fields fields(*object, parent.path("limits"));
  limits.queued = fields.parsed("queued", parse_duration);
  limits.scheduling = fields.parsed("scheduling", parse_duration);
  limits.starting = fields.parsed("starting", parse_duration);
  limits.running = fields.parsed("running", parse_duration);
  limits.finishing = fields.parsed("finishing", parse_duration);
  limits.total = fields.parsed("total", parse_duration);
  if (auto done = fields.done(); !done) parent.fail(done.error());
  return limits;
}

void read_replicas(Fields& parent, JobOptions& options) {
  const auto object = parent.object("replicas");
  if (!object) return;
  for (const auto& [type, value] : object->items()) {
    Fields fields(value, parent.path("replicas") + "." + type);
    auto pod = read_pod_options(fields);
    pod.image = fields.text("image").value_or("");
    if (auto done = fields.done(); !done) parent.fail(done.error());
    options.replicas.emplace(type, std::move(pod));
  }
}

// "all", "worker-0, worker-3" or a list.
std::optional<std::vector<std::string>> read_logs(Fields& fields) {
  const auto value = fields.any("logs");
  if (!value || is_blank(*value)) return std::nullopt;
  if (value->is_array()) return fields.texts("logs");
  const auto text = fields.text("logs");
  if (!text) return std::nullopt;
  std::vector<std::string> names;
  for (const auto part : split(*text, ','))
    if (!trim(part).empty()) names.emplace_back(trim(part));
  return names;
}

// One entry of `metrics`; keys may also be spelled as in SageMaker. The values are checked by check_definitions().
std::optional<result::MetricDefinition> read_metric(const Json& entry, const std::string& place, Fields& parent) {
  Fields fields(entry, place);
  const auto either = [&](const char* key, const char* capital) { return !fields.has(key) && fields.has(capital) ? capital : key; };
  const auto* const name_key = either("name", "Name");
  const auto* const regex_key = either("regex", "Regex");
  const auto name = fields.text(name_key);
  const auto regex = fields.text(regex_key);
  for (const auto* key : {name_key, regex_key})
    if (!fields.has(key)) fields.fail(input_error(fields.path(key) + ": is missing"));
  if (auto done = fields.done(); !done) {
    parent.fail(done.error());
    return std::nullopt;
  }
  return result::MetricDefinition{name.value_or(""), regex.value_or("")};
}

std::vector<result::MetricDefinition> read_metrics(Fields& parent) {
  std::vector<result::MetricDefinition> definitions;
  const auto list = parent.list("metrics").value_or(Json::array());
  for (std::size_t i = 0; i < list.size(); ++i)
    if (auto definition = read_metric(list[i], fmt::format("{}[{}]", parent.path("metrics"), i), parent))
      definitions.push_back(std::move(*definition));
  if (definitions.size() < list.size()) return {};  // the error of an entry would name the wrong index
  if (const auto checked = result::check_definitions(definitions); !checked)
    parent.fail(input_error(parent.path("metrics") + checked.error().message));
  return definitions;
}

// A LocalQueue's name is also the value of a label of the job.
Result<void> check_queue(const std::string& place, const std::string& queue) {
  if (queue.empty() || (is_subdomain(queue) && is_label_value(queue))) return {};
  return input_error(
      fmt::format("{}: {} is not the name of a LocalQueue: use lower-case letters, digits, dashes and dots, starting and ending with a "
                  "letter or digit, at most 63",
                  place, shown_value(place, Json(queue))));
}

}  // namespace

Result<JobOptions> parse_options(const Json& json) {
  Fields fields(json, "job_options");
  JobOptions options;
  options.component = fields.text("component").value_or("");
  options.all = read_pod_options(fields);
  read_replicas(fields, options);
  options.pass_environment = fields.texts("pass_environment").value_or(std::vector<std::string>{});
  options.gpu_resource = fields.text("gpu_resource").value_or(options.gpu_resource);
  if (auto checked = check_resource_name(fields.path("gpu_resource"), options.gpu_resource); !checked) fields.fail(std::move(checked.error()));
  options.queue = fields.text("queue").value_or("");
  if (auto checked = check_queue(fields.path("queue"), options.queue); !checked) fields.fail(std::move(checked.error()));
  options.gang = fields.object("gang").value_or(Json(nullptr));
  options.shared_memory = fields.parsed("shared_memory", parse_memory);
  options.run_policy = read_run_policy(fields);
  options.limits = read_limits(fields);
  options.logs = read_logs(fields).value_or(std::vector<std::string>{});
  options.metrics = read_metrics(fields);
  options.reattach = fields.choice("reattach", {"always", "unfinished", "never"}).value_or(options.reattach);
  options.cleanup = fields.choice("cleanup", {"default", "always", "on_success", "never"}).value_or(options.cleanup);
  set_backstop(options);
  options.lease = fields.parsed("lease", parse_lease);
  options.on_eviction = fields.choice("on_eviction", {"default", "keep", "delete"}).value_or(options.on_eviction);
  options.checkpoint_dir = fields.text("checkpoint_dir").value_or("");
  if (!options.checkpoint_dir.empty() && !options.checkpoint_dir.starts_with('/'))
    fields.fail(input_error(fmt::format("{}: \"{}\" is not an absolute path; write one such as /train/checkpoints", fields.path("checkpoint_dir"),
                                        options.checkpoint_dir.substr(0, 100))));
  options.single_node = fields.boolean("single_node");
  options.agent_image = fields.text("agent_image").value_or("");
  options.patch = fields.any("patch").value_or(Json(nullptr));
  if (is_blank(options.patch)) options.patch = nullptr;
  if (!options.patch.is_null() && !options.patch.is_structured())
    fields.fail(input_error(fields.path("patch") + ": expected an object (RFC 7396 merge patch) or a list (RFC 6902 patch)"));
  TRY(fields.done());
  return options;
}

PodOptions options_for(const JobOptions& options, const std::string& replica_type) {
  const auto found = options.replicas.find(replica_type);
  return found == options.replicas.end() ? options.all : overlaid(options.all, found->second);
}

}  // namespace trainstep::plan
