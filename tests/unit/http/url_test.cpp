// SPDX-License-Identifier: Apache-2.0
#include "http/url.h"

#include "http/message.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::http;

TEST_CASE("a URL survives parsing and formatting") {
  struct Row {
    std::string text;
    std::string host;
    int port;
    std::string path;
    std::string again;  // empty: as it was
  };
  const std::vector<Row> rows = {
      {"https://kubernetes.default.svc", "kubernetes.default.svc", 0, "", ""},
      {"https://10.96.0.1:443", "10.96.0.1", 443, "", ""},
      {"HTTPS://Cluster.Example:6443/", "cluster.example", 6443, "/", "https://cluster.example:6443/"},
      {"https://rancher.example/k8s/clusters/c-1", "rancher.example", 0, "/k8s/clusters/c-1", ""},
      {"https://[fd00::1]:6443/x", "fd00::1", 6443, "/x", ""},
      {"http://minio:/bucket", "minio", 0, "/bucket", "http://minio/bucket"},
      {"http://minio:9000/a%20b/%E4?x=1", "minio", 9000, "/a%20b/%E4", ""},
      {"http://h/p#part", "h", 0, "/p", "http://h/p"},
      {"http://h?a=b", "h", 0, "", "http://h/?a=b"},
      {"http://h/?a=b%2Fc+d&e&&f=g=h", "h", 0, "/", "http://h/?a=b%2Fc%20d&e=&f=g%3Dh"},
      {"http://h/?a=100%&b=%zz", "h", 0, "/", "http://h/?a=100%25&b=%25zz"},
      {"http://under_score.local/", "under_score.local", 0, "/", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto url = Url::parse(row.text);
    REQUIRE(url);
    CHECK(url->host == row.host);
    CHECK(url->port == row.port);
    CHECK(url->path == row.path);
    CHECK(url->text() == (row.again.empty() ? row.text : row.again));
  }
}

TEST_CASE("an address that cannot be one is refused with the reason, and never shown whole") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "begin with https://"},
      {"hidden.example:6443", "begin with https://"},
      {"ftp://hidden.example/", "begin with https://"},
      {"https://", "no host"},
      {"https:///hidden", "no host"},
      {"https://:6443/hidden", "no host"},
      {"https://user:hidden@host/", "user name or password"},
      {"https://hidden@host/", "user name or password"},
      {"https://host:0/hidden", "'0' is not a number from 1 to 65535"},
      {"https://host:65536/hidden", "'65536'"},
      {"https://host:6443x/hidden", "'6443x'"},
      {"https://[::1/hidden", "not closed"},
      {"https://[::1]6443/hidden", "only a port"},
      {"https://[host]/hidden", "'host' is not a valid host name"},
      {"https://ho$t/hidden", "'ho$t' is not a valid host name"},
      {"https://host/a b?hidden", "character 15"},
      {"https://host/\r\nX-Injected: hidden", "character 14"},
      {"https://host/\xc3\xa4?hidden", "not ASCII"},
  };
  for (const auto& [text, reason] : rows) {
    CAPTURE(text);
    const auto url = Url::parse(text);
    REQUIRE_FALSE(url);
    CHECK(url.error().kind == ErrorKind::input);
    CHECK_THAT(url.error().message, Catch::Contains(reason));
    CHECK_THAT(url.error().message, !Catch::Contains("hidden"));
  }
}

TEST_CASE("segments are appended to a path, each as one segment whatever it holds") {
  const auto base = Url::parse("https://host/base/?a=b").value();
  CHECK(base.with_path({"api", "v1"}).text() == "https://host/base/api/v1?a=b");
  CHECK(base.with_path({"a/b", "..", "c d?", "100%", "ä"}).path == "/base/a%2Fb/../c%20d%3F/100%25/%C3%A4");
  CHECK(Url::parse("https://host").value().with_path({"api"}).text() == "https://host/api");
}

TEST_CASE("the origin says scheme, host and port, and nothing more") {
  CHECK(Url::parse("https://host:6443/base?a=b").value().origin() == "https://host:6443");
  CHECK(Url::parse("http://[::1]/base").value().origin() == "http://[::1]");
}

TEST_CASE("names and values of a query keep their order and may hold anything") {
  Url url = Url::parse("https://host/p").value();
  url.query = {{"labelSelector", "a=b,c in (d)"}, {"continue", "x/+="}, {"", ""}};
  CHECK(url.text() == "https://host/p?labelSelector=a%3Db%2Cc%20in%20%28d%29&continue=x%2F%2B%3D&=");
  const auto again = Url::parse(url.text());
  REQUIRE(again);
  CHECK(again->query == url.query);
}

TEST_CASE("a header is found whatever its case") {
  const Response response{.status = 429, .headers = {{"Retry-After", "7"}, {"retry-after", "8"}}, .body = ""};
  CHECK(response.header("retry-AFTER") == "7");
  CHECK_FALSE(response.header("Retry"));
}
