// What a step does with the job of an earlier attempt when what a new one would need cannot be read.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <string>
#include <string_view>

#include "unit/cluster/store_step.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using kube::test::absent;
using kube::test::gateways_404;
using objectstore::test::FakeTransport;
using test::Reply;

namespace {

const std::map<std::string, std::string> whole_configuration = {{"minio-url", "http://store:9000"},
                                                                {"minio-bucket", "bkt"},
                                                                {"minio-job-folder", "jobs"},
                                                                {"minio-accesskey", "key"},
                                                                {"minio-secretkey", "secret"}};

struct Step : test::StoreStep {
  std::string away;           // the end of a path …
  Reply instead;              // … that is answered like this
  int times = 1 << 20;        // so often
  int seen = 0;               // how often it was
  std::optional<Time> since;  // the end came
  bool concludes = false;
  std::optional<std::string> problem;
  Time began;

  Step() {
    options.seed = 1;
    trouble = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      const auto& path = asked.request.url.path;
      if (asked.request.method == "DELETE" && created && path.ends_with(name())) {
        created.reset();
        return Reply::text(to_text(Json{{"kind", "Status"}, {"status", "Success"}, {"details", {{"name", path.substr(path.rfind('/') + 1)}}}}));
      }
      const bool jobs = path.ends_with("/jobs");
      if (asked.request.method == "GET" && (jobs || path.ends_with("/pods") || path.ends_with("/events"))) {
        if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
        return test::list_of(jobs && created ? Json::array({*created}) : Json::array());
      }
      if (away.empty() || !path.ends_with(away) || times == 0) return std::nullopt;
      --times;
      ++seen;
      return instead;
    };
  }
  [[nodiscard]] std::string name() const { return created->at("metadata").at("name").get<std::string>(); }
  void is_away(const std::string& what, Reply reply, int often = 1 << 20) {
    away = what;
    instead = std::move(reply);
    times = often;
    seen = 0;
  }
  // Another process for the same run.
  void begin() {
    ++options.seed;
    told.text.clear();
    verdict.reset();
    began = loop.now();
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
    session->begin([this](const Session::Done& done) {
      verdict = done.outcome.verdict;
      since = loop.now();
      if (concludes)
        session->conclude(*verdict, [this](const std::string& what) {
          problem = what;
          since = loop.now();
        });
    });
  }
  void again(Duration time) {
    begin();
    loop.run(time);
  }
  void first() {
    run();
    REQUIRE(created);
  }
};

const auto odd = [] {
  return GENERATE(kube::test::refusal(403, "Forbidden", "forbidden: User \"step\" cannot get it"), gateways_404(),
                  Reply::text("<html>bad</html>", 400), Reply::text("", 302),
                  kube::test::refusal(404, "NotFound", "the server could not find the requested resource", Json::object()));
};
const auto lasting = [] {
  return GENERATE(absent("training"), kube::test::refusal(403, "Forbidden", "no right"), gateways_404(), Reply::text("not ready", 503),
                  Reply::silent(),
                  test::secret("training", {{"minio-url", "http://store:9000"}, {"minio-bucket", "bkt"}, {"minio-accesskey", "key"}}));
};

}  // namespace

TEST_CASE_METHOD(Step, "a job of an earlier attempt is followed though the Secret of cluster_configuration_secret cannot be used any more") {
  with_model_only();
  configured(whole_configuration);
  first();
  is_away("/secrets/training", lasting());
  again(25s);
  CHECK_THAT(told.text, Contains("a job of this run exists; its outputs cannot be fetched yet: cluster_configuration_secret"));
  CHECK_THAT(told.text, Contains("adopted Job " + name()));
  CHECK_FALSE(verdict);
}

