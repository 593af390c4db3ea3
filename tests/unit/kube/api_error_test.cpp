// SPDX-License-Identifier: Apache-2.0
#include "kube/api_error.h"

#include "kube/client.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace std::chrono_literals;

TEST_CASE("retryable errors") {
  for (const auto status : {408, 429, 500, 502, 503, 504, 520}) CHECK(retryable(api_error("get x", status, "", {})));
  for (const auto status : {301, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 501}) CHECK_FALSE(retryable(api_error("get x", status, "", {})));
  for (const auto kind : {ErrorKind::unavailable, ErrorKind::timeout}) CHECK(retryable({{kind, ""}, 0, {}, {}, {}}));
  for (const auto kind : {ErrorKind::denied, ErrorKind::input, ErrorKind::internal}) CHECK_FALSE(retryable({{kind, ""}, 0, {}, {}, {}}));
}

TEST_CASE("an undecided admission is retried") {
  const auto status = [](int code, const std::string& message) {
    const auto error = api_error("create x", code, to_text(Json{{"kind", "Status"}, {"message", message}}), {});
    return std::pair(retryable(error), error.error.kind);
  };
  const std::pair again(true, ErrorKind::unavailable), refused(false, ErrorKind::input);
  CHECK(status(409, "Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified; please try again") == again);
  CHECK(status(403, "jobs.batch \"a\" is forbidden: status unknown for quota: q, resources: count/jobs.batch") == again);
  CHECK(status(403, "jobs.batch \"a\" is forbidden: not yet ready to handle request") == again);
  CHECK(status(403, "jobs.batch \"a\" is forbidden: exceeded quota: q") == refused);
}

TEST_CASE("the server's message becomes ours, with an error kind") {
  struct Case {
    int status;
    std::string reason;
    std::string message;
    Json details;
    ErrorKind kind;
    std::string expected;
  };
  const Json pods{{"name", "train-1"}, {"kind", "pods"}};
  const Json jobs{{"name", "train-1"}, {"group", "kubeflow.org"}, {"kind", "pytorchjobs"}};
  const Case cases[] = {
      {403, "Forbidden", R"(pytorchjobs.kubeflow.org "train-1" is forbidden: User "me" cannot get resource)", jobs, ErrorKind::denied,
       R"(get x: forbidden: User "me" cannot get resource)"},
      {403,
       "Forbidden",
       R"(pods is forbidden: User "me" cannot list resource "pods")",
       {{"kind", "pods"}},
       ErrorKind::denied,
       R"(get x: forbidden: User "me" cannot list resource "pods")"},
      {403, "Forbidden", R"(pods "train-1" is forbidden: exceeded quota: gpus)", pods, ErrorKind::input, "get x: forbidden: exceeded quota: gpus"},
      {403,
       "",
       R"(admission webhook "w.example" denied the request: no)",
       {},
       ErrorKind::input,
       R"(get x: admission webhook "w.example" denied the request: no)"},
      {404, "NotFound", R"(pytorchjobs.kubeflow.org "train-1" not found)", jobs, ErrorKind::not_found, "get x: not found"},
      {404,
       "NotFound",
       R"(namespaces "team" not found)",
       {{"name", "team"}, {"kind", "namespaces"}},
       ErrorKind::not_found,
       R"(get x: namespaces "team" not found)"},
      {409, "AlreadyExists", R"(pytorchjobs.kubeflow.org "train-1" already exists)", jobs, ErrorKind::conflict, "get x: already exists"},
      {410, "Expired", "The provided continue parameter is too old", {}, ErrorKind::conflict, "get x: The provided continue parameter is too old"},
      {422,
       "Invalid",
       R"(Pod "train-1" is invalid: spec: Required value)",
       {{"kind", "Pod"}, {"name", "train-1"}},
       ErrorKind::input,
       "get x: invalid: spec: Required value"},
      {400, "BadRequest", "strict decoding error", {}, ErrorKind::input, "get x: strict decoding error"},
      {500, "InternalError", "failed calling webhook", {}, ErrorKind::unavailable, "get x: failed calling webhook"},
      {503, "ServiceUnavailable", "", {}, ErrorKind::unavailable, "get x: HTTP 503 ServiceUnavailable"},
  };
  for (const auto& row : cases) {
    const auto error = api_error("get x", row.status, kube::test::status_text(row.status, row.reason, row.message, row.details), {});
    CHECK(error.error.message == row.expected);
    CHECK(error.error.kind == row.kind);
    CHECK(error.status == row.status);
    CHECK(error.reason == row.reason);
  }
}

