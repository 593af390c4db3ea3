// SPDX-License-Identifier: Apache-2.0
#include "cluster/kubeflow_store.h"

#include <fmt/format.h>

#include <utility>

#include "objectstore/provider.h"

namespace trainstep::cluster {
namespace {

constexpr Duration search_timeout{10'000};
constexpr Duration next_round{1'000};
constexpr Duration max_response_time{5'000};

}  // namespace

KubeflowStore::KubeflowStore(Context context, Done done)
    : m_context(std::move(context)), m_done(std::move(done)), m_until(m_context.home.loop().now() + search_timeout) {
  find_launcher_config(m_context.home, m_context.name_space, m_context.log, m_lifetime.bind([this](Result<LauncherConfig> config) {
    auto taken = config ? take(*config) : Result<void>(std::move(config.error()));
    if (!taken) return std::exchange(m_done, nullptr)(std::move(taken.error()));
    m_configured ? found() : ask(0);
  }));
}

KubeflowStore::~KubeflowStore() {
  if (m_exchange != 0) m_context.transport.cancel(m_exchange);
}

Result<void> KubeflowStore::take(const LauncherConfig& config) {
  const auto& root = config.root.empty() ? "minio://mlpipeline" : config.root;
  ASSIGN(auto address, in_context("kfp-launcher: defaultPipelineRoot", objectstore::Address::parse(root)));
  const auto query = std::exchange(address.query, {});
  address = address.child("jobs");
  m_folder.uri = address.text();
  address.query = query;
  ASSIGN(const auto provider, objectstore::provider_of_launcher(config.providers, address));
  m_folder.store = {provider.store.endpoint.text(), provider.store.region,        provider.store.path_style,
                    provider.keys.secret,           provider.keys.access_key_key, provider.keys.secret_key_key};
  m_configured = m_folder.store.endpoint != fmt::format("http://{}", objectstore::kfp_endpoints.front());
  return {};
}

void KubeflowStore::ask(std::size_t which) {
  if (which == 0) m_failures.clear();
  http::Request request;
  request.url = *http::Url::parse(fmt::format("http://{}/", objectstore::kfp_endpoints.at(which)));
  request.connect_limit = request.limit.emplace(max_response_time);
  m_exchange = m_context.transport.start(std::move(request), {.head = {}, .data = {}, .done = [this, which](const Result<http::Response>& response) {
                                                                m_exchange = 0;
                                                                if (!response) return failed(which, response.error());
                                                                m_folder.store.endpoint =
                                                                    fmt::format("http://{}", objectstore::kfp_endpoints.at(which));
                                                                found();
                                                              }});
}

void KubeflowStore::failed(std::size_t which, const Error& error) {
  m_failures += (m_failures.empty() ? "" : "; ") + error.message;
  if (which + 1 < objectstore::kfp_endpoints.size()) return ask(which + 1);
  auto& loop = m_context.home.loop();
  if (loop.now() + next_round < m_until) {
    m_timer = loop.timer(next_round, [this] { ask(0); });
    return;
  }
  m_context.log(fmt::format("no object store of Kubeflow Pipelines answers: {}", m_failures));
  std::exchange(m_done, nullptr)(std::optional<plan::JobFolder>());
}

void KubeflowStore::found() {
  if (m_context.complete) {
    auto completed = m_context.complete(std::move(m_folder));
    if (!completed) return std::exchange(m_done, nullptr)(std::move(completed.error()));
    m_folder = std::move(*completed);
  }
  const auto& store = m_folder.store;
  m_context.log(fmt::format("this job's data goes through the object store of Kubeflow Pipelines: {} at {}, credentials from {}", m_folder.uri,
                            store.endpoint, store.secret.empty() ? "the pods' environment" : "Secret " + store.secret));
  std::exchange(m_done, nullptr)(std::optional(m_folder));
}

}  // namespace trainstep::cluster
