// Credentials for an object store from a Secret of the step's own cluster, which may be replaced while a job trains.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/client.h"
#include "objectstore/credentials.h"
#include "objectstore/provider.h"

namespace trainstep::cluster {

// The credentials in a Secret, as returned by the API server. Errors: input.
Result<objectstore::Credentials> decode_credentials(const Json& secret, const objectstore::CredentialsRef& at);
// The answer to a GET of that Secret: names its namespace and what to do. Errors: as above, and those of the answer.
Result<objectstore::Credentials> credentials_from(const kube::Answer& answer, const std::string& name_space, const objectstore::CredentialsRef& at);
// How long a Secret that is needed before there is a job is waited for; without the permission, less than five seconds.
inline constexpr kube::Retry secret_retry{.at_most = Duration(300'000), .doubts_refusals = true, .doubt_pause = Duration(900)};
// An error of a GET of a Secret in the step's namespace.
Error about_secret(const kube::ApiError& problem, const std::string& name_space, const std::string& name);

// If the store refuses them, reads the Secret again and uses its contents from then on. If that fails, the old ones are kept, and the store's refusal
// is reported, with the reason; the next refusal reads the Secret again. An API server that does not respond is an error (unavailable).
class SecretCredentials : public objectstore::CredentialsProvider {
 public:
  using Log = std::function<void(const std::string&)>;
  // References must outlive it. `first`: the contents of the Secret so far.
  SecretCredentials(kube::Client& home, std::string name_space, objectstore::CredentialsRef at, objectstore::Credentials first, Log log);
  SecretCredentials(const SecretCredentials&) = delete;
  SecretCredentials& operator=(const SecretCredentials&) = delete;

  void ask(Done done) override;
  void refused(const objectstore::Credentials& keys) override;
  [[nodiscard]] std::string renewal() const override { return m_renewal; }

 private:
  Result<objectstore::Credentials> take(const kube::Answer& answer);

  kube::Client& m_home;
  std::string m_name_space;
  objectstore::CredentialsRef m_at;
  objectstore::Credentials m_credentials;
  Log m_log;
  bool m_refused = false;
  std::string m_renewal;  // the outcome of the last renewal
  std::vector<Done> m_waiting;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