TEST_CASE_METHOD(Step, "such a job is followed also where its inputs would have to be brought, or none of its data come back") {
  configured(whole_configuration);
  if (GENERATE(true, false)) {
    request.inputs.clear();
    request.train_parameters = Json::object();
    request.train_specification = "implementation: {container: {image: i, command: [train]}}";
  }
  first();
  is_away("/secrets/training", absent("training"));
  again(15s);
  CHECK_THAT(told.text, Contains("a job of this run exists; following it: cluster_configuration_secret: get secrets/training"));
  CHECK_THAT(told.text, Contains("adopted Job " + name()));
  CHECK(owned.size() == 1);
}

TEST_CASE_METHOD(Step, "a step whose Secret cannot be used creates nothing, and reports where it belongs") {
  with_model_only();
  configured(whole_configuration);
  is_away("/secrets/training", GENERATE(absent("training"), kube::test::refusal(403, "Forbidden", "no right"), gateways_404()));
  again(15s);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::input);
  CHECK_THAT(verdict->message, Contains("cluster_configuration_secret: get secrets/training: "));
  CHECK_THAT(verdict->message, Contains("if the Secret named another cluster, a job of an earlier attempt may still exist there"));
  if (instead.status == 404 && seen == 1) CHECK_THAT(verdict->message, Contains("not found in namespace team; create the Secret there"));
  if (instead.status == 403) CHECK_THAT(verdict->message, Contains("the step needs this permission in namespace team"));
  CHECK_FALSE(created);
}

TEST_CASE_METHOD(Step, "an unfilled Secret that names another cluster leads there nevertheless") {
  with_model_only();
  auto values = whole_configuration;
  values.insert({{"remote-host", "https://remote"}, {"remote-token", "t"}});
  configured(values);
  first();
  const auto keys = name() + "-keys";
  CHECK(owned.contains(keys));
  values.erase("minio-secretkey");
  configured(values);
  again(15s);
  CHECK_THAT(told.text, Contains("its outputs cannot be fetched yet: cluster_configuration_secret: Secret training, minio-secretkey: is missing"));
  CHECK_THAT(told.text, Contains("adopted Job " + name()));
}

TEST_CASE_METHOD(Step, "if another cluster is unreachable because of its Secret, the job there is mentioned") {
  with_model_only();
  configured({{"kubeconfig", "{"}});
  again(15s);
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("a job of an earlier attempt may still exist in the cluster that the Secret names"));
}

TEST_CASE_METHOD(Step, "a request to which a starting API server or a gateway responds is retried") {
  with_model_only();
  const bool named = GENERATE(true, false);
  if (named) configured(whole_configuration);
  is_away(named ? "/secrets/training" : "/secrets/mlpipeline-minio-artifact", odd(), 3);
  again(15s);
  CHECK(seen == 3);
  CHECK(created);
}

TEST_CASE_METHOD(Step, "a single response about the ConfigMap decides nothing") {
  with_model_only();
  const auto config = to_text(Json{{"metadata", {{"name", "kfp-launcher"}}}, {"data", {{"defaultPipelineRoot", "minio://mine/root"}}}});
  const auto before = trouble;
  trouble = [this, before, config](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (auto reply = before(asked)) return reply;
    return asked.request.url.path.ends_with("/configmaps/kfp-launcher") ? std::optional(Reply::text(config)) : std::nullopt;
  };
  is_away("/configmaps/kfp-launcher", odd(), 2);
  again(15s);
  REQUIRE(created);
  CHECK_THAT(told.text, Contains("Kubeflow Pipelines: minio://mine/root/jobs at"));
  CHECK(told.count("defaults") == 0);
}

TEST_CASE_METHOD(Step, "if the ConfigMap stays forbidden or missing, the defaults apply, and the log says so") {
  with_model_only();
  is_away("/configmaps/kfp-launcher", GENERATE(kube::test::refusal(403, "Forbidden", "no right"), absent("kfp-launcher")));
  again(20s);
  REQUIRE(created);
  CHECK(told.count("Kubeflow Pipelines' defaults for object stores apply in namespace team: get configmaps/kfp-launcher: ") == 1);
  CHECK_THAT(told.text, Contains("minio://mlpipeline/jobs at http://seaweedfs.kubeflow:9000"));
}

