// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/printable.h"
#include "base/regular_file.h"
#include "cluster/data.h"
#include "cluster/objects.h"
#include "data/path_snapshot.h"
#include "data/signature.h"
#include "data/taking_back.h"
#include "objectstore/remote_credentials.h"
#include "staging/delivery_listing.h"

namespace trainstep::cluster {
namespace {

using objectstore::Address;

constexpr Duration second{1'000};
constexpr Duration outputs_timeout{20'000};  // the same for what is refused, or not there, after the training
constexpr int looks_on_claims = 65;          // NFS may show a folder as it was a minute ago (acdirmax, nfs(5))

template <typename T>
Result<T> without_status(objectstore::Answer<T> answer) {
  if (!answer) return std::move(answer.error().error);
  return std::move(*answer);
}

bool is_downloaded(const plan::Plan& plan, const std::string& output) {
  return std::ranges::find(plan.data.downloads, output, &plan::StagedPath::name) != plan.data.downloads.end();
}

constexpr std::size_t max_record_size = std::size_t{32} << 20U;

Result<result::PodReport> report_in(std::string_view text, const std::string& where) {
  auto report = result::read_pod_report(text);
  if (!report) return Error{ErrorKind::unavailable, fmt::format("{}: cannot read the record of the finished training: {}", where, excerpt(text))};
  return std::move(*report);
}

}  // namespace

StepData::StepData(const plan::Plan& plan, Context context)
    : m_plan(plan),
      m_context(std::move(context)),
      m_removal(
          {m_context.home.loop(), m_plan,
           [this](const auto& done) { open([this, done](const Result<void>& opened) { opened ? done(m_stores.get()) : done(opened.error()); }); },
           m_context.replaced, m_context.job_attempt, m_context.log}) {}

// Opens the stores of the plan one after the other, because their credentials are in Secrets.
void StepData::open(Done done) {
  if (m_stores) return done({});
  if (m_found.size() == m_plan.data.secrets.size()) {
    auto opened = staging::Stores::open(m_context.home.loop(), m_context.transport, std::move(m_found), m_context.seed);
    m_found.clear();
    if (!opened) return done(std::move(opened.error()));
    m_stores = std::move(*opened);
    m_stores->on_waiting(m_context.log);
    return done({});
  }
  const auto& access = m_plan.data.secrets[m_found.size()];
  if (access.secret.empty()) {
    if (auto keys = objectstore::check_keys(m_context.environment); !keys) return later([done = std::move(done), keys] { done(keys); });
    m_asked = objectstore::keys_of(m_context.home.loop(), m_context.transport, m_context.environment, access.region);
    m_wanted = std::move(done);
    return request_credentials();
  }
  if (const auto known = m_context.keys.find(access.secret); known != m_context.keys.end())
    return found(
        m_context.credentials_ref.secret.empty() ? objectstore::fixed_credentials(known->second) : renewed(m_context.credentials_ref, known->second),
        std::move(done));
  const bool copied = access.secret == m_context.copy;
  const auto at = copied ? m_context.credentials_ref : objectstore::CredentialsRef{access.secret, access.access_key_key, access.secret_key_key};
  const auto read = [this, at, done = std::move(done)](const kube::Answer& answer) {
    auto keys = credentials_from(answer, m_context.name_space, at);
    if (!keys) return done(std::move(keys.error()));
    found(renewed(at, std::move(*keys)), done);
  };
  m_call = m_context.home.get({"v1", "secrets", m_context.name_space, at.secret, ""}, {}, m_context.retry, read);
}

std::string StepData::region() const {
  const auto& prefix = m_plan.data.prefix;
  const auto at = prefix.in_store() ? Address::parse(prefix.uri) : Result<Address>(input_error("none"));
  return m_stores && at ? m_stores->of(prefix).region_of(at->bucket) : std::string();
}

Duration StepData::clock() const { return m_stores && m_plan.data.prefix.in_store() ? m_stores->of(m_plan.data.prefix).clock() : Duration{}; }

// What the environment names may not be there: that is known before it is needed.
void StepData::request_credentials() {
  m_asked->ask([this](const Result<objectstore::Credentials>& keys) { asked(keys); });
}

void StepData::asked(const Result<objectstore::Credentials>& keys) {
  if (keys) m_limit.reset();
  if (keys) return found(std::exchange(m_asked, nullptr), std::exchange(m_wanted, nullptr));
  auto error = in_context("credentials of the object store", keys.error());
  const bool waits = error.kind == ErrorKind::unavailable;
  auto& loop = m_context.home.loop();
  if (waits && !m_limit) m_context.log(error.message + "; trying again");
  if (waits && !m_limit) m_limit.emplace(loop).set(m_context.retry.at_most.value_or(second));
  if (waits && !m_limit->passed()) {
    m_next_look = loop.timer(second, [this] { request_credentials(); });
    return;
  }
  m_limit.reset();
  if (!waits) error.kind = ErrorKind::input;
  m_next_look = loop.timer(Duration(0), [this, error = std::move(error)] { std::exchange(m_wanted, nullptr)(error); });
}

// What the pods will deliver is not there yet: credentials that may read and list it are told so. A store that only the pods reach, and one that does
// not permit listing, and so refuses what does not exist, leave a doubt.
void StepData::try_to_read(Done done) {
  constexpr Duration max_response_time{10'000};
  if (m_plan.data.downloads.empty()) return done({});
  const auto& place = m_plan.data.downloads.front().at;
  const auto address = Address::parse(staging::delivery_list_of(place.uri));
  if (!address) return done(address.error());
  m_wanted = std::move(done);
  m_next_look = m_context.home.loop().timer(max_response_time, [this] {
    m_reading.cancel();
    doubt(m_plan.data.task.stores[m_plan.data.downloads.front().at.store].endpoint + " does not answer");
  });
  m_reading = m_stores->of(place).get(*address, std::nullopt, "", [this](const auto& answer) { tried_to_read(answer); });
}

void StepData::tried_to_read(const objectstore::Answer<std::string>& answer) {
  if (answer || answer.error().error.kind == ErrorKind::not_found) return log({});
  const auto& code = answer.error().code;
  const auto& why = answer.error().error;
  if (code == "NoSuchBucket" || (why.kind == ErrorKind::denied && !code.empty() && code != "AccessDenied")) return refuse(why);
  if (code != "AccessDenied") return doubt(why.message);
  const auto& place = m_plan.data.downloads.front().at;
  const auto address = *Address::parse(staging::delivery_list_of(place.uri));
  m_reading =
      m_stores->of(place).list(address.bucket, address.key, "", [this, why](const auto& listed) { listed ? refuse(why) : doubt(why.message); });
}

void StepData::refuse(const Error& why) { log(in_context("the outputs could not be fetched", why)); }

void StepData::doubt(const std::string& why) {
  m_context.log("cannot tell whether the outputs can be fetched: " + why);
  log({});
}

void StepData::log(const Result<void>& result) {
  m_next_look.cancel();
  std::exchange(m_wanted, nullptr)(result);
}

std::unique_ptr<objectstore::CredentialsProvider> StepData::renewed(const objectstore::CredentialsRef& at, objectstore::Credentials first) {
  return std::make_unique<SecretCredentials>(m_context.home, m_context.name_space, at, std::move(first), m_context.log);
}

void StepData::found(std::shared_ptr<objectstore::CredentialsProvider> keys, Done done) {
  m_found.push_back({m_plan.data.task.stores[m_found.size()], std::move(keys)});
  open(std::move(done));
}

void StepData::read_credentials(Done done) {
  const bool needed = !m_plan.data.uploads.empty() || !m_plan.data.downloads.empty();
  m_context.retry.silence_counts = true;
  later([this, needed, done = std::move(done)] {
    if (!needed) return done({});
    open([this, done](Result<void> opened) { opened ? try_to_read(done) : done(std::move(opened)); });
  });
}

void StepData::upload(Done done) {
  m_context.retry.silence_counts = true;
  for (const auto& carried : m_plan.data.uploads)
    if (std::error_code unknown; !std::filesystem::exists(carried.path, unknown))
      return later([done, &carried] { done(input_error(fmt::format("{}: {} does not exist", carried.name, carried.path))); });
  read_credentials([this, done = std::move(done)](Result<void> opened) {
    if (!opened) return done(std::move(opened));
    for (const auto& carried : m_plan.data.uploads) {
      plan::TaskOutput output;
      output.name = carried.name;
      output.path = carried.path;
      output.to = carried.at;
      m_outputs.push_back(std::move(output));
    }
    const auto files = m_outputs.size();
    m_delivery = std::make_unique<staging::Delivery>(
        *m_stores, m_outputs, Duration(0),
        staging::StagingSink{m_context.log,
                             [this, done, files](Result<staging::Staged> staged) {
                               if (!staged) return done(std::move(staged.error()));
                               m_context.log(fmt::format("{} input{} copied to {}: {}", files, files == 1 ? "" : "s", m_plan.data.prefix.uri,
                                                         staging::describe(*staged)));
                               done({});
                             }},
        staging::DeliveryOptions{.equal = staging::DeliveryOptions::Equal::content, .own = m_plan.data.prefix.uri, .written = {}, .what = "input"});
  });
}

Result<void> StepData::claim_outputs() {
  for (const auto& carried : m_plan.data.downloads) {
    if (m_pending.contains(carried.name) || !PendingOutput::possible(carried.path)) continue;
    auto pending = in_context(carried.name, PendingOutput::open(carried.path, ""));
    if (!pending && pending.error().kind == ErrorKind::conflict) return input_error(pending.error().message);
    if (!pending) return std::move(pending.error());
    m_pending.emplace(carried.name, std::move(*pending));
  }
  return {};
}

void StepData::remove_inputs(const Done& done) {
  const bool sent = m_delivery != nullptr;  // by this object
  m_delivery.reset();
  m_removal.remove_inputs(sent ? 2 : 3, done);
}

void StepData::download(std::vector<run::OutputFound>& outputs, Done done) {
  m_context.retry.silence_counts = false;
  if (auto claimed = claim_outputs(); !claimed) return later([done, error = claimed.error()] { done(error); });
  for (const auto& carried : m_plan.data.downloads) {
    const auto here = [&](const run::OutputFound& output) {
      return output.name == carried.name && output.present && !output.earlier && !output.no_file && output.path == carried.path;
    };
    const auto output = std::ranges::find_if(outputs, here);
    if (output == outputs.end()) continue;
    if (const auto pending = m_pending.find(carried.name); pending != m_pending.end()) output->pending = pending->second.path().string();
    m_inputs.push_back({carried.name, output->pending.empty() ? carried.path : output->pending, carried.at});
  }
  if (m_inputs.empty()) return later([done = std::move(done)] { done({}); });
  open([this, done = std::move(done)](Result<void> opened) {
    if (!opened) return done(std::move(opened));
    m_fetching = std::make_unique<staging::Fetching>(*m_stores, m_inputs,
                                                     staging::StagingSink{m_context.log,
                                                                          [this, done](Result<staging::Staged> staged) {
                                                                            if (!staged) return lose(m_fetching->lost(), staged.error(), done);
                                                                            m_context.log(fmt::format("outputs: {}", staging::describe(*staged)));
                                                                            done({});
                                                                          }},
                                                     m_plan.data.prefix.uri, "output");
  });
}

Result<std::vector<std::string>> StepData::commit() {
  std::vector<std::string> told;
  for (auto& [name, pending] : m_pending) {
    const auto fetched = std::ranges::any_of(m_inputs, [&name](const auto& input) { return input.name == name; });
    if (!fetched) continue;
    ASSIGN(const auto aside, pending.commit());
    if (aside) told.push_back(fmt::format("{}: the previous contents of {} are kept as {}", name, pending.target().string(), aside->string()));
    if (!pending.unremoved().empty()) told.push_back(fmt::format("{}: cannot remove the replaced contents: {}", name, pending.unremoved()));
  }
  return told;
}

std::vector<std::string> StepData::confirm() {
  std::vector<std::string> told;
  for (const auto& [name, path] : on_claims(m_plan))
    if (const auto confirmed = confirm_output(path, m_context.job_attempt()); !confirmed)
      told.push_back(fmt::format("{}: cannot remove the replaced contents: {}", name, confirmed.error().message));
  return told;
}

// A model is never overwritten, and may be large.
void StepData::read(const std::vector<run::OutputFound>& outputs, std::function<void(std::map<std::string, std::string>)> done) {
  for (const auto& output : outputs)
    if (output.artifact && output.present && !output.earlier && !output.no_file && !output.step_path.empty() && output.step_path != "model_dir")
      m_to_read.push_back(&output);
  m_read = std::move(done);
  later([this] { read_next(); });
}

void StepData::read_next() {
  if (m_to_read.empty()) return m_read(std::move(m_contents));
  const auto& output = *m_to_read.back();
  m_to_read.pop_back();
  const auto& delivered = m_plan.data.task.outputs;
  const auto place = std::ranges::find_if(delivered, [&](const plan::TaskOutput& o) { return o.to.in_store() && o.to.uri == output.path; });
  if (place == delivered.end()) return read_next();
  const auto next = [this, uri = output.path, what = output.step_path](Result<std::string> content) {
    if (content)
      m_contents[uri] = std::move(*content);
    else
      m_context.log(fmt::format("{}: the program's output is not merged with its log's metrics: {}", what, content.error().message));
    read_next();
  };
  open([this, &to = place->to, next](const Result<void>& opened) {
    if (!opened) return next(opened.error());
    auto address = Address::parse(to.uri);
    if (!address) return next(std::move(address.error()));
    m_reading = m_stores->of(to).get(*address, std::nullopt, "", [next](auto answer) { next(without_status<std::string>(std::move(answer))); });
  });
}

void StepData::look_for(const std::vector<run::OutputFound>& outputs, Where where, Done done) {
  const auto claims = on_claims(m_plan);
  for (const auto& output : outputs) {
    if (!output.artifact || !output.present || output.earlier || output.no_file) continue;
    ++m_artifacts;
    if (where == Where::everywhere || claims.contains(output.name)) m_to_find.push_back(&output);
  }
  later([this, done = std::move(done)] { check_next_delivered(done); });
}

void StepData::check_next_delivered(const Done& done) {
  if (m_to_find.empty()) return done({});
  const auto& output = *m_to_find.back();
  m_to_find.pop_back();
  const auto found = [this, &output, done](bool there) {
    there ? check_next_delivered(done) : lack(fmt::format("{}: {} no longer exists", output.name, output.path), done);
  };
  if (on_claims(m_plan).contains(output.name)) return check_on_claim(output, looks_on_claims, done);
  const auto place = std::ranges::find(m_plan.data.task.outputs, output.name, &plan::TaskOutput::name);
  if (place == m_plan.data.task.outputs.end() || is_downloaded(m_plan, output.name)) return found(true);
  if (!place->to.in_store()) return found(true);
  open([this, &output, &to = place->to, done, found](const Result<void>& opened) {
    if (!opened) return done(opened.error());
    auto address = Address::parse(to.uri);
    if (!address) return done(std::move(address.error()));
    m_listing = std::make_unique<objectstore::Listing>(m_stores->of(to), std::move(*address), [this, &output, done, found](const auto& there) {
      if (there) return found(!there->empty());
      const auto look = [this, &output, done] {
        m_to_find.push_back(&output);
        check_next_delivered(done);
      };
      if (const auto error = there.error().error; !again(error, look)) done(error);
    });
  });
}

// An output is not there. Of several, the others are what is left.
void StepData::lack(std::string what, const Done& done) {
  m_lost = m_artifacts > 1 ? Lost::some : Lost::all;
  done(Error{ErrorKind::not_found, std::move(what)});
}

// What belongs to the job may be refused for a moment: its credentials are being replaced, or another server answers for the store.
bool StepData::again(const Error& error, std::function<void()> task) {
  if (error.kind == ErrorKind::unavailable || error.kind == ErrorKind::internal) return false;
  auto& loop = m_context.home.loop();
  if (!m_limit) m_limit.emplace(loop).set(outputs_timeout);
  if (m_limit->passed()) return false;
  m_pause = std::max(second, 2 * m_pause);
  m_context.log(fmt::format("{}; trying again in {}", error.message, trainstep::describe(m_pause)));
  m_next_look = loop.timer(m_pause, std::move(task));
  return true;
}

// An answer about one object does not say that all is gone: only a listing that shows nothing does.
void StepData::lose(Lost lost, const Error& error, const Done& done) {
  const auto& prefix = m_plan.data.prefix;
  const auto is_elsewhere = [&](const plan::TaskOutput& output) {
    return output.to.in_store() ? !output.to.uri.starts_with(prefix.uri + '/') : !output.folder_is.empty();
  };
  if (lost == Lost::all && std::ranges::any_of(m_plan.data.task.outputs, is_elsewhere)) lost = Lost::some;
  m_lost = lost == Lost::some ? lost : Lost::nothing;
  const auto address = Address::parse(prefix.uri + "/outputs");
  if (lost != Lost::all || !address) return done(error);
  m_listing = std::make_unique<objectstore::Listing>(m_stores->of(prefix), *address, [this, error, done](const auto& there) {
    if (there) m_lost = there->empty() ? Lost::all : Lost::some;
    done(error);
  });
}

void StepData::check_on_claim(const run::OutputFound& output, int looks, const Done& done) {
  const auto ours = signed_by(output.path, m_context.job_attempt());
  const bool there = may_hold_files(output.path);
  if (there && ours == Signed::unknown)
    m_context.log(
        fmt::format("{}: cannot tell whether {} belongs to this run: no permission to read it, or no attributes", output.name, output.path));
  if (there && ours != Signed::no && ours != Signed::changed) return check_next_delivered(done);
  if (looks == 0)
    return lack(there ? fmt::format("{}: the contents of {} are not from this run", output.name, output.path)
                      : fmt::format("{}: {} no longer exists", output.name, output.path),
                done);
  if (looks == looks_on_claims - 5)
    m_context.log(fmt::format("{}: the training's output at {} is not visible here; retrying for a minute", output.name, output.path));
  m_next_look = m_context.home.loop().timer(second, [this, &output, looks, done] { check_on_claim(output, looks - 1, done); });
}

void StepData::whole_report(std::function<void(Result<result::PodReport>)> done) {
  m_context.retry.silence_counts = false;
  const auto& place = m_plan.data.task.record;
  if (!m_plan.data.record_in_step.empty())
    return later([this, done] {
      auto text = read_regular_file(m_plan.data.record_in_step, max_record_size);
      if (!text && text.error().kind == ErrorKind::not_found) m_lost = Lost::all;
      if (!text) return done(std::move(text.error()));
      done(report_in(*text, m_plan.data.record_in_step));
    });
  if (!place.in_store())
    return later([done] {
      done(Error{ErrorKind::unavailable,
                 fmt::format("the returned values exceed the {} bytes that a pod can report; write large values to an artifact",
                             result::max_termination_message_size)});
    });
  open([this, &place, done = std::move(done)](Result<void> opened) {
    if (!opened) return done(std::move(opened.error()));
    auto address = Address::parse(place.uri);
    if (!address) return done(std::move(address.error()));
    m_report_call = m_stores->of(place).get(*address, std::nullopt, "", [this, &place, done](auto answer) {
      auto report = answer ? report_in(*answer, place.uri) : Result<result::PodReport>(answer.error().error);
      if (report) return done(std::move(report));
      const auto error = report.error();
      if (again({answer ? ErrorKind::input : error.kind, error.message}, [this, done] { whole_report(done); })) return;
      lose(error.kind == ErrorKind::not_found ? Lost::all : Lost::nothing, error, [done, error](const Result<void>&) { done(error); });
    });
  });
}

// Results are never delivered from within the call.
void StepData::later(std::function<void()> task) {
  m_context.home.loop().post(m_lifetime.bind([task = std::move(task)] { task(); }));
}

}  // namespace trainstep::cluster
