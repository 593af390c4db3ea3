// SPDX-License-Identifier: Apache-2.0
#include "cluster/session.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "cluster/rules.h"
#include "cluster/secret_values.h"

namespace trainstep::cluster {

Session::Session(Loop& loop, http::Transport& transport, std::shared_ptr<kube::Credentials> credentials, SessionOptions options,
                 std::vector<run::Listener*> listeners)
    : m_loop(loop),
      m_transport(transport),
      m_home(loop, transport, std::move(credentials), options.seed),
      m_options(std::move(options)),
      m_listeners(std::move(listeners)),
      m_own_facts({m_loop, m_home, m_options.name_space, m_options.pod, [this](const auto& line) { log(line); }},
                  [this](Result<Facts> facts) { facts_read(std::move(facts)); }),
      m_choice({.loop = m_loop,
                .home = m_home,
                .facts = m_facts,
                .name_space = m_options.name_space,
                .attempt = attempt(),
                .in_pod = in_pod(),
                .make_place = [this](const auto& secret, auto log) { return make_place(secret, std::move(log)); },
                .make_plan = [this](const auto& name_space) { return m_options.make_plan(m_facts, name_space); },
                .log = [this](const auto& line) { log(line); },
                .leaves = [this](const auto& origin) { leaves(origin); }},
               m_options.configuration_secrets,
               {[this] { use_cluster(); }, [this](const Error& why) { finish_early(result::from_error(why)); },
                [this](bool surely) { finish_early(m_early_stop.cancelled(surely ? "before a job was created" : what_may_be_left())); }}),
      m_place(make_place(m_choice.secret(), [this](const auto& line) { log(line); })),
      m_signals(m_loop, in_pod()),
      m_early_stop({m_loop, m_signals, m_facts, in_pod(), [this] { out_of_time(); }, [this] { m_own_facts.continue_with_run_id(); }}) {}

std::unique_ptr<JobPlace> Session::make_place(const std::string& secret, std::function<void(const std::string&)> log) {
  return std::make_unique<JobPlace>(JobPlace::Context{.loop = m_loop,
                                                      .transport = m_transport,
                                                      .home = m_home,
                                                      .name_space = m_options.name_space,
                                                      .where = m_options.where,
                                                      .configuration_secret = secret,
                                                      .as_train_model_job = m_options.as_train_model_job,
                                                      .seed = m_options.seed + 1,
                                                      .attempt = attempt(),
                                                      .log = std::move(log)});
}

void Session::log(const std::string& line) {
  for (auto* listener : m_listeners) listener->info(m_loop.now(), line);
}

void Session::begin(std::function<void(Done)> done) {
  m_done = std::move(done);
  m_began = m_loop.now();
  m_home.on_secret([this](const Json& secret) {
    for (auto* listener : m_listeners) listener->hide(secrets_of(secret));
  });
  m_home.on_trouble([this](const std::string& reason) { log(reason.empty() ? "the API server is responding again" : reason + "; trying again"); });
  if (in_pod()) return m_own_facts.look();
  auto facts = m_options.facts.value_or(Facts{});
  facts.name_space = m_options.name_space;
  m_own_facts.use(std::move(facts));
}

void Session::facts_read(Result<Facts> facts) {
  if (!facts && facts.error().kind == ErrorKind::not_found)
    return finish_early({result::VerdictClass::interrupted, facts.error().message, std::nullopt, false, 0});
  if (!facts) return finish_early(result::from_error(facts.error()));
  m_facts = std::move(*facts);
  m_facts_known = true;
  m_order = std::make_unique<AttemptOrder>(m_home, m_facts);
  for (const auto& notice : m_facts.notices) log(notice);
  if (m_early_stop.has_begun()) limit_early_stop();  // the grace of our own pod
  m_workflow_monitor =
      std::make_unique<WorkflowMonitor>(m_home, m_facts, [this](const std::string& what) { seen_cancel(what); }, [this] { own_pod_not_seen(); });
  m_choice.begin(*m_order);
}

void Session::leaves(const std::string& origin) {
  for (auto* listener : m_listeners) listener->leaves(origin);
}

void Session::use_cluster() {
  m_preflight.reset();
  m_data.reset();
  m_adoption.reset();
  m_plan_preparation.reset();
  m_earlier_job.reset();
  if (m_place->is_remote()) leaves(m_place->client().credentials().server.origin());
  m_place = make_place(m_choice.secret(), [this](const auto& line) { log(line); });
  m_place->take_facts(m_facts);
  m_earlier_job = std::make_unique<EarlierJob>(EarlierJob::Context{*m_place, *m_order, attempt(), !in_pod()});
  prepare_plan();
}

void Session::refuse_cluster(const Error& why) {
  m_plan_preparation->leave();
  m_adoption->leave();
  m_choice.refuse(why);
}

void Session::prepare_plan() {
  const auto failed = [this](const Error& why) { refuse_cluster(why); };
  PlanPreparation::Context of_plan{.loop = m_loop,
                                   .transport = m_transport,
                                   .home = m_home,
                                   .place = *m_place,
                                   .facts = m_facts,
                                   .name_space = m_options.name_space,
                                   .wants_stores = m_options.wants_stores,
                                   .configuration_secret = m_choice.secret(),
                                   .is_observer = m_options.existing.has_value(),
                                   .in_pod = in_pod(),
                                   .make_plan = [this] { return make_plan(); },
                                   .log = [this](const auto& line) { log(line); }};
  m_plan_preparation = std::make_unique<PlanPreparation>(
      std::move(of_plan),
      PlanPreparation::Sink{[this](plan::Plan plan) { follow_plan(std::move(plan)); }, [this](const Error& why) { m_adoption->look(why); }, failed});
  EarlierJobAdoption::Context of_adoption{.loop = m_loop,
                                          .job = *m_earlier_job,
                                          .place = *m_place,
                                          .preparation = *m_plan_preparation,
                                          .is_observer = m_options.existing.has_value(),
                                          .make_plan = [this] { return make_plan(); },
                                          .what_may_be_left = [this] { return what_may_be_left(); }};
  m_adoption = std::make_unique<EarlierJobAdoption>(
      std::move(of_adoption), EarlierJobAdoption::Sink{[this](plan::Plan plan, std::optional<Error> why) { adopt(std::move(plan), std::move(why)); },
                                                       failed, [this] { read_again(); }});
  if (m_early_stop.has_begun()) {
    m_plan_preparation->stop();
    m_adoption->stop();
  }
  m_adoption->look_after(m_early_stop.has_begun() ? Duration(0) : EarlierJobAdoption::slow);
  m_plan_preparation->begin();
}

void Session::read_again() {
  m_earlier_job->leave();
  m_plan_preparation->begin();
}

// From now on answers to what is being read are not awaited.
void Session::adopt(plan::Plan plan, std::optional<Error> why) {
  m_plan_preparation->cancel_store_search();
  m_why_no_create = std::move(why);
  follow_plan(std::move(plan));
}

void Session::follow_plan(plan::Plan plan) {
  m_plan_preparation->leave();
  m_adoption->leave();
  m_plan = std::make_unique<plan::Plan>(std::move(plan));
  log(fmt::format("version {} · {} on Kubernetes ({}) · run {}", TRAINSTEP_VERSION, m_plan->job_type, m_place->where(), m_plan->run_id));
  if (m_plan->data.has_agent() && !m_plan->data.only_lease) make_data();
  const bool stopped = m_early_stop.has_begun();
  if (m_data && !stopped)
    if (auto claimed = m_data->claim_outputs(); !claimed) return finish_early(result::from_error(claimed.error()));
  if (m_why_no_create && !stopped) log(describe_wait(*m_plan, *m_why_no_create));
  if (stopped || m_why_no_create) return begin_to_follow();
  if ((m_place->is_remote() || m_choice.has_several()) && !m_options.existing) return run_preflight();
  m_data ? prepare_data() : begin_to_follow();
}

void Session::run_preflight() {
  DataContext data{m_options.wants_stores, m_choice.secret()};
  data.environment = m_options.environment;
  StepPreflight::Context context{m_loop,
                                 m_transport,
                                 *m_plan,
                                 m_facts,
                                 *m_place,
                                 *m_earlier_job,
                                 std::move(data),
                                 m_choice.has_others(),
                                 [this](const auto& line) { log(line); }};
  StepPreflight::Sink sink{[this] { cluster_chosen(); }, [this](const Error& why) { refuse_cluster(why); },
                           [this](const std::string& why) { m_choice.postpone(why); }};
  m_preflight = std::make_unique<StepPreflight>(std::move(context), std::move(sink));
  m_preflight->begin();
}

void Session::cluster_chosen() {
  m_choice.keep(m_place->where());
  m_place->renew_token();
  m_data ? prepare_data() : begin_to_follow();
}

std::unique_ptr<StepData> Session::data_of_job() {
  StepData::Context context{
      m_home, m_transport, m_options.name_space, m_options.environment, {}, m_options.seed + 2, [this](const std::string& line) { log(line); }};
  context.job_attempt = [this] { return m_backend ? m_backend->creating_attempt() : attempt(); };
  context.replaced = [this](const auto& done) { m_order->ask_replaced(done); };
  m_place->add_keys(context, *m_plan);
  return std::make_unique<StepData>(*m_plan, std::move(context));
}

void Session::prepare_data() {
  DataPreparation::Context context{m_loop, *m_plan, *m_data, *m_earlier_job, *m_order, [this](const auto& line) { log(line); }};
  m_data_preparation = std::make_unique<DataPreparation>(
      std::move(context), DataPreparation::Sink{[this](std::optional<Error> why) { prepared(std::move(why)); },
                                                [this](const Error& why) { finish_early(result::from_error(why)); }, [this] { replaced(); }});
  if (!m_plan->data.uploads.empty()) return m_data_preparation->upload_inputs();
  if (!m_plan->data.downloads.empty()) return m_data_preparation->read_credentials();
  begin_to_follow();
}

void Session::prepared(std::optional<Error> why) {
  m_why_no_create = std::move(why);
  begin_to_follow();
}

void Session::own_pod_not_seen() {
  if (m_data_preparation) m_data_preparation->ask_replaced();
}

void Session::replaced() {
  make_data();  // cancels what is in progress
  finish_early({result::VerdictClass::interrupted, "this step's pod is gone: the inputs are left to the next attempt", std::nullopt, false, 0});
}

std::string Session::attempt() const { return fmt::format("{:016x}", m_options.seed); }

void Session::begin_to_follow() {
  m_place->renew_token();
  if (m_early_stop.has_begun()) return stop_and_conclude();
  if (!m_plan->data.task.lease.wanted() || m_options.existing || m_why_no_create) return run();
  m_lease_permission = std::make_unique<LeasePermission>(m_place->client(), m_place->name_space(), [this](bool allowed) {
    if (m_over || m_runner) return;
    m_plan->data.task.lease.expected = allowed;
    m_early_stop.has_begun() ? stop_and_conclude() : run();
  });
}

void Session::create_with_job() {
  auto keys = m_place->keys_of_job(*m_plan, m_data ? m_data->region() : "", m_data ? m_data->clock() : Duration{});
  m_backend->create_with_job(m_place->owned_objects(*m_plan, keys));
  if (keys) m_backend->renew_keys(std::move(*keys));
}

void Session::run() {
  const bool existing = m_options.existing.has_value();
  auto rules = existing ? rules_of(*m_plan, m_options.existing->object) : rules_of(*m_plan);
  auto job_rules = job_rules_of(*m_plan);
  job_rules.is_observer = existing;
  m_backend =
      std::make_unique<ClusterBackend>(m_place->client(), *m_plan, m_place->facts(), m_place->name_space(), attempt(), std::move(m_options.existing));
  m_backend->ordered_by(*m_order);
  if (existing)
    m_backend->observe_only();
  else if (m_early_stop.has_begun())
    m_backend->only_end();
  else
    create_with_job();
  if (m_why_no_create) m_backend->only_follow(*m_why_no_create);
  if (m_signals.first()) m_backend->forbid_create();
  job_rules.at_shell = !in_pod();
  m_runner =
      std::make_unique<run::Runner>(m_loop, *m_backend, m_listeners, std::make_unique<follow::JobRunState>(std::move(rules), std::move(job_rules)));
  m_backend->hold_output(m_pressure);
  m_runner->begin([this](run::Outcome outcome) { training_ended(std::move(outcome)); });
}

void Session::training_ended(run::Outcome outcome) {
  m_over = true;
  if (m_data_preparation) m_data_preparation->leave();
  if (m_backend->is_observer()) return observe_outcome(std::move(outcome));
  if (!m_data || outcome.verdict.verdict_class != result::VerdictClass::succeeded) return deliver(std::move(outcome));
  collect_data(std::move(outcome));
}

void Session::observe_outcome(run::Outcome outcome) {
  ObserverOutcome::Context context{m_loop, *m_backend, m_facts.workflow.has_value(), [this](const auto& line) { log(line); }};
  m_observer_outcome = std::make_unique<ObserverOutcome>(std::move(context), [this](run::Outcome known) { deliver(std::move(known)); });
  m_observer_outcome->begin(std::move(outcome));
}

void Session::collect_data(run::Outcome outcome) {
  OutputCollection::Context context{m_loop, *m_plan, *m_backend, *m_data, [this] { return data_of_job(); }, [this](const auto& line) { log(line); }};
  m_collection = std::make_unique<OutputCollection>(std::move(context), std::move(outcome),
                                                    [this](OutputCollection::Ended ended) { collected(std::move(ended)); });
  m_collection->begin();
}

void Session::collected(OutputCollection::Ended ended) {
  m_contents = std::move(ended.contents);
  if (ended.data == OutputCollection::Data::left) m_data.reset();
  if (ended.data == OutputCollection::Data::unfinished) make_data();
  deliver(std::move(ended.outcome));
}

void Session::deliver(run::Outcome outcome) {
  m_workflow_monitor.reset();
  m_done({std::move(outcome), m_plan.get(), std::move(m_contents)});
}

Result<std::vector<std::string>> Session::commit() { return m_data ? m_data->commit() : std::vector<std::string>(); }

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
                               .client = m_place->client(),
                               .name_space = m_place->name_space(),
                               .plan = m_plan.get(),
                               .backend = m_backend.get(),
                               .data = m_data.get(),
                               .collection = m_collection.get(),
                               .brought = m_data && (m_inputs_uploaded || m_data->has_uploaded()),
                               .retried = is_retried(),
                               .signalled = m_signals.first().has_value(),
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

void Session::hold_output(Pressure pressure) {
  m_pressure = pressure;
  if (m_backend) m_backend->hold_output(pressure);
}

void Session::request_stop(int signal) {
  const bool hurried_on = m_signals.receive(signal);
  if (m_cleanup) m_cleanup->limit();
  if (m_published) return published(Error{ErrorKind::cancelled, fmt::format("{} arrived in the meantime", result::signal_name(signal))});
  if (hurried_on && m_cleanup) return m_cleanup->end("the clean-up was interrupted: the job and its data may still exist");
  if (m_collection && m_collection->in_progress()) return stop_collecting(signal);
  if (m_over) return;
  const bool winds_down = m_early_stop.has_begun() && !m_runner;
  if (hurried_on && winds_down) return finish_early({result::VerdictClass::cancelled, what_may_be_left(), std::nullopt, false, signal});
  if (winds_down) return !m_early_stop.is_limited() ? limit_early_stop() : void();  // it is on its way
  hurry();
  const auto go_on = [this, signal](std::optional<WorkflowMonitor::Eviction> eviction) {
    if (m_runner) return stop_runner(signal, std::move(eviction));
    stop_early(signal, std::move(eviction), "");
  };
  if (m_backend) m_backend->forbid_create();
  if (m_workflow_monitor && signal == SIGTERM) return m_workflow_monitor->ask_why(go_on);
  if (m_workflow_monitor && m_workflow_monitor->hurry()) return;
  go_on(std::nullopt);
}

// The reason only matters if it is certain: results of a training run are not removed in doubt.
void Session::stop_collecting(int signal) {
  const auto leave = [this, signal] { m_collection->leave(signal, is_retried()); };
  if (signal != SIGTERM || m_collection->fetched() || !m_workflow_monitor) return leave();
  m_workflow_monitor->ask_why([this, leave](const auto& /*eviction*/) { m_timers.keep(m_loop.timer(Duration(0), leave)); });
}

void Session::stop_runner(int signal, std::optional<WorkflowMonitor::Eviction> eviction) {
  if (m_over) return;
  const bool retried = is_retried();
  // KFP's launcher does not always kill: its shortest time only counts if a job is left to the next attempt.
  if (eviction || (signal == SIGTERM && in_pod() && !m_facts.launcher)) m_backend->set_kill_time(killed_at());
  if (eviction) {
    if (eviction->since && !m_place->is_remote()) m_backend->set_end_began(*eviction->since);
    m_runner->post(follow::EvictionSeen{std::move(eviction->what), retried});
  }
  m_runner->request_stop(signal);
}

void Session::seen_cancel(const std::string& what) {
  if (m_collection) return m_timers.keep(m_loop.timer(Duration(0), [this, what] { m_collection->drop(what); }));  // the monitor ends with it
  if (m_over) return;
  if (m_runner) return m_runner->post(follow::CancelSeen{what});
  stop_early(0, std::nullopt, what);
}

std::string Session::what_may_be_left() const {
  const std::string left = "a job of an earlier attempt may still exist";
  if (const auto run = known_run(); !run.empty()) return left + ": trainstep stop " + run;
  return left + "; its run is unknown, see trainstep list";
}

// Empty: it is known only from our own pod.
std::string Session::known_run() const {
  if (m_plan) return m_plan->run_id;
  if (!m_options.run_id.empty() || !m_facts_known) return m_options.run_id;
  const auto plan = make_plan();
  return plan ? plan->run_id : "";
}

// Requests before there is a runner may hang, or pause, for longer than there is time.
void Session::hurry() {
  if (m_runner) return;
  m_home.hurry();
  m_place->hurry();
  m_choice.hurry();
}

// At a shell nothing else limits it.
void Session::limit_search(const std::string& why) {
  constexpr Duration search_limit{10'000};
  log(why + ": looking for a job of this run");
  m_timers.keep(m_loop.timer(search_limit, [this] {
    if (m_choice.is_searching() && !m_over) finish_early(m_early_stop.cancelled(what_may_be_left()));
  }));
}

void Session::limit_early_stop() { m_early_stop.limit(!m_facts_known && !m_options.run_id.empty()); }

void Session::out_of_time() {
  if (!m_over && !m_runner) finish_early(m_early_stop.cancelled(what_may_be_left()));
}

// An earlier attempt may have created a job: what is needed to know its name continues, an upload does not.
void Session::stop_early(int signal, std::optional<WorkflowMonitor::Eviction> eviction, const std::string& what) {
  if (m_early_stop.has_begun() || m_over) return;
  m_early_stop.begin({signal, std::move(eviction), what, signal == SIGTERM && !m_workflow_monitor});
  m_choice.stop();
  hurry();
  limit_early_stop();
  if (!m_facts_known) return m_own_facts.read_own_pod_before_stop();
  if (const auto plan = make_plan(); plan && plan->fresh_run)
    return finish_early(m_early_stop.cancelled(what.empty() ? "before a job was created" : what + " before a job was created"));
  if (m_choice.is_searching()) return limit_search(what.empty() ? result::signal_name(signal) + " received" : what);
  m_adoption->stop();
  if (!m_plan_preparation->stop()) m_adoption->look_after(Duration(0));
  if (m_preflight && m_preflight->leave()) return m_loop.post(m_lifetime.bind([this] { stop_and_conclude(); }));
  if (!m_data_preparation) return;
  m_data_preparation->leave();
  m_loop.post(m_lifetime.bind([this] {
    if (m_data_preparation->end()) stop_and_conclude();
  }));
}

void Session::stop_and_conclude() {
  if (m_over || m_runner) return;
  if (m_early_stop.is_why_unknown()) return m_early_stop.ask_why(*m_workflow_monitor, [this] { stop_and_conclude(); });
  m_earlier_job->leave();
  if (m_data) {
    m_inputs_uploaded = m_data->has_uploaded();
    make_data();  // cancels what was in progress
  }
  run();
  const auto& stop = m_early_stop.request();
  if (!stop.what.empty()) return m_runner->post(follow::CancelSeen{stop.what});
  stop_runner(stop.signal, stop.eviction);
}

void Session::finish_early(result::Verdict verdict) {
  m_over = true;
  m_own_facts.leave();
  m_choice.leave();
  if (m_plan_preparation) m_plan_preparation->leave();
  if (m_adoption) m_adoption->leave();
  if (m_preflight) m_preflight->leave();
  if (m_data_preparation) m_data_preparation->leave();
  run::Outcome outcome;
  const bool stopped = verdict.verdict_class == result::VerdictClass::cancelled || verdict.verdict_class == result::VerdictClass::interrupted;
  if (m_early_stop.has_begun() && !stopped) verdict = m_early_stop.cancelled(fmt::format("{} ({})", what_may_be_left(), verdict.message));
  outcome.verdict = std::move(verdict);
  outcome.started = m_began;
  outcome.ended = m_loop.now();
  m_loop.post(m_lifetime.bind([this, outcome = std::move(outcome)]() mutable { m_done({std::move(outcome), m_plan.get(), {}}); }));
}

}  // namespace trainstep::cluster
