// The step's own half of its job's data: what goes through the job's prefix, what the pods could not tell, and what is removed at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/secret_keys.h"
#include "data/pending_output.h"
#include "http/transport.h"
#include "kube/client.h"
#include "objectstore/credentials.h"
#include "objectstore/listing.h"
#include "objectstore/provider.h"
#include "plan/plan.h"
#include "result/pod_report.h"
#include "run/backend.h"
#include "staging/staging.h"

namespace trainstep::cluster {

class StepData {
 public:
  struct Context {
    kube::Client& home;  // of the cluster where the step is: there are the Secrets that it may read
    http::Transport& transport;
    std::string name_space;                                // the step's
    std::map<std::string, std::string> environment;        // where keys are that no Secret holds
    std::map<std::string, objectstore::Credentials> keys;  // by Secret: those that are known already
    std::uint64_t seed;
    std::function<void(const std::string& line)> say;
    // Asked before anything is removed: whether the next attempt may have come, whose data lie in the same places. `done`: once, perhaps at once.
    std::function<void(std::function<void(Result<bool> replaced)> done)> replaced = [](const auto& done) { done(false); };
    std::function<std::string()> job_attempt = [] { return std::string(); };  // of the job that is followed: it signs what it puts on a claim
    objectstore::CredentialsRef keys_at = {};  // where `keys` were found, and are found anew when the store refuses them; without a Secret they stay
    kube::Retry retry = {Duration(300'000), false};  // of a Secret's reading
  };
  using Done = std::function<void(Result<void>)>;  // once, from the loop

  // The plan must outlive it.
  StepData(const plan::Plan& plan, Context context);
  StepData(const StepData&) = delete;
  StepData& operator=(const StepData&) = delete;
  ~StepData();  // what is under way is cancelled

  // The keys to the stores, where the step itself brings inputs or fetches outputs: read once, for all that follows, and anew only where a store
  // refuses them. Errors: input (keys), not_found, denied, unavailable.
  void find_keys(Done done);
  // Local inputs to the job's prefix.
  // Errors: input (a path that does not exist, keys, bucket), denied, unavailable.
  void upload(Done done);
  // Whether something may lie in the prefix that upload() has put there.
  [[nodiscard]] bool has_uploaded() const { return m_delivery != nullptr; }
  // An upload that is under way ends, and the inputs go from the prefix. Errors: as above.
  void remove_inputs(Done done);
  // Keeps others away from the step's paths that download() is to fill. Errors: input (another run writes there), denied, internal.
  Result<void> claim_outputs();
  // Those of `outputs` that the run has written, from the job's prefix to where they wait for commit(): OutputFound::pending. Errors: as above.
  void download(std::vector<run::OutputFound>& outputs, Done done);
  // After it has failed: what of them is gone for good.
  [[nodiscard]] staging::Fetching::Lost lost() const { return m_fetching ? m_fetching->lost() : staging::Fetching::Lost::nothing; }
  // As run::Backend::commit(), of what was downloaded.
  Result<std::vector<std::string>> commit();
  // The step has succeeded: what gave way on a claim for what the job has put there is not wanted any more. → what could not be removed.
  std::vector<std::string> confirm();
  // What the job has put on claims, and lies there: a sentence each.
  [[nodiscard]] std::vector<std::string> left_on_claims() const;
  // What the program delivered to addresses where the step writes as well (its metrics, …), by address. What cannot be read is said, and no error.
  void read(const std::vector<run::OutputFound>& outputs, std::function<void(std::map<std::string, std::string>)> done);
  // Whether what `outputs` say that the run has put on a claim, or, if asked, where others look, lies there still: on a claim exactly that. What a
  // pod has put there is waited for: another node's file system may show it late. Errors: as above; not_found.
  enum class Where { on_claims, everywhere };
  void look_for(const std::vector<run::OutputFound>& outputs, Where where, Done done);
  // The record of the finished training: what a pod's message had no room for. Errors: as above; not_found.
  void whole_report(std::function<void(Result<result::PodReport>)> done);
  // The job's prefix goes, and its record on a claim. Errors: as above; that the keys may not be read is none: then it stays.
  void remove_prefix(Done done);
  // The same after a training that has not succeeded: what it has put on claims is taken back, and what lay there before is there again; what it has
  // put at addresses that others see goes; then the prefix, but for the checkpoints where they are to stay. What cannot be taken back is an error; of
  // addresses there is `limit` for it, and the list by which the next attempt knows it is kept.
  void remove_unfinished(bool checkpoints_stay, Duration limit, Done done);

 private:
  void open(Done done);
  void found(std::shared_ptr<objectstore::CredentialsProvider> keys, Done done);
  std::unique_ptr<objectstore::CredentialsProvider> renewed(const objectstore::CredentialsRef& at, objectstore::Credentials first);
  void later(std::function<void()> task);
  void remove(const std::string& uri, int looks, Done done);
  void unless_replaced(const Done& done, std::function<void()> task);
  void read_next();
  void look_for_next(const Done& done);
  void look_on_claim(const run::OutputFound& output, int looks, const Done& done);
  Result<void> take_back_from_claims();
  void retract(const std::vector<plan::TaskOutput>& seen, bool checkpoints_stay, Duration limit, const Done& done);
  void remove_rest(bool checkpoints_stay, const Done& done);
  void remove_all_but_checkpoints(const Done& done);

  const plan::Plan& m_plan;
  Context m_context;
  std::vector<staging::Stores::Opened> m_found;  // so far
  std::unique_ptr<staging::Stores> m_stores;
  std::unique_ptr<staging::Fetching> m_fetching;
  std::unique_ptr<staging::Delivery> m_delivery;
  std::unique_ptr<staging::Delivery> m_retraction;
  std::unique_ptr<objectstore::Removal> m_removal;
  std::vector<const run::OutputFound*> m_to_read, m_to_find;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::map<std::string, std::string> m_contents;  // by address
  std::function<void(std::map<std::string, std::string>)> m_read;
  std::vector<plan::TaskInput> m_inputs;
  std::map<std::string, PendingOutput> m_pending;  // by output
  std::vector<plan::TaskOutput> m_outputs;
  kube::Client::CallId m_call = 0;
  std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);
};

}  // namespace trainstep::cluster
