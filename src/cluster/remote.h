// The Secret of cluster_configuration_secret: another cluster to train in, a bucket for the data of jobs. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/json.h"
#include "kube/credentials.h"
#include "objectstore/signature.h"
#include "plan/data.h"

namespace trainstep::cluster {

// `secret`: the Secret object. Keys: `kubeconfig` (with `remote-context`), or `remote-host` and `remote-token`, with `remote-ca` (PEM) or
// `insecure-skip-tls-verify: "true"`; `remote-namespace` takes precedence over that of the kubeconfig. Errors (input): name the Secret and the key,
// never a value.
Result<kube::Credentials> remote_credentials(const Json& secret);
// It has one of them: otherwise the job is created in the cluster of the step.
bool names_a_cluster(const Json& secret);

struct JobStore {
  plan::JobFolder folder;                        // its credentials are those of this Secret, minio-accesskey and minio-secretkey, or of another one
  std::optional<objectstore::Credentials> keys;  // if they are this one's
  bool whole_keys = false;                       // pods in another cluster get the secret key, not signing keys (keys_copy.h)
};
// Keys `minio-url` ("minio.example.com:9000", "https://…"), `minio-bucket`, `minio-job-folder`, `minio-accesskey`, `minio-secretkey`, `minio-region`
// (default: us-east-1, or what the store itself reports), `minio-pod-keys` ("signing", "secret"). nullopt: there is no minio-url, and nothing else
// names a server. `otherwise` replaces each missing one; the two credentials only together. Errors as above.
Result<std::optional<JobStore>> job_store(const Json& secret, const std::optional<plan::JobFolder>& otherwise = {});
// The keys of that store that are not as they are used: blanks or a line break surround the value.
std::vector<std::string> blank_ended_keys(const Json& secret);
// Defaults for a store that is only given by its URL, as in "Train model job": bucket, folder, and the credentials of Kubeflow Pipelines' own store.
plan::JobFolder usual_folder();
// `access-mode` of claims that are created for jobs ("ReadWriteOnce", …); empty: not given. Error (input): Kubernetes has no such mode.
Result<std::string> access_mode(const Json& secret);

struct Configuration {
  std::optional<JobStore> store;
  std::string access_mode;
  bool other_cluster = false;  // remote_credentials() are those of the cluster to train in
};
// Reads the whole Secret. For calls of "Train model job" missing settings of a store are completed by usual_folder(), and the Secret may name
// nothing; otherwise it must name a cluster or a store. Errors as above.
Result<Configuration> read_configuration(const Json& secret, bool as_train_model_job);

}  // namespace trainstep::cluster
