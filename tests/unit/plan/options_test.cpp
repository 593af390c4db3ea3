#include "plan/options.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

TEST_CASE("absent options have their defaults") {
  const auto options = parse_options(Json::object());
  REQUIRE(options);
  CHECK(options->run_policy.restart_policy == "Never");
  CHECK(options->run_policy.backoff_limit == 0);
  CHECK(options->gpu_resource == "nvidia.com/gpu");
  CHECK(options->logs.empty());
  CHECK_FALSE(options->limits.running);
}

TEST_CASE("durations are seconds or numbers with units") {
  struct Row {
    const char* text;
    int seconds;
  };
  for (const auto& row :
       std::vector<Row>{{"90", 90}, {"\"90\"", 90}, {"\"90s\"", 90}, {"\"10m\"", 600}, {"\"1h30m\"", 5400}, {"\"2d\"", 172800}, {"0.5", 0}}) {
    INFO(row.text);
    const auto options = parse_options(Json::parse(std::string(R"({"limits": {"running": )") + row.text + "}}"));
    REQUIRE(options);
    CHECK(options->limits.running->count() / 1000 == row.seconds);
  }
}

TEST_CASE("the options of one replica type overlay those of all") {
  const auto options = parse_options(Json::parse(R"({
    "environment": {"A": "1", "B": "2"}, "tolerations": [{"key": "x"}], "service_account": "all",
    "replicas": {"Worker": {"environment": {"B": "3"}, "tolerations": [{"key": "y"}], "image": "other:1"}}})"));
  REQUIRE(options);
  const auto worker = options_for(*options, "Worker");
  CHECK(worker.environment == Json::parse(R"({"A": "1", "B": "3"})"));
  CHECK(worker.tolerations.size() == 2);
  CHECK(worker.service_account == "all");
  CHECK(worker.image == "other:1");
  CHECK(options_for(*options, "Master").environment["B"] == "2");
}

TEST_CASE("a restart policy that restarts has a default backoff limit") {
  CHECK(parse_options(Json::parse(R"({"run_policy": {"restart_policy": "onfailure"}})"))->run_policy.backoff_limit == 3);
}

TEST_CASE("logs are chosen by a text or a list") {
  CHECK(parse_options(Json::parse(R"({"logs": "all"})"))->logs == std::vector<std::string>{"all"});
  CHECK(parse_options(Json::parse(R"({"logs": "worker-0, worker-1"})"))->logs == std::vector<std::string>{"worker-0", "worker-1"});
  CHECK(parse_options(Json::parse(R"({"logs": ["worker-3"]})"))->logs == std::vector<std::string>{"worker-3"});
}

TEST_CASE("mistakes in options are refused with their place") {
  struct Row {
    const char* text;
    const char* said;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"enviroment": {}})", "did you mean \"environment\"?"},
           {R"({"limits": {"run": 1}})", "job_options.limits"},
           {R"({"limits": {"running": "soon"}})", "job_options.limits.running: \"soon\" is not a valid duration"},
           {R"({"limits": {"running": "1h30"}})", "job_options.limits.running: \"1h30\" is not a valid duration"},
           {R"({"limits": {"running": "1h 30"}})", "is not a valid duration"},
           {R"({"volumes": [{"claim": "c"}]})", "job_options.volumes[0].mount_path"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "c", "secret": "s"}]})", "exactly one of"},
           {R"({"environment": {"A B": "1"}})", "\"A B\" is not a valid variable name"},
           {R"({"environment": {"A": {"secret": "s"}}})", "job_options.environment.A"},
           {R"({"environment": {"A": {"secret": "s", "kee": "k"}}})", "did you mean \"key\"?"},
           {R"({"run_policy": {"backoff_limit": -1}})", "job_options.run_policy.backoff_limit"},
           {R"({"replicas": {"Worker": {"imag": "x"}}})", "job_options.replicas.Worker"},
           {R"({"patch": "x"})", "job_options.patch"},
           {R"({"labels": {"trainstep.dev/run": "x"}})", "job_options.labels: \"trainstep.dev/run\" is reserved; it identifies jobs and pods"},
           {R"({"labels": {"app.kubernetes.io/managed-by": "x"}})", "job_options.labels: \"app.kubernetes.io/managed-by\""},
           {R"({"annotations": {"trainstep.dev/created-by": "x"}})", "job_options.annotations: \"trainstep.dev/created-by\""},
           {R"({"replicas": {"Worker": {"labels": {"training.kubeflow.org/replica-index": "7"}}}})", "job_options.replicas.Worker.labels"},
           {R"({"replicas": {"Worker": {"annotations": {"trainstep.dev/x": "7"}}}})", "job_options.replicas.Worker.annotations"},
           {R"({"labels": {"job-name": "x"}})", "job_options.labels: \"job-name\""},
           {R"({"labels": {"batch.kubernetes.io/controller-uid": "x"}})", "job_options.labels"},
           {R"({"tolerations": {}})", "expected a list"},
           {R"({"metrics": {"loss": "x"}})", "job_options.metrics: expected a list, got "},
           {R"({"metrics": ["loss"]})", "job_options.metrics[0]: expected an object, got "},
           {R"({"metrics": [null]})", "job_options.metrics[0].name: is missing"},
           {R"j({"metrics": [{"name": "a", "regex": "(x)"}, {"regex": "(x)"}]})j", "job_options.metrics[1].name: is missing"},
           {R"({"metrics": [{"name": "a"}]})", "job_options.metrics[0].regex: is missing"},
           {R"({"metrics": [{"name": "a", "regex": ""}]})", "job_options.metrics[0].regex: is missing"},
           {R"({"metrics": [{"name": "a", "regex": 3}]})", "job_options.metrics[0].regex: expected a string, got 3"},
           {R"j({"metrics": [{"name": "a", "pattern": "(x)"}]})j", "job_options.metrics[0]: unknown key \"pattern\"; expected one of name, regex"},
           {R"j({"metrics": [{"Name": "a", "name": "a", "regex": "(x)"}]})j", "job_options.metrics[0]: unknown key \"Name\"; did you mean \"name\"?"},
           {R"j({"metrics": [{"Name": 3, "Regex": "(x)"}]})j", "job_options.metrics[0].Name: expected a string, got 3"},
           {R"j({"metrics": [{"Name": "a"}]})j", "job_options.metrics[0].regex: is missing"},
           {R"j({"metrics": [{"name": "my loss", "regex": "(x)"}]})j", "job_options.metrics[0].name: \"my loss\" is not a valid metric name"},
           {R"j({"metrics": [{"name": "a", "regex": "(x)"}, {"name": "a", "regex": "(y)"}]})j", "metrics[1].name: [0] also defines \"a\""},
           {R"j({"metrics": [{"name": "a", "regex": "(x)"}, {"name": "b", "regex": "(y"}]})j", "job_options.metrics[1].regex: missing ): \"(y\""},
           {R"j({"metrics": [{"name": "a", "regex": "x"}]})j", "job_options.metrics[0].regex: the pattern has no group"},
           {R"("text")", "expected an object"},
       }) {
    INFO(row.text);
    const auto options = parse_options(Json::parse(row.text));
    REQUIRE_FALSE(options);
    INFO(options.error().message);
    CHECK(options.error().message.find(row.said) != std::string::npos);
  }
}

