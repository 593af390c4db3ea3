// What the Secret named by cluster_configuration_secret says: another cluster to train in, a bucket for the data of jobs. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "data/json.h"
#include "kube/credentials.h"
#include "objectstore/signature.h"
#include "plan/data.h"

namespace trainstep::cluster {

// `secret`: the Secret object. Keys: `kubeconfig` (with `remote-context`), or `remote-host` and `remote-token`, with `remote-ca` (PEM) or
// `insecure-skip-tls-verify: "true"`; `remote-namespace` counts above the kubeconfig's. Errors (input): name the Secret and the key, never a value.
Result<kube::Credentials> remote_credentials(const Json& secret);
// It has one of them: else the job is made in the step's own cluster.
bool names_a_cluster(const Json& secret);

struct JobStore {
  plan::JobFolder folder;                        // its keys are those of this Secret, minio-accesskey and minio-secretkey, or of another one
  std::optional<objectstore::Credentials> keys;  // if they are this one's
};
// Keys `minio-url` ("minio.example.com:9000", "https://…"), `minio-bucket`, `minio-job-folder`, `minio-accesskey`, `minio-secretkey`, `minio-region`
// (without: us-east-1, and what the store itself names). None: there is no minio-url, and nothing else says where. `otherwise` counts for each that
// is missing; for the two keys, if both are. Errors as above.
Result<std::optional<JobStore>> job_store(const Json& secret, const std::optional<plan::JobFolder>& otherwise = {});
// What counts of a store that is named by its address alone, as "Train model job" has it: bucket, folder, and the keys of Kubeflow Pipelines' own
// store.
plan::JobFolder usual_folder();
// `access-mode` of claims that are made for jobs ("ReadWriteOnce", …); empty: not given.
Result<std::string> access_mode(const Json& secret);

struct Configuration {
  std::optional<JobStore> store;
  std::string access_mode;
  bool other_cluster = false;  // remote_credentials() are those of the cluster to train in
};
// All of the Secret. For calls of "Train model job" what a store lacks is completed by usual_folder(), and the Secret need not name anything; any
// other must name a cluster or a store. Errors as above.
Result<Configuration> read_configuration(const Json& secret, bool as_train_model_job);

}  // namespace trainstep::cluster
