// The step's half of a job's data: to the job's prefix and from it, by keys of Secrets, and what is removed at the end.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_data.h"

#include <optional>
#include <string>
#include <vector>

#include "data/digest.h"
#include "kube/token_source.h"
#include "staging/delivery_listing.h"
#include "support/catch.h"
#include "unit/kube/harness.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using trainstep::test::FakeTransport;
using trainstep::test::Reply;
using Texts = std::vector<std::string>;

namespace {

constexpr auto prefix = "s3://bkt/jobs/job";

struct Step : staging::test::StoreOfPod {
  FakeTransport api{loop};
  std::map<std::string, Json> secrets;  // what the API server has: name → keys
  std::optional<Reply> no_secret;       // instead of any of them
  std::map<std::string, objectstore::Credentials> known;
  objectstore::CredentialsRef known_at;
  std::map<std::string, std::string> environment;
  Texts said;
  std::vector<run::OutputFound> outputs;
  plan::Plan plan;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<StepData> data;

  Step() {
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "api", 6443, "", {}};
    credentials->token = kube::fixed_token("t");
    client = std::make_unique<kube::Client>(loop, api, std::move(credentials), 1);
    api.serve([this](const FakeTransport::Asked& asked) {
      const auto& path = asked.request.url.path;
      const auto secret = secrets.find(path.substr(path.rfind('/') + 1));
      if (no_secret) return *no_secret;
      if (secret == secrets.end()) return kube::test::refusal(404, "NotFound", "secrets is not found");
      return Reply::text(to_text({{"metadata", {{"name", secret->first}}}, {"data", secret->second}}));
    });
    secrets["team-keys"] = {{"ak", encode_base64("key-of-team\n")}, {"sk", encode_base64("secret-of-team")}};
    add_store("team-keys");
    plan.data.prefix = at("");
    plan.data.task.record = at("finished.json");
  }
  void add_store(const std::string& secret) {
    plan.data.secrets.push_back({"http://store:9000", "us-east-1", true, secret, "ak", "sk"});
    plan.data.task.stores.push_back({"http://store:9000", "us-east-1", true, "", "", ""});
  }
  static plan::TaskPlace at(const std::string& name) { return {name.empty() ? prefix : prefix + ("/" + name), 0, ""}; }
  StepData& step() {
    if (data) return *data;
    StepData::Context around{*client, transport, "team-a", environment, known, 1, [this](const std::string& line) { said.push_back(line); }};
    around.credentials_ref = known_at;
    data = std::make_unique<StepData>(plan, std::move(around));
    return *data;
  }
  template <typename Done>
  Result<void> end(void (StepData::*what)(Done)) {
    return end([&](const StepData::Done& done) { (step().*what)(done); });
  }
  Result<void> download() {
    auto fetched = end([&](StepData::Done done) { step().download(outputs, std::move(done)); });
    if (fetched) REQUIRE(step().commit().has_value());
    return fetched;
  }
  // An output that the program has written.
  run::OutputFound& output(const std::string& name, std::size_t store = 0) {
    plan.data.downloads.push_back({name, in_pod(name), {"s3://bkt/jobs/job/outputs/" + name, store, ""}});
    return outputs.emplace_back(run::OutputFound{.name = name, .artifact = true, .path = in_pod(name), .present = true, .value = {}});
  }
  Result<void> end(const std::function<void(StepData::Done)>& what) {
    std::optional<Result<void>> result;
    what([&](Result<void> done) {
      REQUIRE_FALSE(result);
      result = std::move(done);
    });
    CHECK_FALSE(result);  // never from within the call
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  Result<result::PodReport> report() {
    std::optional<Result<result::PodReport>> result;
    step().whole_report([&](Result<result::PodReport> found) { result = std::move(found); });
    CHECK_FALSE(result);
    loop.run();
    REQUIRE(result);
    return std::move(*result);
  }
  // As a pod delivers it: with the list of what it has brought.
  void delivered(const std::string& name, const std::string& file, const std::string& content) {
    const auto place = "jobs/job/outputs/" + name;
    objects[place + '/' + file] = content;
    objects[place + ".objects.json"] = staging::list_of({{.key = file, .size = static_cast<std::int64_t>(content.size()), .etag = etag(content)}});
  }
  std::string input(const std::string& name) {
    plan.data.uploads.push_back({name, in_pod("here/" + name), at("inputs/" + name)});
    return plan.data.uploads.back().path;
  }
  [[nodiscard]] Texts of_api() const {
    Texts lines;
    for (const auto& asked : api.asked()) lines.push_back(asked.line());
    return lines;
  }
  [[nodiscard]] bool signed_by(const std::string& access_key) const {
    return !transport.asked().empty() && std::ranges::all_of(transport.asked(), [&](const auto& asked) {
      return asked.header("Authorization").find("Credential=" + access_key + "/") != std::string::npos;
    });
  }
};

result::PodReport much() {
  result::PodReport made;
  made.attempt = "a1";
  made.outputs.push_back({.name = "digest", .artifact = false, .present = true, .value = Json("long"), .uri = {}});
  return made;
}

}  // namespace