TEST_CASE("metrics are definitions by name and pattern") {
  const auto options =
      parse_options(Json::parse(R"j({"metrics": [{"name": "loss", "regex": "loss is ([0-9.]+)"}, {"name": "epoch", "regex": " (\\d+)"}]})j"));
  REQUIRE(options);
  CHECK(options->metrics == std::vector<result::MetricDefinition>{{"loss", "loss is ([0-9.]+)"}, {"epoch", " (\\d+)"}});
  for (const auto* none : {R"({"metrics": []})", R"({"metrics": null})", R"({"metrics": ""})"}) {
    const auto without = parse_options(Json::parse(none));
    REQUIRE(without);
    CHECK(without->metrics.empty());
  }
}

TEST_CASE("the keys of a metric may be written as SageMaker writes them") {
  const auto options = parse_options(Json::parse(
      R"j({"metrics": [{"Name": "validation:accuracy", "Regex": "acc ([0-9.]+)"}, {"name": "loss", "Regex": "loss ([0-9]+(.|e\\-)[0-9]+)"}]})j"));
  REQUIRE(options);
  CHECK(options->metrics == std::vector<result::MetricDefinition>{{"validation:accuracy", "acc ([0-9.]+)"}, {"loss", "loss ([0-9]+(.|e\\-)[0-9]+)"}});
}

TEST_CASE("more metrics than are taken are refused") {
  auto list = Json::array();
  for (int i = 0; i < 41; ++i) list.push_back({{"name", "m" + std::to_string(i)}, {"regex", "(x)"}});
  const auto options = parse_options({{"metrics", list}});
  REQUIRE_FALSE(options);
  CHECK(options.error().message == "job_options.metrics: 41 items, the limit is 40");
  list.erase(0);
  CHECK(parse_options({{"metrics", list}}));
}

TEST_CASE("a finished job is deleted after a week, unless it is queued, kept permanently, or its user sets a time") {
  struct Row {
    const char* options;
    std::optional<Duration> expected;
  };
  const Row rows[] = {
      {"{}", std::chrono::hours(168)},
      {R"({"cleanup": "on_success"})", std::chrono::hours(168)},
      {R"({"cleanup": "never"})", std::nullopt},
      {R"({"queue": "team"})", std::nullopt},
      {R"({"run_policy": {"suspend": true}})", std::nullopt},
      {R"({"cleanup": "never", "run_policy": {"ttl_after_finished": "1h"}})", std::chrono::hours(1)},
  };
  for (const auto& row : rows) {
    INFO(row.options);
    const auto options = parse_options(Json::parse(row.options));
    REQUIRE(options);
    CHECK(options->run_policy.ttl_after_finished == row.expected);
  }
}

TEST_CASE("a lease is a duration, and off or 0 is none") {
  using namespace std::chrono_literals;
  CHECK_FALSE(parse_options(Json::object())->lease);
  CHECK(parse_options({{"lease", "2h"}})->lease == 2h);
  CHECK(parse_options({{"lease", "3m"}})->lease == 3min);
  for (const auto& none : {Json("off"), Json("0"), Json(0)}) CHECK(parse_options({{"lease", none}})->lease == Duration(0));
  const auto refused = parse_options({{"lease", "90s"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "job_options.lease: \"90s\" is shorter than 3m; write 0 or off for none");
}