TEST_CASE("too large requests and redirects are reported with a remedy") {
  const auto told = [](int status, const std::string& body) { return api_error("create x", status, body, {}).error.message; };
  const auto large = told(413, kube::test::status_text(413, "RequestEntityTooLarge", "limit is 3145728", {}));
  CHECK_THAT(large, Catch::StartsWith("create x: limit is 3145728; ") && Catch::Contains("train_parameters"));
  CHECK_THAT(told(413, "<html>"), Catch::Contains("HTTP 413: <html>; ") && Catch::Contains("train_parameters"));
  for (const int status : {301, 302, 307, 308}) CHECK_THAT(told(status, ""), Catch::Contains("redirects are not followed"));
  CHECK(told(415, "") == "create x: HTTP 415");
}

TEST_CASE("a response that is not a Status is quoted on one line") {
  struct Case {
    std::string body;
    std::string expected;
  };
  const Case cases[] = {{"", "get x: HTTP 502"},
                        {"<html>\r\n  <b>Bad\x01gateway</b>\n</html>\n", "get x: HTTP 502: <html> <b>Bad gateway</b> </html>"},
                        {R"({"kind": "Status"})", "get x: HTTP 502"},
                        {R"({"kind": 5})", R"(get x: HTTP 502: {"kind": 5})"},
                        {"[1]", "get x: HTTP 502: [1]"},
                        {std::string(300, 'x'), "get x: HTTP 502: " + std::string(200, 'x') + "…"}};
  for (const auto& [body, expected] : cases) CHECK(api_error("get x", 502, body, {}).error.message == expected);
}

TEST_CASE("the floor of the next try: the header's, else the Status's") {
  const auto body = kube::test::status_text(429, "TooManyRequests", "slow down", {{"retryAfterSeconds", 7}});
  CHECK(api_error("get x", 429, body, {}).retry_after == Duration(7s));
  CHECK(api_error("get x", 429, body, Duration(3s)).retry_after == Duration(3s));
  CHECK_FALSE(api_error("get x", 429, "", {}).retry_after);
}

TEST_CASE("paths as sent and as shown in messages") {
  struct Case {
    Path path;
    std::vector<std::string> segments;
    std::string described;
  };
  const Case cases[] = {
      {{"v1", "", "", "", ""}, {"api", "v1"}, "v1"},
      {{"v1", "pods", "ns", "", ""}, {"api", "v1", "namespaces", "ns", "pods"}, "pods"},
      {{"v1", "pods", "ns", "p", "log"}, {"api", "v1", "namespaces", "ns", "pods", "p", "log"}, "pods/p/log"},
      {{"v1", "nodes", "", "n", ""}, {"api", "v1", "nodes", "n"}, "nodes/n"},
      {{"kubeflow.org/v1", "pytorchjobs", "ns", "train-1", "status"},
       {"apis", "kubeflow.org", "v1", "namespaces", "ns", "pytorchjobs", "train-1", "status"},
       "pytorchjobs/train-1/status"},
  };
  for (const auto& [path, segments, described] : cases) {
    CHECK(path.segments() == segments);
    CHECK(path.describe() == described);
  }
}

TEST_CASE("only a 404 that names the object says that there is none") {
  const auto answer = [](const std::string& body) { return api_error("get jobs/x", 404, body, {}); };
  const auto named = answer(kube::test::status_text(404, "NotFound", "jobs.batch \"x\" not found", {{"name", "x"}, {"kind", "jobs"}}));
  CHECK(tells_absent(named, "x"));
  CHECK_FALSE(tells_absent(named, "y"));
  CHECK(tells_absent(answer(kube::test::status_text(404, "NotFound", "jobs.batch \"x\" not found")), "x"));
  const auto no_path = answer(kube::test::status_text(404, "NotFound", "the server could not find the requested resource", Json::object()));
  CHECK_FALSE(tells_absent(no_path, "x"));
  CHECK(tells_not_served(no_path));
  CHECK(tells_not_served(answer("404 page not found\n")));
  for (const auto* page : {"<html>default backend - 404</html>", "", "{}", "{\"kind\":\"Status\",\"code\":404}"}) {
    CHECK_FALSE(tells_absent(answer(page), "x"));
    CHECK_FALSE(tells_not_served(answer(page)));
  }
}
