// SPDX-License-Identifier: Apache-2.0
#include "cluster/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>

#include "base/text.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "job_types/object.h"

namespace trainstep::cluster {
namespace {

constexpr Duration jobs_timeout{10'000};
constexpr int max_unexpected_lists = 5;       // consecutive ones, not from an API server
constexpr std::size_t max_name_length = 253;  // of any Kubernetes object

// Lists one resource after the other; a resource that is not served has no jobs.
struct Search {
  std::vector<job_types::Resource> resources;
  Found found;
  std::size_t seen = 0;
  int odd_answers = 0;
  std::string name_space;
  std::function<void(Result<Found>)> done;
};

// The others are not waited for as long as the first.
bool is_away(const Found& found) {
  return std::ranges::any_of(found.hidden, [](const Error& error) { return error.kind == ErrorKind::unavailable; });
}

bool has(const Found& found, const std::string& uid) {
  return !uid.empty() && std::ranges::any_of(found.jobs, [&](const Submitted& job) { return uid_of(job.object) == uid; });
}

void next(kube::Client& client, const std::shared_ptr<Search>& search);

void take(kube::Client& client, const std::shared_ptr<Search>& search, const job_types::Resource& resource, kube::Answer answer) {
  auto& found = search->found;
  const bool not_served = !answer && kube::tells_not_served(answer.error());
  const bool odd = !answer && !not_served && answer.error().status == 404;  // from a gateway, which says nothing about it
  if (odd && ++search->odd_answers <= max_unexpected_lists)
    return client.loop().after(client.pause(search->odd_answers), [&client, search] { next(client, search); });
  search->odd_answers = 0;
  if (odd) answer.error().error.kind = ErrorKind::unavailable;
  search->resources.erase(search->resources.begin());
  if (answer || not_served) ++search->seen;
  if (!answer && !not_served) found.hidden.push_back(std::move(answer.error().error));
  const auto* items = answer ? at(&*answer, "items") : nullptr;
  if (items != nullptr && items->is_array())
    for (const auto& item : *items)
      if (!has(found, uid_of(item))) found.jobs.push_back({resource, item, true});
  next(client, search);
}

// The preferred version of a resource comes first.
void next(kube::Client& client, const std::shared_ptr<Search>& search) {
  if (search->resources.empty()) {
    if (search->seen == 0 && !search->found.hidden.empty()) return search->done(std::move(search->found.hidden.front()));
    return search->done(std::move(search->found));
  }
  const auto resource = search->resources.front();
  const kube::Path path{std::string(resource.group_version), std::string(resource.plural), search->name_space, "", ""};
  client
      .list(path, {{"labelSelector", jobs_selector()}}, {is_away(search->found) ? Duration(0) : jobs_timeout},
            [&client, search, resource](auto answer) { take(client, search, resource, std::move(answer)); })
      .detach();
}

bool is_of(const Json& object, const std::string& run) {
  const auto* metadata = metadata_of(object);
  return text(metadata, "name") == run || text(at(metadata, "labels"), run_label) == run;
}

}  // namespace

void find_jobs(kube::Client& client, const std::string& name_space, std::function<void(Result<Found>)> done) {
  const auto search = std::make_shared<Search>();
  for (const auto& job_type : job_types::all())
    search->resources.insert(search->resources.end(), job_type.resources.begin(), job_type.resources.end());
  search->name_space = name_space;
  search->done = std::move(done);
  next(client, search);
}

std::string Found::what_is_hidden() const {
  std::vector<std::string> messages;
  for (const auto& problem : hidden)  // a resource has one name in all its versions
    if (std::ranges::find(messages, problem.message) == messages.end()) messages.push_back(problem.message);
  return messages.empty() ? "" : "cannot list all job types: " + join(messages, "; ");
}

// "pytorchjobs" of "pytorchjobs/train-1"; empty: it names no resource of ours.
std::string_view resource_of(std::string_view run) {
  const auto plural = run.substr(0, std::min(run.find('/'), run.size()));
  const bool known = plural.size() < run.size() &&
                     std::ranges::any_of(
                         job_types::all(),
                         [&](const job_types::JobType& job_type) {
                           return std::ranges::find(job_type.resources, plural, &job_types::Resource::plural) != job_type.resources.end();
                         });
  return known ? plural : std::string_view();
}

Result<void> check_run(std::string_view run) {
  if (const auto plural = resource_of(run); !plural.empty()) run.remove_prefix(plural.size() + 1);
  const auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'; };
  if (!run.empty() && run.size() <= max_name_length && std::ranges::all_of(run, allowed)) return {};
  if (trim(run).empty()) return usage_error("RUN is empty; pass a run id or job name (see trainstep list)");
  return usage_error(fmt::format("\"{}\" is not a valid run id or job name; see trainstep list", run.substr(0, 100)));
}

Result<Submitted> choose(Found found, const std::string& run, const std::string& name_space) {
  TRY(check_run(run));
  const auto name_of = [](const Submitted& job) { return text(metadata_of(job.object), "name"); };
  const auto plural = resource_of(run);
  const auto name = plural.empty() ? run : run.substr(plural.size() + 1);
  std::erase_if(found.jobs, [&](const Submitted& job) {
    return plural.empty() ? !is_of(job.object, run) : job.resource.plural != plural || name_of(job) != name;
  });
  const auto is_its_name = [&](const Submitted& job) { return name_of(job) == name; };
  if (std::ranges::count_if(found.jobs, is_its_name) == 1) std::erase_if(found.jobs, std::not_fn(is_its_name));
  if (found.jobs.size() > 1) {
    std::string names;
    for (const auto& job : found.jobs) names += fmt::format("{}{}/{}", names.empty() ? "" : ", ", job.resource.plural, name_of(job));
    return Error{ErrorKind::conflict, fmt::format("{} jobs belong to run \"{}\"; use the name of one: {}", found.jobs.size(), run, names)};
  }
  if (!found.jobs.empty()) return std::move(found.jobs.front());
  const auto hidden = found.what_is_hidden();
  const std::string elsewhere = "; see trainstep list; if the job is in another namespace or cluster, pass its --namespace and --context";
  return Error{found.hidden.empty() ? ErrorKind::not_found : found.hidden.front().kind,
               fmt::format("no job of run \"{}\" in namespace {}{}", run, name_space, hidden.empty() ? elsewhere : "; " + hidden)};
}

Result<plan::Plan> plan_of(const Submitted& job) {
  const auto is_its = [&](const job_types::JobType& job_type) {
    return std::ranges::any_of(job_type.resources, [&](const job_types::Resource& one) {
      return one.plural == job.resource.plural && one.group_version == job.resource.group_version;
    });
  };
  const auto job_type = std::ranges::find_if(job_types::all(), is_its);
  if (job_type == job_types::all().end()) return input_error(fmt::format("{} is not a known job type", job.resource.plural));
  const auto* metadata = at(&job.object, "metadata");
  plan::Plan plan;
  plan.job_type = job_type->traits.name;
  plan.launches_ranks = job_type->traits.launches_ranks;
  plan.job_name = text(metadata, "name");
  plan.name_space = text(metadata, "namespace");
  plan.run_id = text(at(metadata, "labels"), run_label);
  plan.spec_hash = text(at(metadata, "annotations"), job_types::spec_hash_annotation);
  plan.distribution.type = plan.job_type;
  job_type->read_distribution(job.object, plan.distribution);
  return plan;
}

Result<std::vector<result::MetricDefinition>> metrics_of(const Submitted& job) {
  const auto written = text(at(metadata_of(job.object), "annotations"), job_types::metrics_annotation);
  const auto where = fmt::format("its annotation {}", job_types::metrics_annotation);
  if (written.empty()) return std::vector<result::MetricDefinition>();
  ASSIGN(const auto list, parse_json(written, where));
  ASSIGN(auto options, in_context(where, plan::parse_options({{"metrics", list}})));
  return std::move(options.metrics);
}

Facts facts_of(const Submitted& job) {
  Facts facts = read_facts(job.object);  // owners and namespace have the same form on pods and jobs
  facts.pod.clear();
  facts.pod_uid.clear();
  facts.began.reset();
  return facts;
}

}  // namespace trainstep::cluster
