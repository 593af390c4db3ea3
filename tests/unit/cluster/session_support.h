// Helpers for tests of complete sessions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/session.h"
#include "data/digest.h"
#include "data/json.h"
#include "job_types/job_type.h"
#include "kube/token_source.h"
#include "run/listener.h"
#include "support/fake_transport.h"

namespace trainstep::test {

// Collects the log lines of the step.
struct Told : run::Listener {
  std::string text;
  void info(Time /*now*/, const std::string& line) override { text += line + '\n'; }
  void warn(Time /*now*/, const std::string& line) override { text += line + '\n'; }
  void hide(const std::vector<std::string>& secrets) override { hidden.insert(hidden.end(), secrets.begin(), secrets.end()); }
  void leaves(const std::string& origin) override { left.push_back(origin); }
  std::vector<std::string> hidden, left;
  [[nodiscard]] std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

// The response to a GET of a Secret.
inline Reply secret(const std::string& name, const std::map<std::string, std::string>& values) {
  Json data = Json::object();
  for (const auto& [key, value] : values) data[key] = encode_base64(value);
  return Reply::text(to_text(Json{{"metadata", {{"name", name}}}, {"data", data}}));
}

// A step outside any cluster whose data goes through the bucket in the Secret "training".
inline cluster::SessionOptions bucket_options() {
  cluster::SessionOptions options;
  options.name_space = "team";
  options.configuration_secrets = {"training"};
  options.facts.emplace();
  options.facts->image = "trainstep:1";
  return options;
}
// A step of a Workflow, in its own pod.
inline cluster::Facts facts_in_pod() {
  cluster::Facts facts;
  facts.name_space = "team";
  facts.image = "trainstep:1";
  facts.pod = "step-1";
  facts.pod_uid = "p-1";
  facts.workflow = cluster::Workflow{"argoproj.io/v1alpha1", "wf", "w"};
  facts.began = from_rfc3339("2026-03-01T10:00:00Z");
  return facts;
}
inline bool is_of_own_pod(const FakeTransport::Asked& asked) { return asked.request.url.path.ends_with("/pods/step-1"); }
inline Reply own_pod(const std::string& uid = "p-1", const std::string& phase = "Running") {
  return Reply::text(to_text(Json{{"metadata", {{"name", "step-1"}, {"uid", uid}}}, {"status", {{"phase", phase}}}}));
}
inline Reply bucket_secret() {
  return secret("training", {{"minio-url", "http://store:9000"},
                             {"minio-bucket", "bkt"},
                             {"minio-job-folder", "jobs"},
                             {"minio-accesskey", "key"},
                             {"minio-secretkey", "secret"}});
}
inline const std::vector<plan::JobTypeTraits> all_kinds = job_types::traits();

// The step's credentials for the API server.
inline std::shared_ptr<kube::Credentials> credentials() {
  auto result = std::make_shared<kube::Credentials>();
  result->server = {"https", "api", 6443, "", {}};
  result->token = kube::fixed_token("t");
  return result;
}

// Responses of the API server: discovery of jobs, a created object, a list.
inline Reply serves_jobs() {
  return Reply::text(
      R"({"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [{"name": "jobs", "kind": "Job", "namespaced": true}]})");
}
inline Json made(const std::string& body, const std::string& uid) {
  auto object = Json::parse(body);
  object["metadata"]["uid"] = uid;
  object["metadata"]["resourceVersion"] = "5";
  object["metadata"]["creationTimestamp"] = "2026-11-21T08:00:00Z";
  return object;
}
inline Reply list_of(const Json& items) {
  return Reply::text(to_text(Json{{"kind", "List"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", items}}));
}

}  // namespace trainstep::test
