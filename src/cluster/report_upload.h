// A page on its way to the address that KFP has for it: after a failure its launcher uploads nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "http/transport.h"
#include "kube/client.h"
#include "objectstore/client.h"
#include "objectstore/provider.h"

namespace trainstep::cluster {

// Where the store is and which keys open it, says KFP's configuration of the step's namespace. Bounded in time: the job's clean-up waits behind it.
class ReportUpload {
 public:
  struct Context {
    kube::Client& home;  // of the cluster where the step is
    http::Transport& transport;
    std::string name_space;                          // the step's
    std::map<std::string, std::string> environment;  // where keys are that no Secret holds
    std::uint64_t seed;
  };
  using Done = std::function<void(Result<void>)>;  // once, from the loop; it may destroy this object

  // References must outlive it. Begins at once.
  ReportUpload(Context context, std::string uri, std::string page, Done done);
  ReportUpload(const ReportUpload&) = delete;
  ReportUpload& operator=(const ReportUpload&) = delete;
  ~ReportUpload();  // what is under way is cancelled

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
  kube::Client::CallId m_call = 0;
  Loop::TimerId m_timer = 0;
  std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);
};

}  // namespace trainstep::cluster
