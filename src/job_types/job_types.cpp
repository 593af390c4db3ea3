// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "job_types/table.h"

namespace trainstep::job_types {

const std::vector<JobType>& all() {
  static const std::vector<JobType> types{job::type(), pytorch::type(), mpi::type(), tf::type()};
  return types;
}

std::vector<plan::JobTypeTraits> traits() {
  std::vector<plan::JobTypeTraits> result;
  for (const auto& job_type : all()) result.push_back(job_type.traits);
  return result;
}

const JobType& find(std::string_view name) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const JobType& job_type) { return job_type.traits.name == name; });
  if (found == all().end()) std::abort();
  return *found;
}

bool is_refusal(std::string_view reason) {
  return std::ranges::any_of(all(), [&](const JobType& job_type) { return std::ranges::find(job_type.refusals, reason) != job_type.refusals.end(); });
}

std::string launcher_job(const Resource& resource, const std::string& job_name) { return resource.has_launcher_job ? job_name + "-launcher" : ""; }

namespace {

// The replica types of all job types.
const std::vector<std::string>& known_types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> all_types;
    for (const auto& job_type : all())
      for (const auto& type : job_type.replica_types)
        if (std::ranges::find(all_types, type) == all_types.end()) all_types.emplace_back(type);
    return all_types;
  }();
  return types;
}

// "worker-3", or "worker-3.1" if one replica has several processes.
bool names_replica(const std::string& name) {
  const auto dash = name.find('-');
  const auto type = name.substr(0, dash);
  const bool known = std::ranges::any_of(known_types(), [&](const std::string& other) { return lower(other) == type; });
  return known && (dash == std::string::npos || (dash + 1 < name.size() && name.find_first_not_of("0123456789.", dash + 1) == std::string::npos));
}

// False if the job has replicas of that type, but not this one.
bool may_be_there(const plan::Plan& plan, const std::string& name) {
  const auto type = name.substr(0, name.find('-'));
  const auto base = name.substr(0, name.find('.'));
  for (const auto& replicas : find(plan.job_type).replicas(plan)) {
    if (lower(replicas.type) != type) continue;
    for (int index = 0; index < replicas.count; ++index)
      if (replica_name(replicas, index) == base) return true;
    return false;
  }
  return true;
}

// "master-0, worker-0 to worker-7"
std::string replicas_there(const plan::Plan& plan) {
  std::string all;
  for (const auto& replicas : find(plan.job_type).replicas(plan))
    all += fmt::format("{}{}{}", all.empty() ? "" : ", ", replica_name(replicas, 0),
                       replicas.count > 1 ? " to " + replica_name(replicas, replicas.count - 1) : "");
  return all;
}

Result<void> check_logs(const plan::Plan& plan) {
  for (const auto& name : plan.options.logs)
    if (name != "all" && name != "primary" && name != "none" && !names_replica(name))
      return input_error(fmt::format("job_options.logs: \"{}\" is not a replica; write all, primary, none or names such as {}", name,
                                     replica_name(find(plan.job_type).replicas(plan).back(), 0)));
    else if (!may_be_there(plan, name))
      return input_error(fmt::format("job_options.logs: unknown replica {}; expected one of {}", name, replicas_there(plan)));
  return {};
}

}  // namespace

Result<void> check_options(const plan::Plan& plan) {
  const auto& known = known_types();
  std::vector<std::string> possible;
  for (const auto& replica : find(plan.job_type).replicas(plan)) possible.push_back(replica.type);
  for (const auto& [type, options] : plan.options.replicas) {
    if (std::ranges::find(possible, type) != possible.end()) continue;
    const bool exists = std::ranges::find(known, type) != known.end();
    const auto meant = exists ? std::nullopt : nearest(type, known);
    return input_error(fmt::format("job_options.replicas.{}: {} replica type{}; this {} has {}{}", type, exists ? "no such" : "unknown",
                                   meant ? fmt::format(" (did you mean {}?)", *meant) : "", plan.job_type, join(possible, ", "),
                                   exists ? "; options at the top level apply to all replicas" : ""));
  }
  return check_logs(plan);
}

std::vector<std::string> logs_of_other_types(const plan::Plan& plan) {
  auto names = plan.options.logs;
  std::erase_if(names, [&](const std::string& name) {
    const auto is_of = [type = name.substr(0, name.find('-'))](const Replicas& replicas) { return lower(replicas.type) == type; };
    return !names_replica(name) || std::ranges::any_of(find(plan.job_type).replicas(plan), is_of);
  });
  return names;
}

std::string replica_name(const Replicas& replicas, int index) {
  return replicas.numbered ? fmt::format("{}-{}", lower(replicas.type), index) : lower(replicas.type);
}

std::string replica_counts(const plan::Plan& plan) {
  std::vector<std::string> counts;
  for (const auto& replicas : find(plan.job_type).replicas(plan)) counts.push_back(fmt::format("{} {}", replicas.count, replicas.type));
  return join(counts, ", ");
}

}  // namespace trainstep::job_types