TEST_CASE_METHOD(Step, "local inputs are uploaded below the job's prefix with the credentials of the namespace's Secret, and this is logged") {
  write(input("data") + "/a/b.csv", "1,2");
  write(input("one"), "3");
  REQUIRE(end(&StepData::upload));
  CHECK(objects["jobs/job/inputs/data/a/b.csv"] == "1,2");
  CHECK(objects["jobs/job/inputs/one"] == "3");
  CHECK(of_api() == Texts{"GET /api/v1/namespaces/team-a/secrets/team-keys"});
  CHECK(signed_by("key-of-team"));
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Contains("2 inputs copied to s3://bkt/jobs/job: 2 files"));
}

TEST_CASE_METHOD(Step, "a missing input is reported by name and path before any request") {
  const auto path = input("data");
  const auto uploaded = end(&StepData::upload);
  REQUIRE_FALSE(uploaded);
  CHECK(uploaded.error().kind == ErrorKind::input);
  CHECK(uploaded.error().message == "data: " + path + " does not exist");
  CHECK(api.asked().empty());
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Step, "a store that rejects requests is not waited for before the training") {
  write(input("data"), "1");
  refuse("PUT", 403, "AccessDenied");
  const auto uploaded = end(&StepData::upload);
  REQUIRE_FALSE(uploaded);
  CHECK(uploaded.error().kind == ErrorKind::denied);
  CHECK_THAT(uploaded.error().message, Contains("data") && Contains("AccessDenied"));
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Step, "unavailable credentials are reported with the Secret and its key, without values") {
  write(input("data"), "1");
  struct Row {
    std::string name;
    Json keys;  // null: no such Secret
    std::optional<Reply> answer;
    ErrorKind kind;
    std::string said;
  };
  const auto row =
      GENERATE(Row{"a key is missing",
                   {{"ak", encode_base64("key-of-team")}},
                   {},
                   ErrorKind::input,
                   "credentials of the object store: Secret team-keys: no key sk; correct it in namespace team-a"},
               Row{"a key is empty",
                   {{"ak", ""}, {"sk", encode_base64("secret-of-team")}},
                   {},
                   ErrorKind::input,
                   "Secret team-keys: the value of ak is empty"},
               Row{"not valid base64",
                   {{"ak", "%%"}, {"sk", encode_base64("secret-of-team")}},
                   {},
                   ErrorKind::input,
                   "Secret team-keys: the value of ak is not valid base64"},
               Row{"a line break",
                   {{"ak", encode_base64("key\r\nX: 1")}, {"sk", encode_base64("secret-of-team")}},
                   {},
                   ErrorKind::input,
                   "Secret team-keys: the value of ak contains a control character"},
               Row{"not there", nullptr, {}, ErrorKind::not_found, "credentials of the object store: "},
               Row{"may not be read", nullptr, kube::test::refusal(403, "Forbidden", "no"), ErrorKind::denied, "credentials of the object store: "});
  CAPTURE(row.name);
  row.keys.is_null() ? static_cast<void>(secrets.clear()) : static_cast<void>(secrets["team-keys"] = row.keys);
  no_secret = row.answer;
  const auto uploaded = end(&StepData::upload);
  REQUIRE_FALSE(uploaded);
  CHECK(uploaded.error().kind == row.kind);
  CHECK_THAT(uploaded.error().message, Contains(row.said));
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Step, "keys that are known already, or that the environment holds, need no Secret") {
  write(input("data"), "1");
  SECTION("known") {
    known["team-keys"] = {"known-key", "s", ""};
    REQUIRE(end(&StepData::upload));
    CHECK(signed_by("known-key"));
  }
  SECTION("from the environment") {
    plan.data.secrets.front().secret.clear();
    environment = {{"AWS_ACCESS_KEY_ID", "own-key"}, {"AWS_SECRET_ACCESS_KEY", "s"}};
    REQUIRE(end(&StepData::upload));
    CHECK(signed_by("own-key"));
  }
  CHECK(api.asked().empty());
}

