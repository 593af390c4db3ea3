// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_plugin.h"

#include <algorithm>
#include <utility>

#include "kube/plugin_run.h"
#include "kube/token_source.h"

namespace trainstep::kube {
namespace {

constexpr Duration early{10'000};  // before it expires
constexpr Duration limit_in_a_hurry{10'000};
constexpr Duration result_lifetime{5'000};  // callers within it get the same result: a failure, and credentials that have expired by our clock

class ExecToken : public TokenSource {
 public:
  ExecToken(ExecPlugin plugin, std::shared_ptr<const http::Endpoint> endpoint, Duration limit)
      : m_plugin(std::move(plugin)), m_base(std::move(endpoint)), m_limit(limit) {}

  bool ready(Time now) override {
    if (fresh(now) || (m_failure && lately(m_failure->since, now))) return true;
    if (!m_run) m_run = std::make_unique<PluginRun>(m_plugin, m_limit);
    if (auto printed = m_run->look()) {
      ended(std::move(*printed), now);
      return true;
    }
    return usable(now) != nullptr;
  }

  Result<std::string> token(Time now) override {
    if (!ready(now)) ended(m_run->wait(), now);
    if (const auto* credential = usable(now)) return credential->token;
    auto problem = m_failure ? m_failure->error : Error{ErrorKind::unavailable, "the exec plug-in of the kubeconfig returned expired credentials"};
    if (m_hurried)
      problem.kind = ErrorKind::cancelled;
    else if (m_credential)
      problem.kind = ErrorKind::unavailable;  // it has worked before and may work again
    return problem;
  }

  void hurry() override {
    if (!std::exchange(m_hurried, true)) m_run.reset();
    m_limit = std::min(m_limit, limit_in_a_hurry);
  }

  void refused() override {
    m_refused = true;
    m_failure.reset();
  }
  [[nodiscard]] std::shared_ptr<const http::Endpoint> endpoint() const override { return m_endpoint; }

 private:
  struct Failure {
    Error error;
    Time since;
  };
  // Whether no renewal is due; during the renewal, usable() decides.
  [[nodiscard]] bool fresh(Time now) const {
    const auto* credential = usable(now);
    return credential && (lately(m_taken, now) || !credential->expires || now + early < *credential->expires);
  }
  // nullptr without a credential that the server may accept now.
  [[nodiscard]] const ExecCredential* usable(Time now) const {
    if (!m_credential || m_refused) return nullptr;
    return lately(m_taken, now) || !m_credential->expires || now < *m_credential->expires ? &*m_credential : nullptr;
  }
  static bool lately(Time since, Time now) { return now >= since && now - since < result_lifetime; }

  void ended(Result<std::string> printed, Time now) {
    m_run.reset();
    auto credential = printed ? read_exec_credential(*printed, m_plugin) : Result<ExecCredential>(std::move(printed.error()));
    if (!credential) {
      m_failure = Failure{std::move(credential.error()), now};
      return;
    }
    m_failure.reset();
    take(std::move(*credential));
    m_taken = now;
  }

  void take(ExecCredential credential) {
    const bool renewed = !credential.certificate_pem.empty() && (!m_credential || credential.certificate_pem != m_credential->certificate_pem);
    if (renewed) {
      auto endpoint = *m_base;
      endpoint.certificate_pem = credential.certificate_pem;
      endpoint.key_pem = credential.key_pem;
      m_endpoint = std::make_shared<const http::Endpoint>(std::move(endpoint));
    }
    m_credential = std::move(credential);
    m_refused = false;
  }

  ExecPlugin m_plugin;
  std::shared_ptr<const http::Endpoint> m_base;
  std::shared_ptr<const http::Endpoint> m_endpoint;
  Duration m_limit;
  std::unique_ptr<PluginRun> m_run;
  std::optional<ExecCredential> m_credential;
  Time m_taken{};
  std::optional<Failure> m_failure;
  bool m_refused = false;
  bool m_hurried = false;
};

}  // namespace

Result<std::string> run_exec_plugin(const ExecPlugin& plugin, Duration limit) { return PluginRun(plugin, limit).wait(); }

std::unique_ptr<TokenSource> exec_token(ExecPlugin plugin, std::shared_ptr<const http::Endpoint> endpoint, Duration limit) {
  return std::make_unique<ExecToken>(std::move(plugin), std::move(endpoint), limit);
}

}  // namespace trainstep::kube
