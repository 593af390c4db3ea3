// Whether the API server of another cluster can be used at all, asked before anything is made for a job there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kube/client.h"

namespace trainstep::cluster {

// What to ask about this answer of another cluster: "; is this the address of an API server?". Empty: nothing; a 401 has its remedy
// (kube::Credentials).
std::string remedy_for(const kube::ApiError& problem);

// Asks for what every account may read. Within five seconds: a wrong address, token or certificate is known by then.
class FirstContact {
 public:
  using Done = std::function<void(std::optional<Error> why)>;  // called once, from the loop; unset: the server has answered
  // The client must outlive it. `secret`: the one that names the cluster, for messages. Errors: denied, input, unavailable.
  FirstContact(kube::Client& client, std::string secret, Done done);
  FirstContact(const FirstContact&) = delete;
  FirstContact& operator=(const FirstContact&) = delete;

 private:
  void answered(const kube::Answer& answer);
  void finish(std::optional<Error> why);

  kube::Client& m_client;
  std::string m_secret;
  Done m_done;
  kube::PendingCall m_call;
  Timer m_timer;
};

}  // namespace trainstep::cluster