namespace {

// Keys come from a service that the environment names.
struct Service : Step {
  std::function<Reply()> answer = [] {
    return Reply::text(R"({"AccessKeyId": "k", "SecretAccessKey": "s", "Token": "t", "Expiration": "2126-01-01T00:00:00Z"})");
  };
  Service() {
    plan.data.secrets.front().secret.clear();
    environment = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://keys/now"}};
    fault = [this](const FakeTransport::Asked& asked) { return asked.request.url.host == "keys" ? std::optional(answer()) : std::nullopt; };
    output("model");
  }
};

}  // namespace

TEST_CASE_METHOD(Service, "keys that the environment names are fetched before they are needed, and missed before there is a job") {
  std::string said_why;
  auto kind = ErrorKind::input;
  SECTION("the service refuses") {
    answer = [] { return Reply::text("no", 403); };
    said_why = "credentials for this container: the service answered 403";
  }
  SECTION("there is no token") {
    environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", in_pod("no-token")}, {"AWS_ROLE_ARN", "arn"}};
    said_why = "cannot read " + in_pod("no-token");
  }
  SECTION("there is no role") {
    environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/etc/hostname"}};
    said_why = "AWS_ROLE_ARN is not";
  }
  SECTION("the service does not answer") {
    answer = [] { return Reply::lost(); };
    kind = ErrorKind::unavailable;
  }
  SECTION("the service is another one") {
    answer = [] { return Reply::text("<html>"); };
    kind = ErrorKind::unavailable;
  }
  const auto found = end(&StepData::read_credentials);
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == kind);
  CHECK_THAT(found.error().message, Contains("credentials of the object store: ") && Contains(said_why));
  CHECK(count("GET /bkt") == 0);
}

TEST_CASE_METHOD(Service, "a service of keys that answers nothing useful for a minute is waited for") {
  const auto odd = GENERATE(Reply::lost(), Reply::text("<html>"), Reply::text("{}"), Reply::text("", 503));
  answer = [this, odd, good = answer, until = loop.now() + 1min] { return loop.now() < until ? odd : good(); };
  CHECK(end(&StepData::read_credentials));
  CHECK(std::ranges::count_if(said, [](const auto& line) { return line.ends_with("; trying again"); }) == 1);
}

TEST_CASE_METHOD(Service, "a destroyed object gets no callback while credentials are fetched") {
  answer = [] { return Reply::silent(); };
  bool told = false;
  step().read_credentials([&](const Result<void>&) { told = true; });
  loop.run(5s);
  data.reset();
  loop.run();
  CHECK_FALSE(told);
}

