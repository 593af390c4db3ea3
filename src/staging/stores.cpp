// SPDX-License-Identifier: Apache-2.0
#include "staging/stores.h"

#include "base/files.h"
#include "objectstore/remote_credentials.h"

namespace trainstep::staging {
namespace {

constexpr std::size_t max_certificates_size = std::size_t{1} << 20U;

Result<objectstore::Store> store_of(const plan::TaskStore& from) {
  objectstore::Store store;
  ASSIGN(store.endpoint, in_context("object store", http::Url::parse(from.endpoint)));
  store.region = from.region;
  store.path_style = from.path_style;
  if (from.ca_file.empty()) return store;
  auto trust = std::make_shared<http::Endpoint>();
  ASSIGN(trust->ca_pem, in_context("certificates of the object store", read_file(from.ca_file, max_certificates_size)));
  store.trust = std::move(trust);
  return store;
}

}  // namespace

Result<std::unique_ptr<Stores>> Stores::open(Loop& loop, http::Transport& transport, std::vector<Opened> stores, std::uint64_t seed,
                                             objectstore::TransferLimits limits) {
  std::unique_ptr<Stores> opened(new Stores(loop, limits));
  for (auto& from : stores) {
    ASSIGN(auto store, store_of(from.store));
    opened->m_clients.push_back(std::make_unique<objectstore::Client>(loop, transport, std::move(store), std::move(from.keys), seed++));
  }
  return opened;
}

Result<std::unique_ptr<Stores>> Stores::open(Loop& loop, http::Transport& transport, const std::vector<plan::TaskStore>& stores,
                                             const std::map<std::string, std::string>& environment, std::uint64_t seed,
                                             objectstore::TransferLimits limits) {
  std::vector<Opened> with_keys;
  for (const auto& store : stores) {
    std::shared_ptr<objectstore::CredentialsProvider> keys;
    if (store.access_key_file.empty())
      keys = objectstore::keys_of(loop, transport, environment, store.region);
    else
      keys = objectstore::credentials_in_files({store.access_key_file, store.secret_key_file, store.signing_keys_file});
    with_keys.push_back({store, std::move(keys)});
  }
  return open(loop, transport, std::move(with_keys), seed, limits);
}

}  // namespace trainstep::staging
