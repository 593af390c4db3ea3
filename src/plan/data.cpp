// SPDX-License-Identifier: Apache-2.0
#include "plan/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "plan/checkpoint_place.h"
#include "plan/identity_hash.h"
#include "plan/names.h"
#include "plan/overlap.h"
#include "plan/plan.h"

namespace trainstep::plan {
namespace {

constexpr Duration usual_lease{1'800'000};
constexpr Duration shortest_ttl{3'600'000};

namespace fs = std::filesystem;

std::string in_agent_folder(std::string_view path) { return fmt::format("{}/{}", agent_folder, path); }

// The parent of an address, without the query; nullopt: it is a whole bucket.
std::optional<std::string> parent_of(std::string_view uri) {
  uri = uri.substr(0, uri.find('?'));
  while (uri.ends_with('/')) uri.remove_suffix(1);
  const auto bucket = uri.find("://") + 3;
  const auto slash = uri.rfind('/');
  if (slash == std::string_view::npos || slash < bucket) return std::nullopt;
  return std::string(uri.substr(0, slash));
}

// "/a/b/" and "/a/./b" are "/a/b".
std::string normal(const std::string& path) {
  auto text = fs::path(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

class Router {
 public:
  Router(Plan& plan, const DataFacts& facts) : m_plan(plan), m_facts(facts), m_data(plan.data) {}

  Result<void> route() {
    m_data.agent_image = m_plan.options.agent_image.empty() ? m_facts.agent_image : m_plan.options.agent_image;
    m_data.task.job = m_plan.job_name;
    m_data.task.executor_output_file = in_agent_folder("outputs/executor_output.json");
    m_data.placement.executor_output_file = m_data.task.executor_output_file;
    if (m_facts.unowned) set_lease();
    if (m_plan.options.limits.finishing) m_data.task.finishing_limit = *m_plan.options.limits.finishing;
    for (const auto& input : m_plan.binding.inputs)
      if (input.path) TRY(route_input(input.name, *input.path));
    if (m_data.task.lease.wanted() && !m_data.uploads.empty()) m_data.task.lease.inputs = {m_data.prefix.uri + "/inputs", m_data.prefix.store, ""};
    for (const auto& output : m_plan.binding.outputs) TRY(route_output(output));
    const bool keeps = keeps_checkpoints();
    if (keeps && m_facts.folder) in_prefix(*m_facts.folder, "");
    TRY(check_places());
    choose_record();
    return keeps ? place_checkpoints() : Result<void>();
  }

 private:
  // Only its TTL removes the finished job of a step that has vanished. One that comes back later finds the record in the store.
  void set_lease() {
    auto& policy = m_plan.options.run_policy;
    auto& lease = m_data.task.lease;
    lease = {m_plan.options.lease.value_or(usual_lease), policy.stop_grace};
    if (policy.ttl_is_default && lease.wanted()) policy.ttl_after_finished = std::max<Duration>(lease.length, shortest_ttl);
  }

  // Checks the locations that were given (on claims by the folder of the claim, which may be mounted twice) and the job's own part of the bucket,
  // which is removed at the end.
  [[nodiscard]] Result<void> check_places() const {
    auto places = m_on_claims;
    const auto add = [&](const std::optional<StepPath>& path, const std::string& uri, bool written) {
      const auto store = path ? m_facts.stores.find(path->uri) : m_facts.stores.end();
      if (store != m_facts.stores.end() && uri == path->uri)
        places.push_back({path->name, canonical_address(store->second.endpoint, uri), uri, written});
    };
    for (const auto& input : m_data.task.inputs) {
      const auto bound = std::ranges::find(m_plan.binding.inputs, input.name, &BoundInput::name);
      add(bound->path, input.from.uri, false);
    }
    for (const auto& output : m_data.task.outputs) {
      const auto bound = std::ranges::find(m_plan.binding.outputs, output.name, &BoundOutput::name);
      add(bound->path, output.to.uri, true);
    }
    if (m_data.prefix.in_store())
      places.push_back({"the folder of this job's data", canonical_address(m_data.task.stores[m_data.prefix.store].endpoint, m_data.prefix.uri),
                        m_data.prefix.uri, true});
    return check_no_overlap(places);
  }

  // On a claim, checkpoints persist without being copied.
  [[nodiscard]] bool keeps_checkpoints() const {
    const auto& folder = m_plan.options.checkpoint_dir;
    const bool on_claim = !m_plan.pvc_name.empty() && !m_plan.claim_is_jobs && lies_in(normal(folder), normal(m_plan.train_mount));
    return !folder.empty() && !on_claim;
  }

  Result<void> place_checkpoints() {
    const auto& folder = m_plan.options.checkpoint_dir;
    if (!m_data.prefix.in_store())
      return input_error(
          fmt::format("job_options.checkpoint_dir: {} is not on a claim, and there is no bucket to keep it in; put it below train_mount with "
                      "pvc_name, or name a bucket in cluster_configuration_secret",
                      folder));
    TRY(check_checkpoint_place(m_plan));
    m_data.task.checkpoints = {folder, {m_data.prefix.uri + "/checkpoints", m_data.prefix.store, ""}};
    return {};
  }

  Result<void> route_input(const std::string& name, const StepPath& path) {
    auto& place = m_data.placement.inputs[name];
    if (const auto found = on_claim(path, false)) {
      place = *found;
      return {};
    }
    const auto store = m_facts.stores.find(path.uri);
    const auto in_pod = fmt::format("{}{}/inputs/{}", m_plan.train_mount, m_plan.pvc_name.empty() ? "" : "/" + m_plan.job_name, file_name(name));
    if (!path.uri.empty() && store != m_facts.stores.end()) {
      m_data.task.inputs.push_back({name, in_pod, {path.uri, index_of(store->second), ""}});
    } else if (!path.path.empty() && m_facts.folder) {
      m_data.uploads.push_back({name, path.path, in_prefix(*m_facts.folder, "inputs/" + file_name(name))});
      m_data.task.inputs.push_back({name, in_pod, m_data.uploads.back().at});
    } else {
      return no_way(name, path, "input");
    }
    place = in_pod;
    return {};
  }

  Result<void> route_output(const BoundOutput& bound) {
    const auto* output = spec::find_output(m_plan.program, bound.name);
    if (output == nullptr) return {};
    TaskOutput task{.name = bound.name, .type = output->type, .declared = output->declared, .path = {}, .folder_is = {}, .to = {}};
    const auto folder = in_agent_folder("outputs/" + file_name(bound.name));
    task.path = folder + "/data";
    if (bound.path) {
      task.file = output->type == spec::Type::artifact && is_shared_file(bound.path->name);
      const auto store = m_facts.stores.find(bound.path->uri);
      if (const auto found = on_claim(*bound.path, true)) {
        const fs::path place(*found);
        task.folder_is = place.parent_path().string();
        task.path = folder + "/" + place.filename().string();
      } else if (!bound.path->uri.empty() && store != m_facts.stores.end()) {
        if (!parent_of(bound.path->uri))
          return input_error(fmt::format("{} is a whole bucket, and its other objects would be removed; choose a key below it", bound.path->uri));
        task.to = {bound.path->uri, index_of(store->second), ""};
      } else if (output->type == spec::Type::artifact && m_facts.folder && !bound.path->path.empty()) {
        task.to = in_prefix(*m_facts.folder, "outputs/" + file_name(bound.name));
        m_data.downloads.push_back({bound.name, bound.path->path, task.to});
      } else if (output->type == spec::Type::artifact) {
        return no_way(bound.name, *bound.path, "output");
      }  // a value is returned in the record
    }
    m_data.placement.outputs[bound.name] = task.path;
    m_data.task.outputs.push_back(std::move(task));
    return {};
  }

  [[nodiscard]] std::string real(const std::string& given) const {
    const auto known = m_facts.real_paths.find(given);
    return normal(known == m_facts.real_paths.end() ? given : known->second);
  }

  // The location of a step's path in the pods, if it is on a claim and nothing else is mounted below it; the innermost mount is used.
  std::optional<std::string> on_claim(const StepPath& given, bool is_written) {
    if (given.path.empty()) return std::nullopt;
    const auto path = real(given.path);
    const auto holds = [&](const ClaimMount& mount) { return normal(mount.mount_path) != path && lies_in(normal(mount.mount_path), path); };
    if (std::ranges::any_of(m_facts.mounts, holds)) return std::nullopt;
    const ClaimMount* best = nullptr;
    std::string folder;  // of the best mount
    for (const auto& mount : m_facts.mounts)
      if (auto place = normal(mount.mount_path); lies_in(path, place) && (best == nullptr || place.size() > folder.size())) {
        best = &mount;
        folder = std::move(place);
      }
    if (best == nullptr || best->claim.empty() || (is_written && best->read_only)) return std::nullopt;
    const auto same = [best](const ClaimMount& other) {
      return other.claim == best->claim && other.sub_path == best->sub_path && other.read_only == best->read_only;
    };
    auto known = std::ranges::find_if(m_data.claims, same);
    if (known == m_data.claims.end()) {
      m_data.claims.push_back({best->claim, fmt::format("/mnt/trainstep/{}", m_data.claims.size()), best->sub_path, best->read_only});
      known = std::prev(m_data.claims.end());
    }
    const auto rest = fs::path(path).lexically_relative(folder);
    m_on_claims.push_back({given.name, normal((fs::path('/' + best->claim) / best->sub_path / rest).string()), given.path, is_written});
    return normal((fs::path(known->mount_path) / rest).string());
  }

  // Within the job's own part of the folder.
  TaskPlace in_prefix(const JobFolder& folder, const std::string& name) {
    const auto store = index_of(folder.store);
    m_data.prefix = {fmt::format("{}/{}", folder.uri, m_plan.job_name), store, ""};
    return {fmt::format("{}/{}", m_data.prefix.uri, name), store, ""};
  }

  std::size_t index_of(const StoreAccess& store) {
    const auto known = std::ranges::find(m_data.secrets, store);
    if (known != m_data.secrets.end()) return static_cast<std::size_t>(known - m_data.secrets.begin());
    const auto index = m_data.secrets.size();
    m_data.secrets.push_back(store);
    auto& task = m_data.task.stores.emplace_back();
    task.endpoint = store.endpoint;
    task.region = store.region;
    task.path_style = store.path_style;
    if (store.secret.empty()) return index;
    task.access_key_file = in_agent_folder(fmt::format("keys/{}/access_key", index));
    const bool derived = !store.signing_keys_key.empty();
    (derived ? task.signing_keys_file : task.secret_key_file) =
        in_agent_folder(fmt::format("keys/{}/{}", index, derived ? "signing_keys" : "secret_key"));
    return index;
  }

  // Puts the record next to the first output that outlives the pods, never inside it.
  void choose_record() {
    if (m_data.prefix.in_store()) {
      m_data.task.record = {m_data.prefix.uri + "/finished.json", m_data.prefix.store, ""};
      return;
    }
    const auto on_a_claim = [this](const std::string& folder) {
      return std::ranges::any_of(m_data.claims, [&](const ClaimMount& claim) { return lies_in(folder, claim.mount_path); });
    };
    for (const auto& output : m_data.task.outputs) {
      const auto parent = output.to.in_store() ? parent_of(output.to.uri) : std::nullopt;
      if (parent) {
        m_data.prefix = {fmt::format("{}/.trainstep/{}", *parent, m_plan.job_name), output.to.store, ""};
        m_data.task.record = {m_data.prefix.uri + "/finished.json", m_data.prefix.store, ""};
      } else if (on_a_claim(output.folder_is)) {  // false if the output is a whole claim: there is nothing next to it
        const auto name = fmt::format(".trainstep-{}.json", m_plan.job_name);
        m_data.task.record.path = output.folder_is + "/" + name;
        const auto bound = std::ranges::find(m_plan.binding.outputs, output.name, &BoundOutput::name);
        if (const auto& path = bound->path; path) m_data.record_in_step = (fs::path(real(path->path)).parent_path() / name).string();
      }
      if (m_data.task.record.somewhere()) return;
    }
  }

  static Result<void> no_way(const std::string& formal, const StepPath& path, std::string_view what) {
    return input_error(
        fmt::format("train_parameters: {}: {} ({}) is a file of this step that the job's pods cannot reach: it is not on a PersistentVolumeClaim "
                    "that the step {} and has no object store address; put it on one of them, or let the program {} an address passed as a string",
                    formal, path.name, path.path.empty() ? path.uri : path.path, what == "input" ? "has mounted" : "may write to",
                    what == "input" ? "read" : "write to"));
  }

  Plan& m_plan;
  const DataFacts& m_facts;
  DataPlan& m_data;
  std::vector<Place> m_on_claims;  // "/CLAIM/FOLDER"
};

bool has_variable(const Plan& plan, std::string_view name) {
  return std::ranges::any_of(plan.environment, [&](const EnvironmentVariable& variable) { return variable.name == name; });
}

// The variables of TensorFlow's S3 file system (tensorflow/io, core/filesystems/s3/s3_filesystem.cc), for programs that write to
// TENSORBOARD_S3_ADDRESS; calls of "Train model job" expect the endpoint with its scheme, for boto3. The user's own variables take precedence.
void add_store_variables(Plan& plan, const StoreAccess& store) {
  if (!gets_store_variables(plan)) return;
  const auto add = [&](const char* name, Json value) {
    const auto* source = plan.as_train_model_job ? "defaults-of: train-model-job" : "tensorboard_s3_address";
    if (!has_variable(plan, name)) plan.environment.push_back({name, std::move(value), source});
  };
  const bool encrypted = store.endpoint.starts_with("https://");
  add("S3_ENDPOINT", plan.as_train_model_job ? store.endpoint : store.endpoint.substr(store.endpoint.find("://") + 3));
  add("S3_USE_HTTPS", encrypted ? "1" : "0");
  add("S3_VERIFY_SSL", encrypted ? "1" : "0");
  add("AWS_REGION", store.region);
  if (plan.as_train_model_job) add("AWS_S3_SIGNATURE_VERSION", "s3v4");
  if (store.secret.empty()) return;
  add("AWS_ACCESS_KEY_ID", {{"secret", store.secret}, {"key", store.access_key_key}});
  add("AWS_SECRET_ACCESS_KEY", {{"secret", store.secret}, {"key", store.secret_key_key}});
}

// The names of the step's paths that the program uses.
std::string wanted_paths(const Plan& plan) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const auto& input : plan.binding.inputs)
    if (input.path) add(input.path->name);
  for (const auto& output : plan.binding.outputs)
    if (output.path) add(output.path->name);
  return names;
}

Result<void> route(Plan& plan, const DataFacts& facts) {
  plan.data = {};
  if (facts.folder) add_store_variables(plan, facts.folder->store);
  const auto paths = wanted_paths(plan);
  const bool leased = facts.unowned && plan.options.lease.value_or(Duration(0)) > Duration(0);
  const bool nothing = paths.empty() && plan.binding.outputs.empty() && plan.options.checkpoint_dir.empty();
  if (nothing && !leased) return {};
  plan.data.only_lease = nothing;
  const bool image_known = !facts.agent_image.empty() || !plan.options.agent_image.empty();
  // A program that starts ranks in other pods with its own command line does not start the agent there.
  const bool own_mpirun = plan.launches_ranks && starts_own_ranks(plan.program);
  if (image_known && !own_mpirun) return Router(plan, facts).route();
  const auto* option = !plan.options.checkpoint_dir.empty() ? "checkpoint_dir" : leased ? "lease" : nullptr;
  if (paths.empty() && option == nullptr) return {};
  if (paths.empty() && own_mpirun)
    return input_error(
        fmt::format("job_options.{}: the program starts mpirun itself, and its ranks have no agent; leave mpirun to the step", option));
  if (paths.empty()) return input_error(fmt::format("job_options.{}: the pods require an image with trainstep; set job_options.agent_image", option));
  if (own_mpirun)
    return input_error(
        fmt::format("train_specification: the program starts mpirun itself, so {} cannot be copied to its ranks; leave mpirun to the step, or use "
                    "volumes (job_options.volumes)",
                    paths));
  return input_error(
      fmt::format("{}: copying files to and from the pods requires an image with trainstep; in a pod the step's own is used, here set "
                  "job_options.agent_image",
                  paths));
}

bool goes_through_folder(const DataPlan& data) { return !data.uploads.empty() || !data.downloads.empty(); }

}  // namespace

bool gets_store_variables(const Plan& plan) { return has_variable(plan, "TENSORBOARD_S3_ADDRESS"); }

bool lacks_folder(Plan plan, DataFacts facts) {
  if (facts.folder) return false;
  facts.folder = JobFolder{"s3://any/folder", {}};
  return route(plan, facts) && (goes_through_folder(plan.data) || plan.data.task.checkpoints.to.in_store());
}

Result<void> route_data(Plan& plan, const DataFacts& facts) {
  TRY(route(plan, facts));
  if (plan.as_train_model_job && plan.pvc_name.empty() && goes_through_folder(plan.data)) {
    plan.pvc_name = plan.job_name + "-data";
    plan.claim_is_jobs = true;
    TRY(route(plan, facts));
  }
  plan.spec_hash = hash_with_addresses(plan);
  return {};
}

}  // namespace trainstep::plan
