// The outputs of a job whose training has succeeded, on their way to the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/backend.h"
#include "cluster/step_data.h"

namespace trainstep::cluster {

// Downloads what the pods have delivered, reads what they could not report and what only they could reach. It ends by itself, by a limit of
// job_options, by leave() or drop(). Then it stays, for the cleanup to know what was lost.
class OutputCollection {
 public:
  // What becomes of the StepData: `unfinished` is in use and has to be replaced, `left` is not to remove anything.
  enum class Data { finished, unfinished, left };
  struct Ended {
    run::Outcome outcome;
    std::map<std::string, std::string> contents;  // by address: outputs that the program delivered there, as far as they were read
    Data data = Data::finished;
  };
  struct Context {
    Loop& loop;
    const plan::Plan& plan;
    ClusterBackend& backend;
    StepData& data;                                         // until the end
    std::function<std::unique_ptr<StepData>()> other_data;  // another one, which can be given up
    std::function<void(const std::string& line)> log;
  };

  // References must outlive it. Calls `done` once, from the loop or from leave() and drop().
  OutputCollection(Context context, run::Outcome outcome, std::function<void(Ended)> done);
  OutputCollection(const OutputCollection&) = delete;
  OutputCollection& operator=(const OutputCollection&) = delete;

  void begin();
  // Whether all results of the training are here; only curves may be missing.
  [[nodiscard]] bool fetched() const { return m_fetched; }
  // Of the results: gone for good.
  [[nodiscard]] staging::Fetching::Lost lost() const { return m_lost; }
  [[nodiscard]] bool in_progress() const { return m_done != nullptr; }
  // A signal arrived: if results are missing, the job and its data are kept, for the next attempt if the step is `retried`.
  void leave(int signal, bool retried);
  // Abandons the results, because the step was cancelled by `what`. Does nothing if they have been fetched.
  void drop(const std::string& what);

 private:
  void limit(const std::string& option, const std::string& of, const std::optional<Duration>& time, Duration spent);
  void reported(Result<result::PodReport> report, const std::string& where);
  void download();
  void look();
  void read();
  void lose(Error error);
  void lose(result::Verdict verdict, Data data = Data::finished);
  void fetch_curves();
  void curves_fetched(Result<result::PodReport> report);
  void end(Data data = Data::finished);

  Context m_context;
  run::Outcome m_outcome;
  std::function<void(Ended)> m_done;  // null: it has ended
  std::map<std::string, std::string> m_contents;
  std::unique_ptr<StepData> m_curves;  // while curves are downloaded
  staging::Fetching::Lost m_lost{};
  bool m_fetched = false;
  PendingSet<Loop> m_timers;
};

}  // namespace trainstep::cluster
