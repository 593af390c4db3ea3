// SPDX-License-Identifier: Apache-2.0
#include "cluster/report_upload.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/data.h"
#include "cluster/step_data.h"
#include "objectstore/remote_credentials.h"

namespace trainstep::cluster {
namespace {

constexpr Duration longest{15'000};
constexpr Duration upload_timeout{10'000};

}  // namespace

ReportUpload::ReportUpload(Context context, std::string uri, std::string page, Done done)
    : m_context(std::move(context)), m_uri(std::move(uri)), m_page(std::move(page)), m_done(std::move(done)) {
  auto& loop = m_context.home.loop();
  m_timer = loop.timer(longest, [this] { finish(Error{ErrorKind::unavailable, fmt::format("no answer within {}", trainstep::describe(longest))}); });
  find_stores(
      m_context.home, m_context.name_space, [](const auto&) {}, m_lifetime.bind([this](Result<std::string> providers) {
        if (!m_done) return;
        if (!providers) return finish(std::move(providers.error()));
        find_keys(*providers);
      }));
}

void ReportUpload::find_keys(const std::string& providers) {
  auto address = objectstore::Address::parse(m_uri);
  if (!address) return finish(std::move(address.error()));
  m_address = std::move(*address);
  auto provider = objectstore::provider_of_launcher(providers, m_address);
  if (!provider) return finish(std::move(provider.error()));
  m_provider = std::move(*provider);
  auto& home = m_context.home;
  if (m_provider.keys.secret.empty())
    return put(objectstore::keys_of(home.loop(), m_context.transport, m_context.environment, m_provider.store.region));
  m_call = home.get({"v1", "secrets", m_context.name_space, m_provider.keys.secret, ""}, {}, {upload_timeout, false}, [this](kube::Answer answer) {
    if (!answer) return finish(in_context("credentials of the object store", std::move(answer.error().error)));
    auto keys = decode_credentials(*answer, m_provider.keys);
    if (!keys) return finish(std::move(keys.error()));
    put(objectstore::fixed_credentials(std::move(*keys)));
  });
}

void ReportUpload::put(const std::shared_ptr<objectstore::CredentialsProvider>& keys) {
  objectstore::Limits limits;
  limits.timeout = upload_timeout;
  limits.silence = upload_timeout;
  m_client = std::make_unique<objectstore::Client>(m_context.home.loop(), m_context.transport, m_provider.store, keys, m_context.seed, limits);
  m_put = m_client->put(
      m_address, [this]() -> Result<std::string> { return m_page; },
      [this](auto answer) {
        if (!answer) return finish(std::move(answer.error().error));
        finish({});
      },
      {{"Content-Type", "text/html; charset=utf-8"}});
}

// Not from within a response: the callback may destroy the client that delivers it.
void ReportUpload::finish(Result<void> result) {
  if (!m_done) return;
  m_context.home.loop().post(
      m_lifetime.bind([done = std::exchange(m_done, nullptr), result = std::move(result)]() mutable { done(std::move(result)); }));
}

}  // namespace trainstep::cluster