TEST_CASE_METHOD(Step,
                 "credentials that may not read the outputs' location are rejected before the job is created; an unclear response is a warning") {
  output("model");
  bool refused = true;
  std::string doubt;
  SECTION("they may write and list") { refuse("GET /bkt/", 403, "AccessDenied"); }
  SECTION("they are unknown") { refuse("GET /bkt", 403, "InvalidAccessKeyId"); }
  SECTION("there is no such bucket") { refuse("GET /bkt", 404, "NoSuchBucket"); }
  SECTION("they may read") { refused = false; }
  SECTION("they may not list either: then no output is known to be missing") {
    refuse("GET /bkt", 403, "AccessDenied");
    refused = false;
    doubt = "AccessDenied";
  }
  SECTION("another server answers") {
    fault = [](const auto&) { return Reply::text("<html>", 403); };
    refused = false;
    doubt = "answered 403";
  }
  SECTION("only the pods reach the store") {
    fault = [](const auto&) { return Reply::silent(); };
    refused = false;
    doubt = "http://store:9000 does not answer";
  }
  const auto before = loop.now();
  const auto found = end(&StepData::read_credentials);
  CHECK(found.has_value() != refused);
  if (!found) CHECK_THAT(found.error().message, Contains("the outputs could not be fetched: get s3://bkt/jobs/job/outputs/model"));
  CHECK(said.empty() == doubt.empty());
  if (!doubt.empty()) CHECK_THAT(said.front(), Contains("cannot tell whether the outputs can be fetched: ") && Contains(doubt));
  CHECK(loop.now() - before < 11s);
}

TEST_CASE_METHOD(Step, "each store has its own keys, and a Secret is read once for all that is done") {
  secrets["other"] = {{"ak", encode_base64("other")}, {"sk", encode_base64("secret-of-team")}};
  add_store("other");
  write(input("data"), "1");
  delivered("model", "weights", "w");
  output("model", 1);
  REQUIRE(end(&StepData::upload));
  const auto is_put = [](const auto& asked) { return asked.request.method == "PUT"; };
  const auto put = std::ranges::find_if(transport.asked(), is_put);
  REQUIRE(put != transport.asked().end());
  CHECK_THAT(put->header("Authorization"), Contains("Credential=key-of-team/"));
  const auto before = transport.asked().size();
  REQUIRE(download());
  CHECK(read(in_pod("model/weights")) == "w");
  CHECK_THAT(transport.asked().at(before).header("Authorization"), Contains("Credential=other/"));
  CHECK(of_api() == Texts{"GET /api/v1/namespaces/team-a/secrets/team-keys", "GET /api/v1/namespaces/team-a/secrets/other"});
}

namespace {

constexpr auto new_keys_said = "the object store no longer accepts the credentials of Secret team-keys; using its new ones";

// While the job trained the store's keys were replaced.
struct Rotated : Step {
  Rotated() {
    write(input("data"), "1");
    for (const auto* file : {"a", "b", "c"}) objects[std::string("jobs/job/outputs/model/") + file] = file;
    objects["jobs/job/outputs/model.objects.json"] = staging::list_of(
        {{.key = "a", .size = 1, .etag = etag("a")}, {.key = "b", .size = 1, .etag = etag("b")}, {.key = "c", .size = 1, .etag = etag("c")}});
    output("model");
    if (GENERATE(false, true)) {
      known["team-keys"] = {"key-of-team", "secret-of-team", ""};
      known_at = {"team-keys", "ak", "sk"};
    }
    REQUIRE(end(&StepData::upload));
    at_first = api.asked().size();
    fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.header("Authorization").find("Credential=new-key/") != std::string::npos) return std::nullopt;
      return refusal(403, "InvalidAccessKeyId");
    };
  }
  std::size_t at_first = 0;  // readings of the Secret
};

}  // namespace

TEST_CASE_METHOD(Rotated, "credentials that the store no longer accepts are read again from their Secret, and this is logged") {
  secrets["team-keys"] = {{"ak", encode_base64("new-key")}, {"sk", encode_base64("new-secret")}};
  REQUIRE(download());
  CHECK(read(in_pod("model/c")) == "c");
  CHECK(api.asked().size() == at_first + 1);
  CHECK(std::ranges::count(said, new_keys_said) == 1);
}

