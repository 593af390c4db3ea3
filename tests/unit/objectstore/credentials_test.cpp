// SPDX-License-Identifier: Apache-2.0
#include "objectstore/credentials.h"

#include "base/files.h"
#include "objectstore/remote_credentials.h"
#include "support/catch.h"
#include "support/fake_transport.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::objectstore;
using test::FakeTransport;
using test::Reply;
using test::VirtualLoop;

namespace {

using Environment = std::map<std::string, std::string>;

struct Pod {
  VirtualLoop loop;
  FakeTransport service{loop};
  TempDir here;
  std::shared_ptr<CredentialsProvider> source;

  void begin(const Environment& environment) { source = keys_of(loop, service, environment, "eu-west-1"); }
  Environment web_identity() {
    REQUIRE(write_file_atomically(here.path() / "token", "the/token\n"));
    return {{"AWS_WEB_IDENTITY_TOKEN_FILE", (here.path() / "token").string()}, {"AWS_ROLE_ARN", "arn:aws:iam::1:role/train"}};
  }
  // "access secret token", or the error.
  std::string ask(CredentialsProvider& of) {
    std::string words = "(no answer)";
    of.ask([&](const Result<Credentials>& keys) {
      words = keys ? keys->access_key + " " + keys->secret_key + " " + keys->session_token : keys.error().message;
    });
    if (words == "(no answer)") loop.run(std::chrono::minutes(1));
    return words;
  }
  std::string ask() { return ask(*source); }
  [[nodiscard]] std::string role(const std::string& name, Duration valid) const {
    return "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult><Credentials>"
           "<AccessKeyId>" +
           name + "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>" + to_rfc3339(loop.now() + valid) +
           "</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
  }
};

}  // namespace

TEST_CASE_METHOD(Pod, "signing keys in a file take the place of the secret key, and are read for each request") {
  const CredentialsFiles files{here.path() / "accesskey", {}, here.path() / "signingkeys"};
  const auto keys = credentials_in_files(files);
  REQUIRE(write_file_atomically(files.access_key, "a\n"));
  for (const auto* text : {"{}", R"({"20260301/us-east-1": "00ff"})", R"({"20260302/us-east-1": "00ff", "20260303/us-east-1": "ff"})"}) {
    REQUIRE(write_file_atomically(files.signing_keys, text));
    keys->ask([&](const Result<Credentials>& read) {
      REQUIRE(read);
      CHECK(read->secret_key.empty());
      CHECK(read->signing_keys == read_signing_keys(text, "").value());
    });
  }
  REQUIRE(write_file_atomically(files.signing_keys, ""));
  CHECK(ask(*keys) == files.signing_keys.string() + ": expected an object with signing keys");
}

TEST_CASE_METHOD(Pod, "credentials in files are read for each request") {
  const CredentialsFiles files{here.path() / "accesskey", here.path() / "secretkey"};
  const auto keys = credentials_in_files(files);
  CHECK(ask(*keys).find("No such file") != std::string::npos);
  REQUIRE(write_file_atomically(files.access_key, "a\n"));
  REQUIRE(write_file_atomically(files.secret_key, ""));
  CHECK(ask(*keys) == files.secret_key.string() + " is empty: no secret key");
  REQUIRE(write_file_atomically(files.secret_key, "s"));
  CHECK(ask(*keys) == "a s ");
  REQUIRE(write_file_atomically(files.access_key, "b"));
  CHECK(ask(*keys) == "b s ");
}

TEST_CASE_METHOD(Pod, "credentials of the environment take precedence over all others") {
  auto environment = web_identity();
  environment.insert({{"AWS_ACCESS_KEY_ID", "a"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"AWS_SESSION_TOKEN", "t"}});
  begin(environment);
  CHECK(ask() == "a s t");
  CHECK(service.asked().empty());
}

TEST_CASE_METHOD(Pod, "credentials lose the newline with which echo ends a Secret, wherever they come from") {
  begin({{"AWS_ACCESS_KEY_ID", "a\n"}, {"AWS_SECRET_ACCESS_KEY", "s \r\n"}, {"AWS_SESSION_TOKEN", "t\n"}});
  CHECK(ask() == "a s t");
  const CredentialsFiles files{here.path() / "accesskey", here.path() / "secretkey"};
  REQUIRE(write_file_atomically(files.access_key, "a\n"));
  REQUIRE(write_file_atomically(files.secret_key, "s \r\n"));
  CHECK(ask(*credentials_in_files(files)) == "a s ");
}

