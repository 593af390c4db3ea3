// SPDX-License-Identifier: Apache-2.0
#include "cluster/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "cluster/claim_links.h"
#include "cluster/data.h"
#include "cluster/job_search.h"
#include "cluster/remote.h"
#include "cluster/rules.h"
#include "cluster/secret_keys.h"
#include "cluster/secret_token.h"

namespace trainstep::cluster {
namespace {

// How long an API server that does not respond before there is a job is waited for.
constexpr kube::Retry secret_retry{.at_most = Duration(300'000), .doubts_refusals = true};
// The most that KFP's launcher leaves (docs/design/kfp.md, Signals).
constexpr Duration launchers_grace{1'000};
// How often and how long a step's report on the end of its job is waited for.
constexpr int most_looks = 120;
constexpr Duration result_interval{1'000};
// Once this process is to end: how often our own pod is read, and how long before SIGKILL unknown results are reported.
constexpr Duration hasty_look{2'000};
constexpr Duration time_for_verdict{1'000};

}  // namespace

Session::Session(Loop& loop, http::Transport& transport, std::shared_ptr<kube::Credentials> credentials, SessionOptions options,
                 std::vector<run::Listener*> listeners)
    : m_loop(loop),
      m_transport(transport),
      m_home(loop, transport, std::move(credentials), options.seed),
      m_options(std::move(options)),
      m_listeners(std::move(listeners)),
      m_job_name_space(m_options.name_space) {}

Session::~Session() { *m_alive = false; }

void Session::say(const std::string& text) {
  for (auto* listener : m_listeners) listener->say(m_loop.now(), text);
}

void Session::begin(std::function<void(Done)> done) {
  m_done = std::move(done);
  m_began = m_loop.now();
  m_home.on_trouble([this](const std::string& reason) { say(reason.empty() ? "the API server answers again" : reason + "; trying again"); });
  if (!m_options.pod.name.empty()) return look_for_own_pod({});
  auto facts = m_options.facts.value_or(Facts{});
  facts.name_space = m_options.name_space;
  m_loop.post([this, alive = m_alive, facts]() mutable {
    if (*alive) know(std::move(facts));
  });
}

void Session::look_for_own_pod(kube::Retry retry) {
  const auto know_it = [this, alive = m_alive](Result<Facts> facts) {
    if (!*alive || m_known) return;
    if (!facts && facts.error().kind == ErrorKind::unavailable && m_early) return;  // there is another look, or no time for one
    know(std::move(facts));
  };
  find_facts(m_home, m_options.name_space, m_options.pod, know_it, retry);
}

// After a stop: a pending response may never come, and the pause before the next request may be longer than our grace.
void Session::look_in_haste() {
  if (m_known || m_over) return;
  look_for_own_pod({Duration(0)});
  m_timers.keep(m_loop.timer(hasty_look, [this] { look_in_haste(); }));
}

void Session::know(Result<Facts> facts) {
  if (m_over) return;
  if (!facts && facts.error().kind == ErrorKind::not_found)
    return finish_early({result::VerdictClass::interrupted, facts.error().message, std::nullopt, false, 0});
  if (!facts) return finish_early(result::from_error(facts.error()));
  m_facts = std::move(*facts);
  m_known = true;
  m_order = std::make_unique<AttemptOrder>(m_home, m_facts);
  for (const auto& notice : m_facts.notices) say(notice);
  if (m_early) limit_early_stop();  // the grace of our own pod
  m_workflow_monitor =
      std::make_unique<WorkflowMonitor>(m_home, m_facts, [this](const std::string& what) { seen_cancel(what); }, [this] { missed_pod(); });
  m_job_facts = m_facts.name_space == m_job_name_space ? m_facts : facts_for_job_elsewhere(m_facts);
  m_slow = m_loop.timer(m_early ? Duration(0) : slow, [this] { look_without({}); });
  read_again();
}

// From the start.
void Session::read_again() {
  m_configured = m_options.configuration_secret.empty();
  m_kubeflow_store.reset();
  m_lacking.reset();
  m_failed.reset();
  m_options.wants_stores ? look_for_stores() : configure();
}

void Session::look_for_stores() {
  m_reading = "the ConfigMap kfp-launcher";
  const auto tell = [this, alive = m_alive](const std::string& line) {
    if (*alive) say(line);
  };
  find_stores(m_home, m_options.name_space, tell, [this, alive = m_alive](Result<std::string> stores) {
    if (!*alive || m_over || m_plan) return;
    if (stores)
      m_facts.stores = m_job_facts.stores = std::move(*stores);
    else
      m_lacking = std::move(stores.error());
    configure();
  });
}

void Session::configure() {
  if (m_options.configuration_secret.empty()) return plan_and_run();
  m_reading = "cluster_configuration_secret";
  m_call = m_home.get(configuration_secret(), {}, secret_retry, [this](kube::Answer answer) {
    if (m_over || m_plan) return;
    m_configured = answer.has_value();
    auto connected = answer ? connect(*answer) : about_secret(answer.error(), m_options.name_space, m_options.configuration_secret);
    if (!connected) return look_without(in_context("cluster_configuration_secret", std::move(connected.error())));
    m_configuration = std::move(*answer);
    if (m_remote && m_job_store && !m_job_store->keys) return find_remote_keys();
    plan_and_run();
  });
}

// Another cluster does not have the Secret of this one: the job takes its credentials along.
void Session::find_remote_keys() {
  const auto& store = m_job_store->folder.store;
  const objectstore::CredentialsRef at{store.secret, store.access_key_key, store.secret_key_key};
  m_reading = "the Secret " + at.secret;
  m_call = m_home.get({"v1", "secrets", m_options.name_space, at.secret, ""}, {}, secret_retry, [this, at](const kube::Answer& answer) {
    if (m_over || m_plan) return;
    auto keys = keys_from(answer, m_options.name_space, at);
    if (!keys) return look_without(keys.error());
    m_job_store->keys = std::move(*keys);
    plan_and_run();
  });
}

kube::Path Session::configuration_secret() const { return {"v1", "secrets", m_options.name_space, m_options.configuration_secret, ""}; }

Result<void> Session::connect(const Json& secret) {
  m_elsewhere = names_a_cluster(secret);
  auto configuration = read_configuration(secret, m_options.as_train_model_job);
  if (configuration) {
    m_job_store = std::move(configuration->store);
    m_access_mode = std::move(configuration->access_mode);
    if (m_job_store) m_job_facts.folder = m_job_store->folder;
  }
  const auto read = configuration ? Result<void>() : Result<void>(std::move(configuration.error()));
  if (!m_elsewhere) return read;
  ASSIGN(auto credentials, remote_credentials(secret));
  credentials.token = std::make_unique<SecretToken>(m_home, configuration_secret(), credentials, [this](const std::string& line) { say(line); });
  // Nothing of our own cluster is known there.
  m_job_facts = facts_for_job_elsewhere(std::move(m_job_facts));
  m_job_facts.written.reset();  // by another clock
  m_job_name_space = credentials.name_space;
  m_options.where = credentials.description;
  m_remote = std::make_unique<kube::Client>(m_loop, m_transport, std::make_shared<kube::Credentials>(std::move(credentials)), m_options.seed + 1);
  if (m_early) m_remote->hurry();
  return read;
}

Result<void> Session::route(plan::Plan& plan) {
  // Another cluster does not have the Secret: the job takes the credentials along.
  if (auto& folder = m_job_facts.folder; m_remote && folder) {
    folder->store.secret = plan.job_name + "-keys";
    folder->store.access_key_key = "minio-accesskey";
    folder->store.secret_key_key = "minio-secretkey";
  }
  TRY(route_data(plan, m_job_facts));
  for (const auto& line : links_astray(plan)) say(line);
  plan.data.task.attempt = attempt();
  return {};
}

void Session::plan_and_run() {
  auto plan = m_options.make_plan(m_facts, m_job_name_space);
  if (!plan) return finish_early(result::from_error(plan.error()));
  m_configured = true;
  if (m_lacking) return look_without(m_lacking);
  if (lacks_store(*plan)) return find_kubeflow_store();
  if (!m_options.existing)
    if (auto routed = route(*plan); !routed) {
      if (m_early || (m_kubeflow_store && !m_job_facts.folder)) return look_without(routed.error());
      return finish_early(result::from_error(routed.error()));
    }
  look_at_claims(std::move(*plan));
}

// If only one node can have a claim, the pods go there. A job that is only to be ended is found by its name.
void Session::look_at_claims(plan::Plan plan) {
  auto claims = mounted_claims(plan);
  if (m_early || m_options.existing || claims.empty()) return follow_plan(std::move(plan));
  m_reading = "claim " + claims.back().name;
  const auto shared = std::make_shared<plan::Plan>(std::move(plan));
  const auto done = [this, shared](const Result<std::map<std::string, ClaimAccess>>& access) {
    if (m_over || m_plan) return;
    if (m_early) return follow_plan(std::move(*shared));  // which only ends what exists
    if (!access) return look_without(access.error());
    auto nodes = nodes_for(*shared, m_job_facts, *access);
    if (!nodes) return finish_early(result::from_error(nodes.error()));
    if (const auto line = describe(*nodes); !line.empty() && line != describe(shared->nodes)) say(line);
    shared->nodes = std::move(*nodes);
    follow_plan(std::move(*shared));
  };
  m_claim_look = std::make_unique<ClaimLook>(
      ClaimLook::Context{m_remote ? *m_remote : m_home, m_job_name_space, m_access_mode, [this](const auto& line) { say(line); }}, std::move(claims),
      done);
}

void Session::follow_plan(plan::Plan plan) {
  m_slow.cancel();
  m_plan = std::make_unique<plan::Plan>(std::move(plan));
  say(fmt::format("version {} · {} on Kubernetes ({}) · run {}", TRAINSTEP_VERSION, m_plan->job_type, m_options.where, m_plan->run_id));
  if (m_plan->data.has_agent()) make_data();
  if (m_data && !m_early)
    if (auto claimed = m_data->claim_outputs(); !claimed) return finish_early(result::from_error(claimed.error()));
  if (m_without && !m_early) say(outputs_wait(*m_without));
  if (m_early || m_without || !m_data) return begin_to_follow();
  if (!m_plan->data.uploads.empty()) return bring_inputs();
  if (!m_plan->data.downloads.empty()) return read_credentials();
  begin_to_follow();
}

// In a pod, from which such a server can be reached; the pods of another cluster cannot reach it.
bool Session::lacks_store(const plan::Plan& plan) const {
  if (m_kubeflow_store || m_remote || m_early || m_options.existing || m_options.pod.name.empty() || m_job_facts.folder) return false;
  if (plan.as_train_model_job) return true;
  const auto facts = data_facts(plan, m_job_facts);
  return facts && plan::lacks_folder(plan, *facts);
}

// Settings of the Secret take precedence.
void Session::find_kubeflow_store() {
  m_reading = "the object store of Kubeflow Pipelines";
  const auto done = [this](Result<std::optional<plan::JobFolder>> folder) {
    if (m_over || m_plan) return;
    if (!folder) return look_without(folder.error());
    m_job_facts.folder = std::move(*folder);
    m_job_facts.folder && m_kubeflow_store->was_searched() ? prefer_earlier_store() : plan_and_run();
  };
  KubeflowStore::Context context{m_home, m_transport, m_options.name_space, [this](const auto& line) { say(line); }, {}};
  if (!m_configuration.is_null() && m_options.as_train_model_job)
    context.complete = [this](const plan::JobFolder& found) -> Result<plan::JobFolder> {
      ASSIGN(m_job_store, in_context("cluster_configuration_secret", job_store(m_configuration, found)));
      return m_job_store ? m_job_store->folder : found;
    };
  m_kubeflow_store = std::make_unique<KubeflowStore>(std::move(context), done);
}

void Session::make_data() { m_data = data_of_job(); }

std::unique_ptr<StepData> Session::data_of_job() {
  StepData::Context context{
      m_home, m_transport, m_options.name_space, m_options.environment, {}, m_options.seed + 2, [this](const std::string& line) { say(line); }};
  context.job_attempt = [this] { return m_backend ? m_backend->made_by() : attempt(); };
  context.replaced = [this](auto done) { m_order->ask_replaced(std::move(done)); };
  if (m_remote) {
    context.copy = m_plan->job_name + "-keys";
    context.keys_at = {m_options.configuration_secret, "minio-accesskey", "minio-secretkey"};
  }
  if (m_job_store) {
    const auto& found = m_job_store->folder.store;
    context.keys_at = {found.secret, found.access_key_key, found.secret_key_key};
    if (m_job_store->keys && m_job_facts.folder) context.keys[m_job_facts.folder->store.secret] = *m_job_store->keys;
  }
  return std::make_unique<StepData>(*m_plan, std::move(context));
}

std::vector<OwnedObject> Session::owned_objects() const {
  std::vector<OwnedObject> objects;
  if (!m_plan->pvc_name.empty() && (m_options.configuration_secret.empty() || !m_configuration.is_null()))
    objects.push_back(claim(m_plan->pvc_name, m_plan->pvc_size, m_access_mode));
  if (m_remote && m_job_store && m_job_store->keys)
    objects.push_back(
        secret(m_plan->job_name + "-keys", {{"minio-accesskey", m_job_store->keys->access_key}, {"minio-secretkey", m_job_store->keys->secret_key}}));
  return objects;
}

std::string Session::attempt() const { return fmt::format("{:016x}", m_options.seed); }

void Session::begin_to_follow() {
  if (m_early) return wind_down();
  run();
}

void Session::run() {
  const bool existing = m_options.existing.has_value();
  auto rules = existing ? rules_of(*m_plan, m_options.existing->object) : rules_of(*m_plan);
  auto job_rules = job_rules_of(*m_plan);
  job_rules.looks_on = existing;
  m_backend = std::make_unique<ClusterBackend>(m_remote ? *m_remote : m_home, *m_plan, m_job_facts, m_job_name_space, attempt(),
                                               std::move(m_options.existing));
  m_backend->ordered_by(*m_order);
  if (existing)
    m_backend->only_look_on();
  else if (m_early)
    m_backend->only_end();
  else
    m_backend->bring(owned_objects());
  if (m_without) m_backend->only_follow(*m_without);
  if (m_signalled) m_backend->make_none();
  job_rules.at_shell = m_options.pod.name.empty();
  m_runner =
      std::make_unique<run::Runner>(m_loop, *m_backend, m_listeners, std::make_unique<follow::JobRunState>(std::move(rules), std::move(job_rules)));
  m_backend->hold_output(m_pressure);
  m_runner->begin([this](run::Outcome outcome) { training_ended(std::move(outcome)); });
}

void Session::training_ended(run::Outcome outcome) {
  m_over = true;
  m_outcome = std::move(outcome);
  if (m_backend->looks_on()) take_curves();
  if (m_backend->looks_on()) return hear_the_step(m_facts.workflow ? most_looks : 0);
  if (!m_data || m_outcome.verdict.verdict_class != result::VerdictClass::succeeded) return deliver();
  collect_data();
}

// The step of the job knows more than the status: whether the outputs were delivered, which limit was exceeded. The step of a Workflow records that
// on the job at its end; jobs of others are usually deleted then.
void Session::hear_the_step(int looks) {
  using enum result::VerdictClass;
  auto& verdict = m_outcome.verdict;
  const auto told = m_backend->told();
  if (!told && verdict.verdict_class == succeeded && !m_backend->gone() && looks > 0) {
    if (looks == most_looks - 2) say("the job has succeeded; waiting for its step to report the outputs");
    if (looks == 1) say("its step has not reported an outcome; showing the job's own");
    m_timers.keep(m_loop.timer(result_interval, [this, looks] { hear_the_step(looks - 1); }));
    return;
  }
  if (told && *told != verdict.verdict_class && verdict.verdict_class != interrupted) {
    verdict.message = fmt::format("its step reported this outcome, the job itself {}", result::describe(verdict));
    verdict.verdict_class = *told;
  }
  deliver();
}

void Session::collect_data() {
  OutputCollection::Context context{m_loop, *m_plan, *m_backend, *m_data, [this] { return data_of_job(); }, [this](const auto& line) { say(line); }};
  m_collection = std::make_unique<OutputCollection>(std::move(context), std::move(m_outcome),
                                                    [this](OutputCollection::Ended ended) { collected(std::move(ended)); });
  m_collection->begin();
}

void Session::collected(OutputCollection::Ended ended) {
  m_outcome = std::move(ended.outcome);
  m_contents = std::move(ended.contents);
  if (ended.data == OutputCollection::Data::left) m_data.reset();
  if (ended.data == OutputCollection::Data::unfinished) make_data();
  deliver();
}

// An attached command has no outputs: takes what its log does not contain.
void Session::take_curves() {
  const auto* told = m_backend->report();
  if (told == nullptr) return;
  for (const auto& output : told->outputs)
    for (const auto& curve : output.curves)
      if (std::ranges::find(m_outcome.series, curve.name, &result::MetricSeries::name) == m_outcome.series.end()) m_outcome.series.push_back(curve);
}

void Session::deliver() {
  m_workflow_monitor.reset();
  m_done({std::move(m_outcome), m_plan.get(), std::move(m_contents)});
}

Result<std::vector<std::string>> Session::commit() { return m_data ? m_data->commit() : std::vector<std::string>(); }

// The reason only matters if it is certain: results of a training are not removed in doubt.
void Session::stop_collecting(int signal) {
  const auto leave = [this, signal] { m_collection->leave(signal, is_retried()); };
  if (signal != SIGTERM || m_collection->fetched() || !m_workflow_monitor) return leave();
  m_workflow_monitor->ask_why([this, leave](const auto& /*eviction*/) { m_timers.keep(m_loop.timer(Duration(0), leave)); });
}

void Session::publish(const std::string& uri, std::string page, std::function<void(Result<void>)> done) {
  m_published = std::move(done);
  m_report_upload =
      std::make_unique<ReportUpload>(ReportUpload::Context{m_home, m_transport, m_options.name_space, m_options.environment, m_options.seed + 3}, uri,
                                     std::move(page), [this](Result<void> result) { published(std::move(result)); });
}

void Session::published(Result<void> result) {
  m_report_upload.reset();
  std::exchange(m_published, nullptr)(std::move(result));
}

void Session::conclude(const result::Verdict& verdict, std::function<void(std::string)> done) {
  StepCleanup::Context context{.loop = m_loop,
                               .client = m_remote ? *m_remote : m_home,
                               .name_space = m_job_name_space,
                               .plan = m_plan.get(),
                               .backend = m_backend.get(),
                               .data = m_data.get(),
                               .collection = m_collection.get(),
                               .brought = m_data && (m_brought || m_data->has_uploaded()),
                               .retried = is_retried(),
                               .signalled = m_signalled.has_value(),
                               .killed_at = [this] { return killed_at(); },
                               .listeners = m_listeners};
  m_cleanup = std::make_unique<StepCleanup>(std::move(context), verdict, std::move(done));
  m_cleanup->begin();
}

// By the clock of the step's cluster.
bool Session::is_retried() const {
  const auto now = m_loop.now() + m_home.clock().value_or(Duration{0});
  return m_facts.retry != Retry::none && (!m_facts.retried_until || now < *m_facts.retried_until);
}

// A person at a shell, or whoever sends SIGINT again, does not want to wait for what is in progress.
bool Session::hurried(int signal) { return ++m_stops > 1 && (m_options.pod.name.empty() || signal == SIGINT); }

void Session::request_stop(int signal) {
  const bool hurried_on = hurried(signal);
  if (!m_signalled) m_signalled = m_loop.now();
  if (m_cleanup) m_cleanup->limit();
  if (m_published) return published(Error{ErrorKind::cancelled, fmt::format("{} arrived in the meantime", result::signal_name(signal))});
  if (hurried_on && m_cleanup) return m_cleanup->end("the clean-up was interrupted: the job and its data may still exist");
  if (m_collection && m_collection->in_progress()) return stop_collecting(signal);
  if (m_over) return;
  if (hurried_on && m_early && !m_runner) return finish_early({result::VerdictClass::cancelled, what_may_be_left(), std::nullopt, false, signal});
  if (m_early && !m_runner) return !m_early_ends ? limit_early_stop() : void();  // it is on its way
  hurry();
  const auto go_on = [this, signal](std::optional<WorkflowMonitor::Eviction> eviction) {
    if (m_runner) return stop_runner(signal, std::move(eviction));
    stop_early(signal, std::move(eviction), "");
  };
  if (m_backend) m_backend->make_none();
  if (m_workflow_monitor && signal == SIGTERM) return m_workflow_monitor->ask_why(go_on);
  if (m_workflow_monitor && m_workflow_monitor->hurry()) return;
  go_on(std::nullopt);
}

// When we are killed after a signal, by the kubelet, Argo's executor or KFP's launcher.
Time Session::killed_at() const { return m_signalled.value_or(m_loop.now()) + (m_facts.launcher ? launchers_grace : m_facts.grace); }

void Session::stop_runner(int signal, std::optional<WorkflowMonitor::Eviction> eviction) {
  if (m_over) return;
  const bool retried = is_retried();
  // KFP's launcher does not always kill: its shortest time only counts if a job is left to the next attempt.
  if (eviction || (signal == SIGTERM && !m_options.pod.name.empty() && !m_facts.launcher)) m_backend->dies_at(killed_at());
  if (eviction) {
    if (eviction->since && !m_remote) m_backend->ends_since(*eviction->since);
    m_runner->tell(follow::EvictionSeen{std::move(eviction->what), retried});
  }
  m_runner->request_stop(signal);
}

void Session::seen_cancel(const std::string& what) {
  if (m_collection) return m_timers.keep(m_loop.timer(Duration(0), [this, what] { m_collection->drop(what); }));  // the monitor ends with it
  if (m_over) return;
  if (m_runner) return m_runner->tell(follow::CancelSeen{what});
  stop_early(0, std::nullopt, what);
}

std::string Session::what_may_be_left() const {
  const std::string left = "a job of an earlier attempt may still exist";
  if (const auto run = known_run(); !run.empty()) return left + ": trainstep stop " + run;
  return left + "; its run is unknown, see trainstep list";
}

// Empty: only our own pod tells.
std::string Session::known_run() const {
  if (m_plan) return m_plan->run_id;
  if (!m_options.run_id.empty() || !m_known) return m_options.run_id;
  const auto plan = m_options.make_plan(m_facts, m_job_name_space);
  return plan ? plan->run_id : "";
}

// Requests before there is a runner may hang, or pause, for longer than there is time.
void Session::hurry() {
  if (m_runner) return;
  m_home.hurry();
  if (m_remote) m_remote->hurry();
}

// The time of a pod ends whether requests are answered or not.
void Session::limit_early_stop() {
  m_early_ends.cancel();
  if (!m_signalled || m_options.pod.name.empty()) return;
  const auto left = [this](Duration of_grace) {
    return std::max(Duration(0), std::chrono::duration_cast<Duration>(*m_signalled + of_grace - m_loop.now()));
  };
  m_early_ends = m_loop.timer(left(m_facts.grace - std::min(time_for_verdict, m_facts.grace / 4)), [this] {
    if (m_over || m_runner) return;
    finish_early({result::VerdictClass::cancelled, what_may_be_left(), std::nullopt, false, m_early->signal});
  });
  if (m_known || m_options.run_id.empty()) return;
  m_timers.keep(m_loop.timer(left(m_facts.grace / 2), [this] { know_the_run_only(); }));
}

// Our own pod could not be read in time. A run id that is an input is enough to know the name of the job.
void Session::know_the_run_only() {
  if (m_known || m_over) return;
  say("cannot read this step's own pod: looking for a job by its run id only");
  Facts facts;
  facts.name_space = m_options.pod.name_space.empty() ? m_options.name_space : m_options.pod.name_space;
  know(std::move(facts));
}

// An earlier attempt may have created a job: what is needed to know its name continues, an upload does not.
void Session::stop_early(int signal, std::optional<WorkflowMonitor::Eviction> eviction, const std::string& what) {
  if (m_early || m_over) return;
  m_early = EarlyStop{signal, std::move(eviction), what, signal == SIGTERM && !m_workflow_monitor};
  hurry();
  limit_early_stop();
  if (!m_known) return look_in_haste();
  if (const auto plan = m_options.make_plan(m_facts, m_job_name_space); plan && plan->fresh_run)
    return finish_early(
        {result::VerdictClass::cancelled, what.empty() ? "before there was a job" : what + " before there was a job", std::nullopt, false, signal});
  if (m_claim_look)
    m_loop.post([this, alive = m_alive] {
      if (*alive) m_claim_look->leave();
    });
  else
    m_slow = m_loop.timer(Duration(0), [this] { look_without({}); });
  if (m_preparing)
    m_loop.post([this, alive = m_alive] {
      if (*alive && std::exchange(m_preparing, false)) wind_down();
    });
}

void Session::hold_output(Pressure pressure) {
  m_pressure = pressure;
  if (m_backend) m_backend->hold_output(pressure);
}

void Session::wind_down() {
  if (m_over || m_runner) return;
  if (std::exchange(m_early->why_unknown, false)) {
    const auto left = std::chrono::duration_cast<Duration>(killed_at() - m_loop.now());
    m_timers.keep(m_loop.timer(std::max(Duration(0), left / 3), [this] {  // the rest is for the job
      if (!m_runner && m_workflow_monitor) m_workflow_monitor->hurry();
    }));
    return m_workflow_monitor->ask_why([this](std::optional<WorkflowMonitor::Eviction> eviction) {
      m_early->eviction = std::move(eviction);
      wind_down();
    });
  }
  m_search.reset();
  if (m_data) {
    m_brought = m_data->has_uploaded();
    make_data();  // cancels what was in progress
  }
  run();
  if (!m_early->what.empty()) return m_runner->tell(follow::CancelSeen{m_early->what});
  stop_runner(m_early->signal, std::move(m_early->eviction));
}

void Session::finish_early(result::Verdict verdict) {
  m_over = true;
  run::Outcome outcome;
  const bool stopped = verdict.verdict_class == result::VerdictClass::cancelled || verdict.verdict_class == result::VerdictClass::interrupted;
  if (m_early && !stopped)
    verdict = {result::VerdictClass::cancelled, fmt::format("{} ({})", what_may_be_left(), verdict.message), std::nullopt, false, m_early->signal};
  outcome.verdict = std::move(verdict);
  outcome.started = m_began;
  outcome.ended = m_loop.now();
  m_loop.post([this, alive = m_alive, outcome = std::move(outcome)]() mutable {
    if (*alive) m_done({std::move(outcome), m_plan.get(), {}});
  });
}

}  // namespace trainstep::cluster