TEST_CASE_METHOD(Rotated, "while the Secret has no other credentials, the store's rejection is reported") {
  const auto what = GENERATE(as<std::string>(), "the same", "none", "no Secret", "may not be read");
  CAPTURE(what);
  if (what == "none") secrets["team-keys"] = Json::object();
  if (what == "no Secret") secrets.clear();
  if (what == "may not be read") no_secret = kube::test::refusal(403, "Forbidden", "no");
  const auto fetched = download();
  REQUIRE_FALSE(fetched);
  CHECK(fetched.error().kind == ErrorKind::denied);
  CHECK_THAT(fetched.error().message, Contains("InvalidAccessKeyId") && Contains("Secret team-keys was read again: "));
  if (what == "the same") CHECK_THAT(fetched.error().message, Contains("its credentials are unchanged"));
  if (what == "none") CHECK_THAT(fetched.error().message, Contains("Secret team-keys: no key ak"));
  if (what == "may not be read") CHECK_THAT(fetched.error().message, Contains("get secrets/team-keys: no"));
  CHECK(api.asked().size() <= at_first + 7);  // in half a minute
  CHECK(std::ranges::count(said, new_keys_said) == 0);
  CHECK(step().lost() == staging::Fetching::Lost::nothing);
}

TEST_CASE_METHOD(Rotated, "a Secret that follows its store seconds later, or may not be read for a moment, is read again") {
  const auto what = GENERATE(as<std::string>(), "late", "absent", "refused");
  CAPTURE(what);
  if (what == "absent") secrets.clear();
  if (what == "refused") no_secret = kube::test::refusal(403, "Forbidden", "no");
  loop.after(15s, [this] {
    no_secret.reset();
    secrets["team-keys"] = {{"ak", encode_base64("new-key")}, {"sk", encode_base64("new-secret")}};
  });
  REQUIRE(download());
  CHECK(read(in_pod("model/c")) == "c");
  CHECK(std::ranges::count(said, new_keys_said) == 1);
}

TEST_CASE_METHOD(Rotated, "rejected new credentials are reported as well") {
  secrets["team-keys"] = {{"ak", encode_base64("other-key")}, {"sk", encode_base64("new-secret")}};
  const auto fetched = download();
  REQUIRE_FALSE(fetched);
  CHECK_THAT(fetched.error().message, Contains("InvalidAccessKeyId") && Contains("Secret team-keys was read again"));
}

TEST_CASE_METHOD(Step, "only an empty listing shows that delivered data is gone") {
  using enum staging::Fetching::Lost;
  const std::string list = "jobs/job/outputs/model.objects.json";
  delivered("model", "weights", "w");
  output("model");
  auto lost = nothing;
  std::string said_why = "the object store answered 404";
  SECTION("its list is gone") {
    objects.erase(list);
    lost = some;
  }
  SECTION("an object is gone") {
    objects.erase("jobs/job/outputs/model/weights");
    lost = some;
  }
  SECTION("all is gone") {
    objects.clear();
    lost = all;
  }
  SECTION("all is gone there, but there are outputs elsewhere") {
    objects.clear();
    plan.data.task.outputs.push_back(
        {.name = "o", .type = spec::Type::artifact, .declared = {}, .path = {}, .folder_is = {}, .to = {"s3://b/o", 0, ""}});
    lost = some;
  }
  SECTION("its list is gone, and nothing may be listed") {
    objects.erase(list);
    refuse("GET /bkt encoding", 403, "AccessDenied");
  }
  SECTION("another server answers with a page") {
    fault = [](const auto&) { return Reply::text("<html>no route</html>", 404); };
    said_why += ": <html>no route</html>";
  }
  SECTION("another server answers without one") {
    fault = [](const auto&) { return Reply::text("", 404); };
  }
  SECTION("the bucket is not there") {
    refuse("", 404, "NoSuchBucket");
    said_why += " NoSuchBucket";
  }
  const auto fetched = download();
  REQUIRE_FALSE(fetched);
  CHECK_THAT(fetched.error().message, Contains(said_why) && Contains("s3://bkt/jobs/job/outputs/model"));
  CHECK(step().lost() == lost);
}

TEST_CASE_METHOD(Step, "a record that is not there says as little as a list") {
  using enum staging::Fetching::Lost;
  auto lost = all;
  SECTION("nothing else is there") {}
  SECTION("outputs are") {
    delivered("model", "weights", "w");
    lost = some;
  }
  SECTION("the Secret is not there") {
    secrets.clear();
    lost = nothing;
  }
  CHECK_FALSE(report());
  CHECK(step().lost() == lost);
}

