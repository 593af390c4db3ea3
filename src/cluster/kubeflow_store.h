// Finds the object store of Kubeflow Pipelines in the cluster, for data of jobs that have no other place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/lifetime.h"
#include "cluster/data.h"
#include "http/transport.h"
#include "kube/client.h"
#include "plan/data.h"

namespace trainstep::cluster {

// Bucket and folder are those that the ConfigMap kfp-launcher gives for artifacts of the namespace, with `jobs` below it; mlpipeline and `jobs` if
// there is none. The server is the one that it names, otherwise the first of objectstore::kfp_endpoints that responds at all; the credentials are
// those of the namespace.
class KubeflowStore {
 public:
  using Done = std::function<void(Result<std::optional<plan::JobFolder>>)>;
  struct Context {
    kube::Client& home;
    http::Transport& transport;
    std::string name_space;
    std::function<void(const std::string& line)> log;  // what was found, or why nothing was
    // Adds settings that take precedence over what was found; empty: there are none.
    std::function<Result<plan::JobFolder>(plan::JobFolder)> complete{};
  };
  // Calls `done` once, from the loop; nullopt: no such server responds within 10 seconds. Errors: input (the ConfigMap), those of `complete`,
  // unavailable (the API server).
  KubeflowStore(Context context, Done done);
  KubeflowStore(const KubeflowStore&) = delete;
  KubeflowStore& operator=(const KubeflowStore&) = delete;
  ~KubeflowStore();

  // No configuration names the server: what was found is the one that answered.
  [[nodiscard]] bool was_searched() const { return !m_configured; }

 private:
  Result<void> take(const LauncherConfig& config);
  void ask(std::size_t which);
  void failed(std::size_t which, const Error& error);
  void found();

  Context m_context;
  Done m_done;
  plan::JobFolder m_folder;
  bool m_configured = false;  // the ConfigMap names the server
  Time m_until;
  std::string m_failures;  // in this round
  http::Transport::Id m_exchange = 0;
  Timer m_timer;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
