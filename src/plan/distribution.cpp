// SPDX-License-Identifier: Apache-2.0
#include "plan/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/fields.h"
#include "plan/memory.h"
#include "plan/mounts.h"

namespace trainstep::plan {
namespace {

constexpr int max_workers = 10'000;

std::optional<int> small(std::optional<std::int64_t> number) { return number ? std::optional(static_cast<int>(*number)) : std::nullopt; }

std::optional<Elastic> read_elastic(Fields& parent) {
  const auto object = parent.object("elastic");
  if (!object) return std::nullopt;
  Fields fields(*object, parent.path("elastic"));
  Elastic elastic;
  elastic.min = small(fields.integer("min", 1, max_workers)).value_or(1);
  elastic.max = small(fields.integer("max", 1, max_workers)).value_or(elastic.min);
  elastic.max_restarts = small(fields.integer("max_restarts", 0, 1'000'000));
  if (elastic.max < elastic.min)
    fields.fail(input_error(fmt::format("{}: {} is less than the {} of {}", fields.path("max"), elastic.max, fields.path("min"), elastic.min)));
  if (auto done = fields.done(); !done) parent.fail(done.error());
  return elastic;
}

// An empty argument would change the meaning of its neighbors, as would dropping it.
void check_arguments(const Json& arguments, Fields& fields) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].is_null() || is_blank(arguments[i]))
      fields.fail(input_error(fmt::format("{}[{}]: is empty; omit it", fields.path("mpirun_arguments"), i)));
}

using Types = std::vector<JobTypeTraits>;

// "PyTorch, MPI"
template <typename Predicate>
std::string names_of(const Types& types, Predicate wanted) {
  std::string names;
  for (const auto& type : types)
    if (wanted(type)) names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
  return names;
}

bool has_key(const JobTypeTraits& type, std::string_view key) { return std::ranges::find(type.keys, key) != type.keys.end(); }

// Keys that only other job types have are errors, so that they are not silently ignored.
Result<void> check_keys(const Fields& fields, const JobTypeTraits& chosen, const Types& types) {
  for (const auto& type : types)
    for (const auto& key : type.keys)
      if (fields.has(key) && !has_key(chosen, key))
        return input_error(fmt::format("{}: not supported with distribution_type \"{}\", only with {}; omit it or change the type", fields.path(key),
                                       chosen.name, names_of(types, [&](const auto& other) { return has_key(other, key); })));
  return {};
}

Result<void> check_type(const Fields& fields, const Distribution& d, const Types& types) {
  const auto& chosen = *std::ranges::find(types, d.type, &JobTypeTraits::name);
  TRY(check_keys(fields, chosen, types));
  if (d.parameter_servers == 0)
    for (const auto* key : {"parameter_server_cpus", "parameter_server_memory", "chief_cpus", "chief_memory"})
      if (fields.has(key)) return input_error(fmt::format("{}: requires parameter servers, but number_of_parameter_servers is 0", fields.path(key)));
  if (chosen.one_pod && d.workers > 1 && !d.indexed)
    return input_error(
        fmt::format("{}: got {}, but a {} is one pod; choose a distributed distribution_type ({}), or \"indexed\": true for {} independent pods",
                    fields.path("number_of_workers"), d.workers, d.type, names_of(types, [](const auto& type) { return !type.one_pod; }), d.workers));
  if (d.elastic && d.workers_given && (d.workers < d.elastic->min || d.workers > d.elastic->max))
    return input_error(fmt::format("{}: is {}, not between {} of {} and {} of {}", fields.path("number_of_workers"), d.workers,
                                   fields.path("elastic.min"), d.elastic->min, fields.path("elastic.max"), d.elastic->max));
  return {};
}

}  // namespace

Result<Distribution> parse_distribution(const Json& specification, const std::vector<JobTypeTraits>& types) {
  Fields fields(specification, "distribution_specification");
  Distribution d;
  std::vector<std::string> names;
  names.reserve(types.size());
  for (const auto& type : types) names.emplace_back(type.name);
  const auto type = fields.choice("distribution_type", names);
  d.type_given = type.has_value();
  d.type = type.value_or(names.front());
  const auto workers = small(fields.integer("number_of_workers", 1, max_workers));
  d.workers_given = workers.has_value();
  d.worker_cpus = fields.parsed("worker_cpus", parse_quantity);
  d.worker_memory = fields.parsed("worker_memory", parse_memory);
  d.worker_gpus = small(fields.parsed("worker_gpus", parse_count));
  d.launcher_cpus = fields.parsed("launcher_cpus", parse_quantity);
  d.launcher_memory = fields.parsed("launcher_memory", parse_memory);
  d.parameter_servers = small(fields.integer("number_of_parameter_servers", 0, max_workers));
  d.parameter_server_cpus = fields.parsed("parameter_server_cpus", parse_quantity);
  d.parameter_server_memory = fields.parsed("parameter_server_memory", parse_memory);
  d.chief_cpus = fields.parsed("chief_cpus", parse_quantity);
  d.chief_memory = fields.parsed("chief_memory", parse_memory);
  d.processes_per_worker = small(fields.integer("processes_per_worker", 1, 1024));
  d.slots_per_worker = small(fields.integer("slots_per_worker", 1, 1024));
  d.mpi_implementation = fields.choice("mpi_implementation", {"OpenMPI", "Intel", "MPICH"}).value_or("OpenMPI");
  d.mpirun_arguments = fields.texts("mpirun_arguments").value_or(std::vector<std::string>{});
  check_arguments(fields.list("mpirun_arguments").value_or(Json::array()), fields);
  d.ssh_auth_mount_path = fields.text("ssh_auth_mount_path").value_or("");
  if (!d.ssh_auth_mount_path.empty() && !d.ssh_auth_mount_path.starts_with('/'))
    fields.fail(input_error(fmt::format("{}: \"{}\" is not an absolute path; write one such as /home/mpiuser/.ssh",
                                        fields.path("ssh_auth_mount_path"), d.ssh_auth_mount_path.substr(0, 100))));
  else if (!d.ssh_auth_mount_path.empty())
    if (auto checked = check_mount_path(fields.path("ssh_auth_mount_path"), d.ssh_auth_mount_path); !checked) fields.fail(std::move(checked.error()));
  d.elastic = read_elastic(fields);
  d.indexed = fields.boolean("indexed").value_or(false);
  d.workers = workers.value_or(d.elastic ? d.elastic->min : 1);
  TRY(fields.done());
  TRY(check_type(fields, d, types));
  return d;
}

}  // namespace trainstep::plan