TEST_CASE_METHOD(Step, "whatever answers for the store for 25 seconds, record and outputs are fetched") {
  const auto [status, page] = GENERATE(table<int, std::string>(
      {{404, "<html>no route</html>"}, {404, ""}, {302, ""}, {400, "<html>"}, {403, "<html>blocked</html>"}, {200, "<html>log in</html>"}}));
  CAPTURE(status, page);
  delivered("model", "weights", "w");
  output("model");
  objects["jobs/job/finished.json"] = result::to_text(much());
  fault = [this, until = loop.now() + 25s, status = status, page = page](const auto&) -> std::optional<Reply> {
    return loop.now() < until ? std::optional(Reply::text(page, status)) : std::nullopt;
  };
  SECTION("record") { CHECK(report()); }
  SECTION("outputs") {
    REQUIRE(download());
    CHECK(read(in_pod("model/weights")) == "w");
  }
}

TEST_CASE_METHOD(Step, "a page in place of a list or a record is reported with its address") {
  output("model");
  fault = [](const auto&) { return Reply::text("<html>log in</html>"); };
  CHECK_THAT(download().error().message, Contains("s3://bkt/jobs/job/outputs/model.objects.json: cannot read") && Contains("<html>log in"));
  CHECK_THAT(report().error().message, Contains("s3://bkt/jobs/job/finished.json: cannot read") && Contains("<html>log in"));
}

TEST_CASE_METHOD(Step, "a token file that is missing while outputs are fetched is not taken for a missing object") {
  plan.data.secrets.front().secret.clear();
  const auto token = in_pod("token");
  write(token, "jwt");
  environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", token}, {"AWS_ROLE_ARN", "arn:aws:iam::1:role/train"}};
  fault = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.url.host == "store") return std::nullopt;
    return Reply::text(
        "<R><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>k</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
        "<SessionToken>t</SessionToken><Expiration>2000-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></R>");
  };
  delivered("model", "weights", "w");
  output("model");
  REQUIRE(end(&StepData::read_credentials));
  std::filesystem::remove(token);
  SECTION("for good") {
    const auto found = report();
    REQUIRE_FALSE(found);
    CHECK_THAT(found.error().message, Contains("No such file"));
    CHECK_FALSE(download());
    CHECK(step().lost() == staging::Fetching::Lost::nothing);
  }
  SECTION("for a moment") {
    loop.after(10s, [&] { write(token, "jwt"); });
    CHECK(download());
  }
}

TEST_CASE_METHOD(Step, "missing outputs are reported with their address") {
  output("model");
  if (GENERATE(false, true)) {
    delivered("model", "weights", "w");
    objects.erase("jobs/job/outputs/model/weights");
  }
  const auto downloaded = download();
  REQUIRE_FALSE(downloaded);
  CHECK(downloaded.error().kind == ErrorKind::unavailable);  // the program has written them
  CHECK_THAT(downloaded.error().message, Contains("model") && Contains("s3://bkt/jobs/job/outputs/model"));
  CHECK_FALSE(std::filesystem::exists(in_pod("model")));
}

TEST_CASE_METHOD(Step, "what the program did not write is not fetched") {
  delivered("model", "weights", "w");
  output("model");
  output("none").present = false;
  output("metadata alone").earlier = true;
  output("a folder").no_file = true;
  output("elsewhere").path = "s3://other/place";
  REQUIRE(download());
  CHECK(read(in_pod("model/weights")) == "w");
  for (const auto* name : {"none", "metadata alone", "a folder", "elsewhere"}) CHECK_FALSE(std::filesystem::exists(in_pod(name)));
}

TEST_CASE_METHOD(Step, "downloaded data appears only when it is complete") {
  delivered("model", "new", "n");
  output("model");
  write(in_pod("model/old"), "o");
  REQUIRE(end([&](StepData::Done done) { step().download(outputs, std::move(done)); }));
  CHECK(read(in_pod("model/old")) == "o");
  CHECK_FALSE(std::filesystem::exists(in_pod("model/new")));
  REQUIRE(step().commit().has_value());
  CHECK(read(in_pod("model/new")) == "n");
  CHECK_FALSE(std::filesystem::exists(in_pod("model/old")));
}

