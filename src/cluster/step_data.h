// The step's part in the data of its job: what goes through the job's prefix, what the pods could not report, and what is removed at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/lifetime.h"
#include "cluster/secret_credentials.h"
#include "cluster/step_data_removal.h"
#include "data/pending_output.h"
#include "http/transport.h"
#include "kube/client.h"
#include "objectstore/credentials.h"
#include "objectstore/listing.h"
#include "objectstore/provider.h"
#include "plan/plan.h"
#include "result/pod_report.h"
#include "run/backend.h"
#include "staging/delivery.h"
#include "staging/fetching.h"
#include "staging/stores.h"

namespace trainstep::cluster {

class StepData {
 public:
  struct Context {
    kube::Client& home;  // of the cluster of the step, whose Secrets it may read
    http::Transport& transport;
    std::string name_space;                                // of the step
    std::map<std::string, std::string> environment;        // for credentials that are in no Secret
    std::map<std::string, objectstore::Credentials> keys;  // by Secret: those that are already known
    std::uint64_t seed;
    std::function<void(const std::string& line)> log;
    // Asked before anything is removed: whether the next attempt may have started, whose data are in the same places. Calls `done` once, perhaps
    // immediately.
    std::function<void(std::function<void(Result<bool> replaced)> done)> replaced = [](const auto& done) { done(false); };
    std::function<std::string()> job_attempt = [] { return std::string(); };  // of the followed job, which signs what it puts on a claim
    objectstore::CredentialsRef credentials_ref =
        {};                 // where `keys` were found, and are read again if the store refuses them; without a Secret they stay
    std::string copy = {};  // of these keys: a Secret of the job in another cluster, which is not in this one
    // For reading a Secret after the training; before it, silence counts.
    kube::Retry retry = {.at_most = Duration(300'000), .silence_counts = false, .doubts_refusals = true};
  };
  using Done = std::function<void(Result<void>)>;  // called once, from the loop

  // The plan must outlive it.
  StepData(const plan::Plan& plan, Context context);
  StepData(const StepData&) = delete;
  StepData& operator=(const StepData&) = delete;

  // Reads the credentials of the stores if the step itself uploads inputs or downloads outputs: once, for everything that follows, and again only if
  // a store refuses them; and tries whether they may read where the outputs will be. Errors: input (credentials), not_found, denied, unavailable.
  void read_credentials(Done done);
  // Uploads local inputs to the job's prefix. Errors: input (a missing path, credentials, bucket), denied, unavailable.
  void upload(Done done);
  // Of the bucket of the job's prefix, as the store has reported it, or as configured; empty: unknown.
  [[nodiscard]] std::string region() const;
  // How far the clock of its store is ahead of ours, if that is known to be minutes; otherwise 0.
  [[nodiscard]] Duration clock() const;
  // Whether upload() may have put something into the prefix.
  [[nodiscard]] bool has_uploaded() const { return m_delivery != nullptr; }
  // Ends an upload in progress, and removes the inputs from the prefix. Errors: as above.
  void remove_inputs(const Done& done);
  // The same after the training, which has used them.
  void remove_used_inputs(const Done& done) { m_removal.remove_inputs(1, done); }
  // Keeps others away from the step's paths that download() is to fill. Errors: input (another run writes there), denied, internal.
  Result<void> claim_outputs();
  // Downloads those of `outputs` that the run has written from the job's prefix to where they wait for commit(): OutputFound::pending. Errors: as
  // above.
  void download(std::vector<run::OutputFound>& outputs, Done done);
  // After download(), look_for() or whole_report() has failed: which results are gone for good, according to the stores themselves. All of them: a
  // listing shows nothing.
  [[nodiscard]] staging::Fetching::Lost lost() const { return m_lost; }
  // As run::Backend::commit(), for what was downloaded.
  Result<std::vector<std::string>> commit();
  // The step has succeeded: removes what was set aside on a claim for the results of the job. Returns what could not be removed.
  std::vector<std::string> confirm();
  // What the job has put on claims and is still there: one sentence each.
  [[nodiscard]] std::vector<std::string> left_on_claims() const { return m_removal.left_on_claims(); }
  // Reads what the program delivered to addresses where the step writes as well (its metrics, …), by address. An unreadable one is reported, and not
  // an error.
  void read(const std::vector<run::OutputFound>& outputs, std::function<void(std::map<std::string, std::string>)> done);
  // Whether what the run, according to `outputs`, has put on a claim, or, with `everywhere`, at other addresses, still exists: on a claim exactly
  // that. Waits for what a pod has put there, because the file system may show it late on another node. Errors: as above; not_found.
  enum class Where { on_claims, everywhere };
  void look_for(const std::vector<run::OutputFound>& outputs, Where where, Done done);
  // Reads the record of the finished training: what had no room in the message of a pod. Errors: as above; not_found.
  void whole_report(std::function<void(Result<result::PodReport>)> done);
  // Removes the job's prefix, and its record on a claim. Errors: as above; but without permission to read the credentials a record alone stays.
  void remove_prefix(const Done& done) { m_removal.remove_prefix(done); }
  // The same after a training run that has not succeeded: takes back what it has put on claims and restores what was there before; removes what it
  // has put at addresses that others see; then the prefix, except for the checkpoints if they are to stay. What cannot be taken back is an error; for
  // addresses there is a `limit`, and the list by which the next attempt finds them is kept.
  void remove_unfinished(bool checkpoints_stay, Duration limit, const Done& done) { m_removal.remove_unfinished(checkpoints_stay, limit, done); }

 private:
  void open(Done done);
  void request_credentials();
  void asked(const Result<objectstore::Credentials>& keys);
  void try_to_read(Done done);
  void tried_to_read(const objectstore::Answer<std::string>& answer);
  void refuse(const Error& why);
  void doubt(const std::string& why);
  void log(const Result<void>& result);
  void found(std::shared_ptr<objectstore::CredentialsProvider> keys, Done done);
  std::unique_ptr<objectstore::CredentialsProvider> renewed(const objectstore::CredentialsRef& at, objectstore::Credentials first);
  void later(std::function<void()> task);
  using Lost = staging::Fetching::Lost;
  bool again(const Error& error, std::function<void()> task);
  void lose(Lost lost, const Error& error, const Done& done);
  void lack(std::string what, const Done& done);
  void read_next();
  void check_next_delivered(const Done& done);
  void check_on_claim(const run::OutputFound& output, int looks, const Done& done);

  const plan::Plan& m_plan;
  Context m_context;
  std::vector<staging::Stores::Opened> m_found;               // so far
  std::shared_ptr<objectstore::CredentialsProvider> m_asked;  // for the first time
  std::unique_ptr<staging::Stores> m_stores;
  std::unique_ptr<staging::Fetching> m_fetching;
  std::unique_ptr<staging::Delivery> m_delivery;
  std::vector<const run::OutputFound*> m_to_read, m_to_find;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::map<std::string, std::string> m_contents;  // by address
  std::function<void(std::map<std::string, std::string>)> m_read;
  std::vector<plan::TaskInput> m_inputs;
  std::map<std::string, PendingOutput> m_pending;  // by output
  std::vector<plan::TaskOutput> m_outputs;
  kube::PendingCall m_call;
  objectstore::PendingCall m_reading, m_report_call;
  Timer m_next_look;
  Lost m_lost{};
  std::size_t m_artifacts = 0;      // that the run has written, according to look_for()
  std::optional<Deadline> m_limit;  // for what is refused, or not there
  Duration m_pause{};
  Lifetime m_lifetime;
  StepDataRemoval m_removal;
  Done m_wanted;  // while keys are asked for, or reading is tried
};

}  // namespace trainstep::cluster
