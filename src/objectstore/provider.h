// KFP's configuration of object stores: the server of an artifact, and the source of its credentials (pure).
// Sources: KFP backend/src/v2/objectstore/config.go (store_session_info), backend/src/v2/config/{env,s3,minio,gcs}.go (ConfigMap kfp-launcher).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "data/json.h"
#include "objectstore/address.h"
#include "objectstore/store.h"

namespace trainstep::objectstore {

// A reference to credentials, not the credentials themselves.
struct CredentialsRef {
  std::string secret{};  // name of a Secret in the run's namespace; empty: the environment (AWS_*, web identity, …)
  std::string access_key_key{};
  std::string secret_key_key{};
};

struct Provider {
  Store store;
  CredentialsRef keys;
};

// The addresses of Kubeflow Pipelines' own store, by version, the newest first: "HOST:PORT", without TLS.
inline constexpr std::array<std::string_view, 2> kfp_endpoints{"seaweedfs.kubeflow:9000", "minio-service.kubeflow:9000"};
// Its credentials, in every namespace of its users.
inline const CredentialsRef kfp_credentials{"mlpipeline-minio-artifact", "accesskey", "secretkey"};

// An artifact's custom property `store_session_info`, as JSON text. Errors: input.
// `default_region`: the value of AWS_REGION here, for an S3 address if nothing else names a region.
Result<Provider> provider_of_session(std::string_view session_info, const Address& address, std::string_view default_region = "");

// The configuration for an address in the ConfigMap kfp-launcher: `providers` is its key of that name, YAML text ("" if absent). The first matching
// override takes precedence over the default, which supplies what the override omits. Without a default: KFP's own store for minio://, credentials of
// the environment for s3:// and gs://. A query in the address takes precedence over everything. Errors: input, naming the key.
Result<Provider> provider_of_launcher(std::string_view providers, const Address& address, std::string_view default_region = "");

}  // namespace trainstep::objectstore
