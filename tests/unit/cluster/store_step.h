// A step in a pod whose data go through an object store, which answers under any name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "cluster/session.h"
#include "support/temp_dir.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"
#include "unit/objectstore/fake_store.h"

namespace trainstep::test {

using namespace std::chrono_literals;

// Its input is a file of its own.
struct StoreStep : objectstore::test::FakeStore {
  TempDir folder;
  cluster::SessionOptions options;
  std::optional<cluster::Session> session;
  std::optional<result::Verdict> verdict;
  test::Told told;
  bool answers = true;
  std::map<std::string, std::string> configuration;  // the Secret "training"
  plan::Request request;
  std::optional<Json> created;        // the job
  std::map<std::string, Json> owned;  // by name
  std::string mount;                  // of a claim of the step's pod
  Json disk;                          // the claim, as the API server has it; null: it may not be read
  bool may_read_keys = true;          // of the store
  std::vector<std::string> lacking;   // permissions at "api" or "remote": "remote create secrets"
  std::function<std::optional<Reply>(const FakeTransport::Asked&)> trouble = [](const auto&) { return std::nullopt; };

  StoreStep() {
    REQUIRE(write_file_atomically(folder.path() / "data/a", "1"));
    options.name_space = "team";
    options.pod.name = "step-1";
    request.train_specification =
        "inputs: [{name: data, type: Dataset}]\nimplementation: {container: {image: i, command: [train, {inputPath: data}]}}";
    request.inputs.push_back({.name = "train_dataset_dir", .path = folder.path() / "data", .uri = "", .type = ""});
    request.train_parameters["data"] = "train_dataset_dir";
    request.run_id = "run-1";
    options.make_plan = [this](const cluster::Facts&, const std::string& name_space) {
      auto asked = request;
      asked.name_space = name_space;
      return plan::make_plan(asked, test::all_kinds);
    };
    fault = [this](const FakeTransport::Asked& asked) { return scripted(asked); };
  }
  // Its model comes back through the store; nothing is brought.
  void with_model_only() {
    request.train_specification =
        "outputs: [{name: model, type: Model}]\nimplementation: {container: {image: i, command: [train, {outputPath: model}]}}";
    request.inputs.clear();
    request.outputs = {{.name = "model_dir", .path = folder.path() / "model", .uri = "", .type = "", .metadata = Json::object()}};
    request.train_parameters = {{"model", "model_dir"}};
  }
  void as_train_model_job() { options.as_train_model_job = request.as_train_model_job = true; }
  void configured(std::map<std::string, std::string> values) {
    options.configuration_secrets = {"training"};
    configuration = std::move(values);
  }
  [[nodiscard]] Json own_pod() const {
    Json spec = {{"nodeName", "node-1"}, {"containers", {{{"name", "main"}, {"image", "trainstep:1"}}}}};
    if (!mount.empty()) {
      spec["volumes"] = {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "disk"}}}}};
      spec["containers"][0]["volumeMounts"] = {{{"name", "v"}, {"mountPath", mount}}};
    }
    return {{"metadata", {{"name", "step-1"}, {"namespace", "team"}, {"uid", "p-1"}}}, {"spec", spec}, {"status", {{"phase", "Running"}}}};
  }
  std::optional<Reply> scripted(const FakeTransport::Asked& asked) {
    if (auto reply = trouble(asked)) return reply;
    const auto& [method, url] = std::pair(asked.request.method, asked.request.url);
    if (url.host != "api" && url.host != "remote") return answers ? std::nullopt : std::optional(Reply::lost());
    if (url.path.ends_with("/pods/step-1")) return Reply::text(to_text(own_pod()));
    if (url.path.ends_with("/secrets/training")) return test::secret("training", configuration);
    if (url.path.ends_with("/secrets/mlpipeline-minio-artifact") && !may_read_keys) return kube::test::refusal(403, "Forbidden", "no right");
    if (method == "GET" && created && url.path.ends_with("/jobs/" + created->at("metadata").at("name").get<std::string>()))
      return Reply::text(to_text(*created));
    if (url.path.ends_with("/secrets/mlpipeline-minio-artifact"))
      return test::secret("mlpipeline-minio-artifact", {{"accesskey", "key"}, {"secretkey", "secret"}});
    if (url.path.ends_with("/persistentvolumeclaims/disk"))
      return disk.is_null() ? kube::test::refusal(403, "Forbidden", "no right") : Reply::text(to_text(disk));
    if (url.path == "/apis/batch/v1") return test::serves_jobs();
    if (url.path == "/apis/authorization.k8s.io/v1") return Reply::text(R"({"kind": "APIResourceList", "resources": []})");
    if (url.path.ends_with("reviews")) return reviewed(asked);
    if (method == "POST" && asked.query("dryRun").empty()) {
      auto object = test::made(asked.request.body, "u-" + std::to_string(owned.size()));
      if (url.path.ends_with("/jobs")) created = object;
      owned[object["metadata"]["name"]] = object;
      return Reply::text(to_text(object), 201);
    }
    if (method == "POST") return Reply::text(asked.request.body, 201);
    return kube::test::absent(url.path.substr(url.path.rfind('/') + 1));
  }
  [[nodiscard]] Reply reviewed(const FakeTransport::Asked& asked) const {
    if (asked.request.url.path.ends_with("/selfsubjectreviews"))
      return Reply::text(R"({"status": {"userInfo": {"username": "system:serviceaccount:team:step"}}})", 201);
    const auto attributes = Json::parse(asked.request.body)["spec"]["resourceAttributes"];
    const auto right = asked.request.url.host + " " + attributes.value("verb", "") + " " + attributes.value("resource", "");
    const bool allowed = std::ranges::find(lacking, right) == lacking.end();
    return Reply::text(to_text(Json{{"status", {{"allowed", allowed}}}}), 201);
  }
  void run() {
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
    session->begin([this](const cluster::Session::Done& done) { verdict = done.outcome.verdict; });
    loop.run(15s);
  }
  [[nodiscard]] Json container() const {
    REQUIRE(created);
    return created->at("spec").at("template").at("spec").at("containers").at(0);
  }
  [[nodiscard]] Json variable(const std::string& name) const {
    const auto train = container();
    for (const auto& entry : train.at("env"))
      if (entry.at("name") == name) return entry.contains("value") ? entry.at("value") : entry.at("valueFrom").at("secretKeyRef");
    return {};
  }
  [[nodiscard]] std::string brought() const { return objects.empty() ? "" : objects.begin()->first; }
};

}  // namespace trainstep::test