TEST_CASE_METHOD(Step, "if a gateway keeps responding for the ConfigMap, no other store is used") {
  with_model_only();
  const bool exists = GENERATE(true, false);
  if (exists) first();
  is_away("/configmaps/kfp-launcher", GENERATE(gateways_404(), Reply::text("<html>bad</html>", 400), Reply::text("not ready", 503)));
  again(exists ? 20s : 7min);
  if (exists) {
    CHECK_THAT(told.text, Contains("adopted Job " + name()));
    return;
  }
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("get configmaps/kfp-launcher: HTTP"));
  CHECK_FALSE(created);
}

TEST_CASE_METHOD(Step, "a job is followed though Kubeflow's store is away when another attempt starts, or another one answers") {
  with_model_only();
  first();
  const bool other = GENERATE(true, false);
  const auto before = trouble;
  trouble = [before, other](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const auto& host = asked.request.url.host;
    if (host == "seaweedfs.kubeflow" || (!other && host == "minio-service.kubeflow")) return Reply::lost();
    return before(asked);
  };
  again(20s);
  CHECK_THAT(told.text, Contains("adopted Job " + name()));
  CHECK(told.count("its outputs cannot be fetched yet: train_parameters") == (other ? 0 : 1));
  CHECK(told.count("the job of an earlier attempt uses http://seaweedfs.kubeflow:9000") == (other ? 1 : 0));
  CHECK_FALSE(verdict);
}

TEST_CASE_METHOD(Step, "a job of an earlier attempt is followed though a claim of its pods cannot be read") {
  with_model_only();
  configured(whole_configuration);
  request.job_options = {{"volumes", {{{"mount_path", "/disk"}, {"claim", "data"}}}}};
  const auto there = Reply::text(R"({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}})");
  is_away("/persistentvolumeclaims/data", there);
  first();
  const auto refuses = GENERATE(kube::test::refusal(400, "BadRequest", "no"), Reply::text("<html>bad</html>", 400), Reply::text("", 302),
                                Reply::text("not ready", 500));
  is_away("/persistentvolumeclaims/data", refuses, refuses.status == 500 ? 6 : 1 << 20);
  again(60s);
  CHECK(told.count("adopted Job " + name()) == 1);
  is_away("/persistentvolumeclaims/data", there);
  loop.run(60s);
  CHECK(told.count("version ") == 1);
  CHECK(owned.size() == 1);
  CHECK_FALSE(verdict);
}

TEST_CASE_METHOD(Step, "a job that may not be followed does not run on while no other can be created") {
  const bool named = GENERATE(true, false);
  const bool brings = GENERATE(true, false);
  if (!brings) with_model_only();
  if (named) configured(whole_configuration);
  request.job_options = {{"reattach", "never"}};
  first();
  const auto job = name();
  if (named)
    is_away("/secrets/training", absent("training"));
  else
    is_away("/secrets/mlpipeline-minio-artifact", absent("mlpipeline-minio-artifact"));
  again(30s);
  CHECK_FALSE(created);
  CHECK_THAT(told.text, Contains("jobs/" + job + " is from an earlier attempt (job_options.reattach: never); deleting it"));
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::input);
  CHECK_THAT(verdict->message, Contains("get secrets/"));
}

TEST_CASE_METHOD(Step, "a job that would have to be created again stays as it is while none can be created") {
  with_model_only();
  configured(whole_configuration);
  first();
  (*created)["metadata"]["annotations"]["trainstep.dev/data"] = "gone";
  is_away("/secrets/training", absent("training"));
  again(15s);
  CHECK(created);
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("get secrets/training: "));
}