TEST_CASE_METHOD(Step, "if the program wrote nothing, no request is sent") {
  output("none").present = false;
  REQUIRE(download());
  CHECK(api.asked().empty());
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Step, "the whole report is the record, in the bucket or on the claim that the step has mounted") {
  SECTION("in the bucket") { objects["jobs/job/finished.json"] = result::to_text(much()); }
  SECTION("on the claim") {
    plan.data.record_in_step = in_pod("claim/.trainstep-job.json");
    write(plan.data.record_in_step, result::to_text(much()));
  }
  const auto found = report();
  REQUIRE(found);
  CHECK(found->attempt == "a1");
  CHECK(found->outputs.at(0).value == Json("long"));
  CHECK(transport.asked().empty() == !plan.data.record_in_step.empty());
}

TEST_CASE_METHOD(Step, "a missing or unreadable record is an error with its reason") {
  struct Row {
    std::string record;
    bool has_place;
    ErrorKind kind;
    std::string said;
  };
  const auto row = GENERATE(Row{"", true, ErrorKind::not_found, "finished.json"}, Row{"{}", true, ErrorKind::unavailable, "cannot read"},
                            Row{"", false, ErrorKind::unavailable, "write large values to an artifact"});
  if (!row.record.empty()) objects["jobs/job/finished.json"] = row.record;
  if (!row.has_place) plan.data.task.record = {};
  const auto found = report();
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == row.kind);
  CHECK_THAT(found.error().message, Contains(row.said));
}

TEST_CASE_METHOD(Step, "at the end the job's whole prefix is removed, and nothing next to it") {
  for (int i = 0; i < 7; ++i) objects["jobs/job/inputs/" + std::to_string(i)] = "x";
  objects["jobs/job/finished.json"] = "{}";
  objects["jobs/job-2/finished.json"] = objects["jobs/jobs"] = "another's";
  REQUIRE(end(&StepData::remove_prefix));
  CHECK(objects == std::map<std::string, std::string>{{"jobs/job-2/finished.json", "another's"}, {"jobs/jobs", "another's"}});
}

TEST_CASE_METHOD(Step, "without permission to read the credentials the record is kept without an error; any other problem is an error") {
  objects["jobs/job/finished.json"] = "{}";
  SECTION("no right") {
    no_secret = kube::test::refusal(403, "Forbidden", "no");
    CHECK(end(&StepData::remove_prefix));
  }
  SECTION("no right, and more than the record is there") {
    no_secret = kube::test::refusal(403, "Forbidden", "no");
    SECTION("inputs") { input("data"); }
    SECTION("outputs") { output("model"); }
    SECTION("checkpoints") { plan.data.task.checkpoints.path = "/saved"; }
    const auto removed = end(&StepData::remove_prefix);
    REQUIRE_FALSE(removed);
    CHECK_THAT(removed.error().message, Contains("get secrets/team-keys: no; the step needs this permission in namespace team-a"));
  }
  SECTION("no right, and checkpoints stay") {
    no_secret = kube::test::refusal(403, "Forbidden", "no");
    plan.data.task.checkpoints.path = "/saved";
    CHECK_FALSE(end([&](StepData::Done done) { step().remove_unfinished(true, 5s, std::move(done)); }));
  }
  SECTION("no Secret") {
    secrets.clear();
    CHECK_FALSE(end(&StepData::remove_prefix));
  }
  SECTION("a store that refuses") {
    refuse("DELETE", 403, "AccessDenied");
    CHECK_FALSE(end(&StepData::remove_prefix));
  }
  CHECK(objects.contains("jobs/job/finished.json"));
}

