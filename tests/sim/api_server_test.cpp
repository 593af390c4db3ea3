// SPDX-License-Identifier: Apache-2.0
#include "sim/api_server.h"

#include "sim/bare_server.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;

namespace {

const std::string jobs = "/apis/batch/v1/namespaces/lab/jobs";
const std::string pods = "/api/v1/namespaces/lab/pods";

struct Cluster : BareServer {
  static Json object(const std::string& version, const std::string& kind, const std::string& name, Json labels = Json::object()) {
    return {{"apiVersion", version}, {"kind", kind}, {"metadata", {{"name", name}, {"namespace", "lab"}, {"labels", std::move(labels)}}}};
  }
  VersionPtr put_pod(const std::string& name, Json labels = Json::object(), const Json& owner = nullptr) {
    auto pod_object = object("v1", "Pod", name, std::move(labels));
    if (!owner.is_null()) pod_object["metadata"]["ownerReferences"] = Json::array({owner});
    pod_object["spec"] = {{"containers", {{{"name", "train"}}}}};
    return store.create(pod, std::move(pod_object));
  }
  static Json owner(const VersionPtr& of) {
    return {{"kind", of->resource->kind}, {"name", of->name()}, {"uid", of->uid()}, {"controller", true}, {"blockOwnerDeletion", true}};
  }
};

}  // namespace

TEST_CASE_METHOD(Cluster, "sim server: discovery lists what is served and answers as a mux does where a group is not") {
  CHECK(ask("GET", "/apis/batch/v1")->json().at("resources").at(0).at("name") == "jobs");
  const auto unknown = ask("GET", "/apis/kubeflow.org/v2beta1");
  CHECK(unknown->code == 404);
  CHECK(unknown->text == "404 page not found\n");
  CHECK(ask("GET", "/apis/batch/v1/namespaces/lab/cronjobs")->json().at("message") == "the server could not find the requested resource");
}