TEST_CASE_METHOD(Step, "outputs that cannot be fetched yet are reported even if inputs were uploaded") {
  request.train_specification =
      "inputs: [{name: data, type: Dataset}]\noutputs: [{name: model, type: Model}]\nimplementation: {container: {image: i, command: [train, "
      "{inputPath: data}, {outputPath: model}]}}";
  request.outputs = {{.name = "model_dir", .path = folder.path() / "model", .uri = "", .type = "", .metadata = Json::object()}};
  request.train_parameters["model"] = "model_dir";
  first();
  is_away("/secrets/mlpipeline-minio-artifact", absent("mlpipeline-minio-artifact"));
  again(15s);
  CHECK_THAT(told.text, Contains("a job of this run exists; its inputs are kept"));
  CHECK_THAT(told.text, Contains("its outputs cannot be fetched yet: credentials of the object store: get secrets/mlpipeline-minio-artifact: "));
  CHECK_THAT(told.text, Contains("not found in namespace team; create the Secret there, or name another one in the ConfigMap kfp-launcher"));
  CHECK_THAT(told.text, Contains("adopted Job " + name()));
}

TEST_CASE_METHOD(Step, "a job is followed within seconds while the keys of its outputs are not answered") {
  with_model_only();
  first();
  is_away("/secrets/mlpipeline-minio-artifact", GENERATE(Reply::text("not ready", 503), Reply::silent()));
  again(20s);
  CHECK_THAT(told.text, Contains("adopted Job " + name()));
  CHECK_THAT(told.text, Contains("its outputs cannot be fetched yet: the credentials of the object store are not available yet"));
}

TEST_CASE_METHOD(Step, "a Secret that is never answered ends a new step after five minutes") {
  with_model_only();
  const bool named = GENERATE(true, false);
  if (named) configured(whole_configuration);
  is_away(named ? "/secrets/training" : "/secrets/mlpipeline-minio-artifact", Reply::silent());
  again(7min);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::system);
  CHECK(*since - began >= 5min);
  CHECK_FALSE(created);
}

TEST_CASE_METHOD(Step, "an API server that is away altogether is waited for, and then the Secret is read") {
  with_model_only();
  configured(whole_configuration);
  begin();
  loop.run(0s);
  const auto before = trouble;
  trouble = [this, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const bool own = asked.request.url.path.ends_with("/pods/step-1");
    return asked.at - began < 12min && asked.request.url.host == "api" && !own ? std::optional(Reply::silent()) : before(asked);
  };
  loop.run(14min);
  CHECK_FALSE(verdict);
  CHECK(created);
}

TEST_CASE_METHOD(Step, "a cancel ends the job of an earlier attempt whatever is being read") {
  with_model_only();
  const bool named = GENERATE(true, false);
  if (named) configured(whole_configuration);
  first();
  is_away(named ? "/secrets/training" : "/configmaps/kfp-launcher", GENERATE(Reply::silent(), Reply::text("not ready", 503), gateways_404()));
  begin();
  loop.after(3s, [this] { session->request_stop(SIGTERM); });
  loop.run(13s);
  CHECK_FALSE(created);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
}

TEST_CASE_METHOD(Step, "a cancel ends the search for Kubeflow's store, and deletes the job of an earlier attempt") {
  with_model_only();
  const bool exists = GENERATE(true, false);
  if (exists) first();
  answers = false;
  begin();
  loop.after(2s, [this] { session->request_stop(SIGTERM); });
  loop.run(8s);
  CHECK_FALSE(created);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK(told.count("no job of this run") == (exists ? 0 : 1));
  CHECK(*since - began < 5s);
}

TEST_CASE_METHOD(Step, "a cancelled step without a job searches only briefly for data of an earlier attempt") {
  with_model_only();
  concludes = true;
  is_away("/secrets/mlpipeline-minio-artifact", Reply::silent());
  begin();
  loop.after(3s, [this] { session->request_stop(SIGTERM); });
  loop.run(30s);
  CHECK(told.count("no job of this run") == 1);
  REQUIRE(problem);
  CHECK_THAT(*problem,
             Contains("cannot tell whether an earlier attempt left data at minio://mlpipeline/jobs/my-model-") && Contains("timed out after 5.0 s"));
  CHECK(*since - began < 10s);
}
