// KFP's own configuration of object stores: which server an artifact lies on, and where its keys are (pure).
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

// Keys as they are found, not as they are.
struct CredentialsRef {
  std::string secret{};  // name of a Secret in the run's namespace; empty: the environment (AWS_*, web identity, …)
  std::string access_key_key{};
  std::string secret_key_key{};
};

struct Provider {
  Store store;
  CredentialsRef keys;
};

// Where Kubeflow Pipelines has its own store, by its versions, the newest first: "HOST:PORT", without TLS.
inline constexpr std::array<std::string_view, 2> own_endpoints{"seaweedfs.kubeflow:9000", "minio-service.kubeflow:9000"};
// The keys to it, in every namespace of its users.
inline const CredentialsRef own_keys{"mlpipeline-minio-artifact", "accesskey", "secretkey"};

// An artifact's custom property `store_session_info`, as JSON text. Errors: input.
// `usual_region`: what AWS_REGION says here, for an address of S3 where nothing else names a region.
Result<Provider> provider_of_session(std::string_view session_info, const Address& address, std::string_view usual_region = "");

// What the ConfigMap kfp-launcher says of an address: `providers` is its key of that name, YAML text ("" where it has none). The first override that
// fits counts before the default, which counts for what that does not say. Without a default: KFP's own store for minio://, the environment's keys
// for s3:// and gs://. A query of the address counts before all. Errors: input, naming the key.
Result<Provider> provider_of_launcher(std::string_view providers, const Address& address, std::string_view usual_region = "");

}  // namespace trainstep::objectstore
