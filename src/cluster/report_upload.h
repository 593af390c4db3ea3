// Uploads a page to the address that KFP has for it: after a failure its launcher uploads nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/lifetime.h"
#include "http/transport.h"
#include "kube/client.h"
#include "objectstore/client.h"
#include "objectstore/provider.h"

namespace trainstep::cluster {

// The store and its credentials are given by KFP's configuration of the step's namespace. Limited in time: the cleanup of the job waits for it.
class ReportUpload {
 public:
  struct Context {
    kube::Client& home;  // of the cluster of the step
    http::Transport& transport;
    std::string name_space;                          // of the step
    std::map<std::string, std::string> environment;  // for credentials that are in no Secret
    std::uint64_t seed;
  };
  using Done = std::function<void(Result<void>)>;  // called once, from the loop; may destroy this object

  // References must outlive it. Starts immediately.
  ReportUpload(Context context, std::string uri, std::string page, Done done);
  ReportUpload(const ReportUpload&) = delete;
  ReportUpload& operator=(const ReportUpload&) = delete;

 private:
  void find_keys(const std::string& providers);
  void put(const std::shared_ptr<objectstore::CredentialsProvider>& keys);
  void finish(Result<void> result);

  Context m_context;
  std::string m_uri, m_page;
  Done m_done;
  objectstore::Address m_address;
  objectstore::Provider m_provider;
  std::unique_ptr<objectstore::Client> m_client;
  kube::PendingCall m_call;
  objectstore::PendingCall m_put;
  Timer m_timer;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