TEST_CASE_METHOD(Pod, "a web identity is exchanged, its keys are kept until five minutes before their end") {
  begin(web_identity());
  service.reply(Reply::lost());
  service.reply(Reply::text("", 503));
  service.reply(Reply::text(role("first", std::chrono::minutes(60))));
  CHECK(ask() == "first s t");
  REQUIRE(service.asked().size() == 3);
  const auto& request = service.asked()[2].request;
  CHECK(request.url.text() == "https://sts.eu-west-1.amazonaws.com/");
  CHECK(request.body ==
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Ftrain&RoleSessionName=trainstep"
        "&WebIdentityToken=the%2Ftoken");
  CHECK(ask() == "first s t");
  CHECK(service.asked().size() == 3);
  loop.run(std::chrono::minutes(56));
  loop.after(std::chrono::minutes(56), [] {});
  loop.run(std::chrono::minutes(56));
  service.reply(Reply::text(role("second", std::chrono::minutes(60))));
  CHECK(ask() == "second s t");
  source->refused({"first", "s", "t"});  // of a request that was sent before
  CHECK(ask() == "second s t");
  source->refused({"second", "s", "t"});
  service.reply(Reply::text(role("third", std::chrono::minutes(60))));
  CHECK(ask() == "third s t");
}

TEST_CASE_METHOD(Pod, "a web identity is exchanged in the pod's own region, where its environment names it") {
  auto environment = web_identity();
  environment["AWS_DEFAULT_REGION"] = "eu-south-1";
  begin(environment);
  service.reply(Reply::text(role("a", std::chrono::minutes(60))));
  ask();
  environment["AWS_REGION"] = "eu-north-1";
  begin(environment);
  service.reply(Reply::text(role("b", std::chrono::minutes(60))));
  ask();
  REQUIRE(service.asked().size() == 2);
  CHECK(service.asked()[0].request.url.host == "sts.eu-south-1.amazonaws.com");
  CHECK(service.asked()[1].request.url.host == "sts.eu-north-1.amazonaws.com");
}

TEST_CASE_METHOD(Pod, "concurrent requests for credentials get the same result") {
  begin(web_identity());
  service.reply(Reply::text(role("one", std::chrono::minutes(60))));
  int answers = 0;
  for (int i = 0; i < 3; ++i) source->ask([&](const Result<Credentials>& keys) { answers += keys ? 1 : 0; });
  loop.run(std::chrono::minutes(1));
  CHECK(answers == 3);
  CHECK(service.asked().size() == 1);
}

TEST_CASE_METHOD(Pod, "a container's credentials are asked for with its token") {
  REQUIRE(write_file_atomically(here.path() / "token", "pod-token"));
  begin({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
         {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", (here.path() / "token").string()}});
  service.reply(Reply::text(R"({"AccessKeyId":"a","SecretAccessKey":"s","Token":"t","Expiration":"2126-01-01T00:00:00Z"})"));
  CHECK(ask() == "a s t");
  CHECK(service.asked()[0].header("Authorization") == "pod-token");
  REQUIRE(service.asked()[0].request.endpoint);
  CHECK(service.asked()[0].request.endpoint->direct);  // no proxy gets to see it
  begin({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/x"}});
  for (int i = 0; i < 4; ++i) service.reply(Reply::text("{}"));
  CHECK(ask() == "credentials for this container: an answer without keys");
  CHECK(service.asked()[1].request.url.text() == "http://169.254.170.2/v2/credentials/x");
}

TEST_CASE_METHOD(Pod, "a rejecting service is reported, and asked again by the next request") {
  begin(web_identity());
  service.reply(Reply::text("<Error/>", 403));
  CHECK(ask() == "credentials for AWS_ROLE_ARN: the service answered 403");
  for (int i = 0; i < 4; ++i) service.reply(Reply::text("<html>"));
  CHECK(ask().starts_with("credentials for AWS_ROLE_ARN: byte "));
  service.reply(Reply::text("<html>"));  // of a server before it, once
  service.reply(Reply::text("<Other/>"));
  service.reply(Reply::text(role("now", std::chrono::minutes(60))));
  CHECK(ask() == "now s t");
}

TEST_CASE_METHOD(Pod, "a web identity without a role is reported before any request") {
  auto environment = web_identity();
  environment.erase("AWS_ROLE_ARN");
  begin(environment);
  CHECK(ask() == "credentials for AWS_ROLE_ARN: AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
  CHECK(service.asked().empty());
}

TEST_CASE_METHOD(Pod, "without any credentials the message lists the possible sources") {
  begin({});
  CHECK(ask().starts_with("no credentials for the object store: the environment has neither AWS_ACCESS_KEY_ID"));
}
