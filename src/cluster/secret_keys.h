// The keys to an object store, as a Secret of the step's own cluster has them: they may be replaced while a job trains.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "objectstore/credentials.h"
#include "objectstore/provider.h"

namespace trainstep::cluster {

// What a Secret holds of the keys to a store, as the API server gives it. Errors: input.
Result<objectstore::Credentials> keys_in(const Json& secret, const objectstore::CredentialsRef& at);

// When the store refuses them, the Secret is read again, and what it says then counts. While that cannot be had, the old ones serve: what the store
// says of them is told. An API server that does not answer is an error (unavailable).
class SecretKeys : public objectstore::CredentialsProvider {
 public:
  using Say = std::function<void(const std::string&)>;
  // References must outlive it. `first`: what the Secret has said so far.
  SecretKeys(kube::Client& home, std::string name_space, objectstore::CredentialsRef at, objectstore::Credentials first, Say say);
  SecretKeys(const SecretKeys&) = delete;
  SecretKeys& operator=(const SecretKeys&) = delete;
  ~SecretKeys() override;

  void ask(Done done) override;
  void refused(const objectstore::Credentials& keys) override;

 private:
  Result<objectstore::Credentials> take(const kube::Answer& answer);

  kube::Client& m_home;
  std::string m_name_space;
  objectstore::CredentialsRef m_at;
  objectstore::Credentials m_keys;
  Say m_say;
  bool m_refused = false;
  std::vector<Done> m_waiting;
  kube::Client::CallId m_call = 0;
};

}  // namespace trainstep::cluster