TEST_CASE_METHOD(Cluster, "sim server: an object is created once, dry runs leave nothing") {
  const auto job_object = object("batch/v1", "Job", "train-1");
  CHECK(ask("POST", jobs + "?dryRun=All", job_object)->code == 201);
  CHECK(store.size() == 0);
  const auto created = ask("POST", jobs, job_object);
  CHECK(created->code == 201);
  CHECK(created->json().at("metadata").at("uid").get<std::string>().size() == 36);
  const auto again = ask("POST", jobs, job_object);
  CHECK(again->code == 409);
  CHECK(again->json().at("reason") == "AlreadyExists");
  CHECK(again->json().at("message") == "jobs.batch \"train-1\" already exists");
  CHECK(ask("POST", "/apis/batch/v1/namespaces/elsewhere/jobs", Json{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", "x"}}}})
            ->json()
            .at("message") == "namespaces \"elsewhere\" not found");
}

TEST_CASE_METHOD(Cluster, "sim server: an admission hook rejects with its own message") {
  server.admit([](const Resource&, Json&, bool) { return webhook_denied("validator.example", "no"); });
  const auto refused = ask("POST", jobs, object("batch/v1", "Job", "x"));
  CHECK(refused->code == 403);
  CHECK(refused->json().at("message") == "admission webhook \"validator.example\" denied the request: no");
}

TEST_CASE_METHOD(Cluster, "sim server: lists are paged, selected, and their items are bare where the kind is built in") {
  for (int i = 0; i < 5; ++i) put_pod("p" + std::to_string(i), {{"job", i < 3 ? "a" : "b"}});
  auto page = ask("GET", pods + "?limit=2&labelSelector=job=a")->json();
  CHECK(page.at("items").size() == 2);
  CHECK_FALSE(page.at("items").at(0).contains("kind"));
  const auto token = page.at("metadata").at("continue").get<std::string>();
  page = ask("GET", pods + "?limit=2&labelSelector=job=a&continue=" + token)->json();
  CHECK(page.at("items").size() == 1);
  CHECK_FALSE(page.at("metadata").contains("continue"));
  put_pod("later");
  store.compact(store.number());
  CHECK(ask("GET", pods + "?continue=" + token)->code == 410);
}

TEST_CASE_METHOD(Cluster, "sim server: a watch resumes from its version, and reports when that is too old") {
  const auto first = put_pod("a", {{"job", "x"}});
  const auto from = std::to_string(store.number());
  put_pod("b", {{"job", "x"}});
  put_pod("c", {{"job", "y"}});
  const auto watch = ask("GET", pods + "?watch=true&labelSelector=job=x&timeoutSeconds=60&resourceVersion=" + from);
  CHECK(watch->events() == std::vector<std::string>{"ADDED b"});
  store.update(first->uid(), [](Json& pod_object) { pod_object["metadata"]["labels"]["job"] = "y"; });
  store.remove(store.find(pod, "lab", "b"));
  loop.run_for(Duration{1'000});
  CHECK(watch->events() == std::vector<std::string>{"ADDED b", "DELETED a", "DELETED b"});
  CHECK_FALSE(watch->done);
  loop.run_for(Duration{60'000});
  CHECK(watch->done);
  store.compact(store.number());
  CHECK(ask("GET", pods + "?watch=true&resourceVersion=" + from)->events() == std::vector<std::string>{"ERROR 410"});
  server.options().expired_as_http = true;
  CHECK(ask("GET", pods + "?watch=true&resourceVersion=" + from)->code == 410);
}

TEST_CASE_METHOD(Cluster, "sim server: bookmarks are sent on request, and only metadata if requested") {
  const auto watch = client.ask("GET", pods + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion=1000", nullptr,
                                {{"Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}});
  put_pod("a");
  loop.run_for(Duration{125'000});
  CHECK(watch->events() == std::vector<std::string>{"ADDED a", "BOOKMARK ", "BOOKMARK "});
  CHECK(watch->text.find("containers") == std::string::npos);
}

TEST_CASE_METHOD(Cluster, "sim server: a patch merges, leaves identity and status alone, and heeds versions") {
  const auto before = store.create(job, object("batch/v1", "Job", "x"));
  ask("PATCH", jobs + "/x", {{"metadata", {{"annotations", {{"a", "b"}}}, {"uid", before->uid()}}}, {"status", {{"active", 1}}}});
  const auto after = store.find(job, "lab", "x");
  CHECK(text_at(after->object, {"metadata", "annotations", "a"}) == "b");
  CHECK_FALSE(after->object.contains("status"));
  CHECK(ask("PATCH", jobs + "/x", {{"metadata", {{"resourceVersion", "1"}}}})->code == 409);
  CHECK(ask("PATCH", jobs + "/x", {{"metadata", {{"uid", "other"}}}})->code == 422);
  CHECK(ask("PATCH", jobs + "/y", Json::object())->code == 404);
}

TEST_CASE_METHOD(Cluster, "sim server: foreground deletion removes the dependents first, a Job without policy orphans its pods") {
  const auto owner_job = store.create(job, object("batch/v1", "Job", "x"));
  put_pod("x-1", {}, owner(owner_job));
  const auto wrong = ask("DELETE", jobs + "/x", {{"preconditions", {{"uid", "other"}}}});
  CHECK(wrong->code == 409);
  CHECK(wrong->json().at("reason") == "Conflict");
  const auto deleting = client.ask("DELETE", jobs + "/x", {{"propagationPolicy", "Foreground"}});
  loop.run_for(Duration{10});
  CHECK(deleting->json().at("metadata").at("finalizers").at(0) == "foregroundDeletion");
  loop.run_for(Duration{5'000});
  CHECK(store.size() == 0);

  const auto orphaning = store.create(job, object("batch/v1", "Job", "y"));
  put_pod("y-1", {}, owner(orphaning));
  ask("DELETE", jobs + "/y");
  loop.run_for(Duration{5'000});
  CHECK(store.find(job, "lab", "y") == nullptr);
  CHECK(store.find(pod, "lab", "y-1") != nullptr);

  const auto custom = store.create(pytorch, object("kubeflow.org/v1", "PyTorchJob", "z"));
  put_pod("z-1", {}, owner(custom));
  CHECK(ask("DELETE", "/apis/kubeflow.org/v1/namespaces/lab/pytorchjobs/z")->json().at("status") == "Success");
  loop.run_for(Duration{5'000});
  CHECK(store.find(pod, "lab", "z-1") == nullptr);
}

TEST_CASE_METHOD(Cluster, "sim server: logs wait for a start, follow to the end, and begin at whole seconds") {
  const auto its = put_pod("p");
  CHECK(ask("GET", pods + "/p/log")->text.empty());
  store.update(its->uid(), [](Json& changed) { changed["spec"]["nodeName"] = "node-1"; });
  CHECK(ask("GET", pods + "/p/log?container=train")->json().at("message") ==
        "container \"train\" in pod \"p\" is waiting to start: ContainerCreating");
  const LogKey key{std::string(its->uid()), "train", 0};
  const auto second = std::chrono::floor<std::chrono::seconds>(loop.now());
  logs.write(key, {second + Duration{100}, 0, "one\n"});
  logs.write(key, {second + Duration{900}, 5, "two\n"});
  const auto stamp = to_rfc3339(second);
  const auto following = ask("GET", pods + "/p/log?follow=true&timestamps=true&sinceTime=" + stamp.substr(0, stamp.size() - 1) + ".5Z");
  logs.write(key, {second + Duration{2'000}, 0, "three\n"});
  loop.run_for(Duration{100});
  const auto day = stamp.substr(0, stamp.size() - 1);
  CHECK(following->text == day + ".1Z one\n" + day + ".900000005Z two\n" + to_rfc3339(second + Duration{2'000}) + " three\n");
  CHECK_FALSE(following->done);
  logs.end(key);
  loop.run_for(Duration{100});
  CHECK(following->done);
  logs.rotate(key, 1);
  CHECK(ask("GET", pods + "/p/log")->text == "three\n");
  CHECK(ask("GET", pods + "/p/log?previous=true")->code == 400);
  CHECK(ask("GET", pods + "/q/log")->code == 404);
}

TEST_CASE_METHOD(Cluster, "sim server: rights that are missing and tokens that are bad are refused") {
  server.deny("list events");
  store.serve({"v1", "events", "Event"});
  CHECK(ask("GET", "/api/v1/namespaces/lab/events")->code == 403);
  server.tokens() = {"good"};
  CHECK(ask("GET", pods)->code == 401);
  const auto good = client.ask("GET", pods, nullptr, {{"authorization", "Bearer good"}});
  loop.run_for(Duration{1'000});
  CHECK(good->code == 200);
}