TEST_CASE_METHOD(Step, "a record on a claim is removed without a request if there is no bucket") {
  plan.data.prefix = {};
  plan.data.record_in_step = in_pod("claim/.trainstep-job.json");
  write(plan.data.record_in_step, "{}");
  REQUIRE(end(&StepData::remove_prefix));
  CHECK_FALSE(std::filesystem::exists(plan.data.record_in_step));
  CHECK(api.asked().empty());
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Step, "a destroyed object gets no callback at any point") {
  write(input("data"), std::string(100'000, 'x'));
  objects["jobs/job/finished.json"] = result::to_text(much());
  bool told = false;
  const auto after = GENERATE(0ms, 1ms, 2ms, 3ms, 4ms);
  SECTION("uploads") {
    step().upload([&](const Result<void>&) { told = true; });
  }
  SECTION("reads the record") {
    step().whole_report([&](const Result<result::PodReport>&) { told = true; });
  }
  SECTION("removes") {
    step().remove_prefix([&](const Result<void>&) { told = true; });
  }
  loop.run(after);
  if (told) return;  // it was quicker
  data.reset();
  loop.run();
  CHECK_FALSE(told);
}

namespace {

struct Delivered : Step {
  run::OutputFound& delivered(const std::string& name, const std::string& step_path) {
    const auto uri = "s3://bkt/kfp/" + name;
    plan.data.task.outputs.push_back({.name = name, .type = spec::Type::artifact, .declared = {}, .path = {}, .folder_is = {}, .to = {uri, 0, ""}});
    return outputs.emplace_back(
        run::OutputFound{.name = name, .artifact = true, .path = uri, .present = true, .value = {}, .metadata = {}, .step_path = step_path});
  }
  std::map<std::string, std::string> read() {
    std::optional<std::map<std::string, std::string>> found;
    step().read(outputs, [&](std::map<std::string, std::string> contents) { found = std::move(contents); });
    CHECK_FALSE(found);
    loop.run();
    REQUIRE(found);
    return *found;
  }
};

}  // namespace

TEST_CASE_METHOD(Delivered, "what the program delivered where the step writes as well is read, and nothing else is") {
  for (const auto* path : {"metrics", "model_dir", "mlpipeline_ui_metadata", ""}) delivered(std::string("of_") + path, path);
  delivered("elsewhere", "mlpipeline_metrics").path = "s3://other/place";
  delivered("earlier", "metrics").earlier = true;
  delivered("folder", "metrics").no_file = true;
  objects["kfp/of_metrics"] = R"({"score": 0.75})";
  objects["kfp/of_mlpipeline_ui_metadata"] = "ui";
  CHECK(read() ==
        std::map<std::string, std::string>{{"s3://bkt/kfp/of_metrics", R"({"score": 0.75})"}, {"s3://bkt/kfp/of_mlpipeline_ui_metadata", "ui"}});
  CHECK(transport.asked().size() == 2);
  CHECK(said.empty());
}

TEST_CASE_METHOD(Delivered, "unreadable parts are reported, and the rest is read") {
  delivered("gone", "metrics");
  delivered("there", "mlpipeline_metrics");
  objects["kfp/there"] = "{}";
  CHECK(read() == std::map<std::string, std::string>{{"s3://bkt/kfp/there", "{}"}});
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Contains("metrics: the program's output is not merged") && Contains("s3://bkt/kfp/gone"));
}

TEST_CASE_METHOD(Delivered, "if one of several outputs is gone, the others are reported as left") {
  using enum staging::Fetching::Lost;
  delivered("model", "model_dir");
  const bool several = GENERATE(true, false);
  if (several) delivered("other", "");
  objects["kfp/other/a"] = "a";
  const auto found = end([&](StepData::Done done) { step().look_for(outputs, StepData::Where::everywhere, std::move(done)); });
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::not_found);
  CHECK(step().lost() == (several ? some : all));
}

TEST_CASE_METHOD(Delivered, "a folder in the place of a file, which was not delivered, is not missed") {
  delivered("metrics", "metrics").no_file = true;
  CHECK(end([&](StepData::Done done) { step().look_for(outputs, StepData::Where::everywhere, std::move(done)); }));
  CHECK(transport.asked().empty());
}

TEST_CASE_METHOD(Delivered, "if the store does not report what is gone, nothing counts as gone") {
  delivered("model", "model_dir");
  SECTION("its listing is refused") { refuse("GET", 403, "AccessDenied"); }
  SECTION("the bucket is another one's") { refuse("GET", 404, "NoSuchBucket"); }
  SECTION("the Secret has gone") { secrets.clear(); }
  CHECK_FALSE(end([&](StepData::Done done) { step().look_for(outputs, StepData::Where::everywhere, std::move(done)); }));
  CHECK(step().lost() == staging::Fetching::Lost::nothing);
}
