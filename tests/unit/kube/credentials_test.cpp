// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "data/digest.h"
#include "data/json.h"
#include "kube/token_source.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::kube;
using Catch::Contains;

namespace {

// Whatever a test makes secret holds this, and no message may.
const std::string secret = "c4n4ry";
const std::string pem = "-----BEGIN CERTIFICATE-----\n" + secret + "\n-----END CERTIFICATE-----\n";
const std::string key_pem = "-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n";

class Variable {
 public:
  Variable(const char* name, const std::string& value) : m_name(name) {
    if (const char* old = std::getenv(name)) m_old = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (m_old)
      ::setenv(m_name, m_old->c_str(), 1);
    else
      ::unsetenv(m_name);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* m_name;
  std::optional<std::string> m_old;
};

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

void write_program(const std::filesystem::path& path, const std::string& script) {
  write(path, "#!/bin/sh\n" + script);
  REQUIRE(::chmod(path.c_str(), 0755) == 0);
}

// `user` and `cluster` in YAML's flow style.
std::string config_text(const std::string& user, const std::string& cluster = "server: 'https://api.example:6443'", const std::string& context = "") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
         "clusters: [{name: c, cluster: {" +
         cluster +
         "}}]\n"
         "users: [{name: alice, user: {" +
         user +
         "}}]\n"
         "contexts: [{name: main, context: {cluster: c, user: alice" +
         context + "}}]\n";
}

Result<Credentials> from_text(const std::string& text) { return from_kubeconfig_text(text, "kubeconfig of the Secret", ""); }

std::string token_of(Credentials& credentials, Time now = Time(Duration(0))) {
  const auto token = credentials.token->token(now);
  if (!token) return "error: " + token.error().message;
  return *token;
}

void check_refused(const Result<Credentials>& result, const std::vector<std::string>& words) {
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::input);
  CHECK_THAT(result.error().message, !Contains(secret));
  for (const auto& word : words) CHECK_THAT(result.error().message, Contains(word));
}

}  // namespace

TEST_CASE("in a pod, the service account determines server and identity") {
  const TempDir folder;
  write(folder.path() / "token", secret + "\n");
  write(folder.path() / "ca.crt", pem);
  write(folder.path() / "namespace", "team\n");
  const Variable port("KUBERNETES_SERVICE_PORT", "443");
  SECTION("IPv4") {
    const Variable host("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    auto found = in_cluster(folder.path());
    REQUIRE(found);
    REQUIRE(found->has_value());
    auto& credentials = **found;
    CHECK(credentials.server.origin() == "https://10.96.0.1:443");
    CHECK(credentials.endpoint->ca_pem == pem);
    CHECK(credentials.endpoint->verify);
    CHECK(credentials.name_space == "team");
    CHECK(credentials.description == "in-cluster");
    CHECK(token_of(credentials) == secret);
  }
  SECTION("another authority") {
    const Variable host("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    auto found = in_cluster(folder.path());
    REQUIRE(found);
    auto& token = *(*found)->token;
    REQUIRE(token.token(Time{}));
    CHECK(token.endpoint()->ca_pem == pem);
    write(folder.path() / "ca.crt", pem + "another");
    REQUIRE(token.token(Time{}));
    CHECK(token.endpoint()->ca_pem == pem + "another");
    write(folder.path() / "ca.crt", "");
    REQUIRE(token.token(Time{}));
    CHECK(token.endpoint()->ca_pem == pem + "another");
  }
  SECTION("IPv6") {
    const Variable host("KUBERNETES_SERVICE_HOST", "fd00::1");
    const auto found = in_cluster(folder.path());
    REQUIRE(found);
    CHECK((*found)->server.origin() == "https://[fd00::1]:443");
  }
  SECTION("without a namespace") {
    const Variable host("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    std::filesystem::remove(folder.path() / "namespace");
    const auto found = in_cluster(folder.path());
    REQUIRE(found);
    CHECK((*found)->name_space == "default");
  }
  SECTION("no token") {
    const Variable host("KUBERNETES_SERVICE_HOST", "10.96.0.1");
    std::filesystem::remove(folder.path() / "token");
    const auto found = in_cluster(folder.path());
    REQUIRE_FALSE(found);
    CHECK_THAT(found.error().message, Contains("automountServiceAccountToken"));
  }
  SECTION("not in a pod") {
    const Variable host("KUBERNETES_SERVICE_HOST", "");
    const auto found = in_cluster(folder.path());
    REQUIRE(found);
    CHECK_FALSE(found->has_value());
  }
}

TEST_CASE("a token file is read again when it changes and after a refusal, and its last token serves while it is away") {
  const TempDir folder;
  const auto file = folder.path() / "token";
  write(file, "first");
  write(folder.path() / "config", config_text("tokenFile: token"));
  auto credentials = from_kubeconfig(folder.path() / "config", "");
  REQUIRE(credentials);
  CHECK(token_of(*credentials) == "first");

  write(folder.path() / "next", "other");  // exchanged as the kubelet does it: the same size, another file
  std::filesystem::rename(folder.path() / "next", file);
  CHECK(token_of(*credentials) == "other");

  struct stat status{};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  write(file, "third");
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times.data(), 0) == 0);
  CHECK(token_of(*credentials) == "other");  // nothing tells that it is another one
  credentials->token->refused();
  CHECK(token_of(*credentials) == "third");

  std::filesystem::remove(file);
  CHECK(token_of(*credentials) == "third");
  write(file, "");
  CHECK(token_of(*credentials) == "third");
  write(file, "fourth");
  CHECK(token_of(*credentials) == "fourth");
}

TEST_CASE("a token file that is not there, or holds no token, is an error that does not show it") {
  const TempDir folder;
  write(folder.path() / "config", config_text("tokenFile: token"));
  auto credentials = from_kubeconfig(folder.path() / "config", "");
  REQUIRE(credentials);
  CHECK_THAT(token_of(*credentials), Contains("error: the token file") && Contains("No such file"));
  for (const auto& text : {std::string(" \n"), secret + " " + secret, secret + "\r\nX: y", secret + "\x01"}) {
    write(folder.path() / "token", text);
    CHECK_THAT(token_of(*credentials), Contains("error: ") && !Contains(secret));
  }
}

TEST_CASE("a context provides server, certificates, token and namespace, inline or as files next to the kubeconfig") {
  const TempDir folder;
  write(folder.path() / "pki/ca.crt", pem);
  write(folder.path() / "pki/client.crt", pem);
  write(folder.path() / "pki/client.key", key_pem);
  SECTION("files") {
    write(folder.path() / "config", config_text("client-certificate: pki/client.crt, client-key: " + (folder.path() / "pki/client.key").string(),
                                                "server: 'https://api.example:6443/base', certificate-authority: pki/ca.crt", ", namespace: team"));
    auto credentials = from_kubeconfig(folder.path() / "config", "");
    REQUIRE(credentials);
    CHECK(credentials->server.text() == "https://api.example:6443/base");
    CHECK(credentials->endpoint->ca_pem == pem);
    CHECK(credentials->endpoint->certificate_pem == pem);
    CHECK(credentials->endpoint->key_pem == key_pem);
    CHECK(credentials->name_space == "team");
    CHECK(token_of(*credentials).empty());
    const Variable home("HOME", folder.path());
    CHECK(from_kubeconfig(folder.path() / "config", "main")->description == "context main of ~/config");
  }
  SECTION("embedded") {
    auto credentials = from_text(
        config_text("token: " + secret + ", client-certificate-data: " + encode_base64(pem) + ", client-key-data: " + encode_base64(key_pem),
                    "server: 'https://api.example', certificate-authority-data: " + encode_base64(pem) +
                        ", tls-server-name: inner, proxy-url: 'http://p:3128', insecure-skip-tls-verify: false, certificate-authority: /nowhere"));
    REQUIRE(credentials);
    CHECK(credentials->endpoint->ca_pem == pem);
    CHECK(credentials->endpoint->certificate_pem == pem);
    CHECK(credentials->endpoint->key_pem == key_pem);
    CHECK(credentials->endpoint->server_name == "inner");
    CHECK(credentials->endpoint->proxy == "http://p:3128");
    CHECK(credentials->endpoint->verify);
    CHECK(credentials->name_space == "default");
    CHECK(credentials->description == "context main of kubeconfig of the Secret");
    CHECK(token_of(*credentials) == secret);
  }
  SECTION("not verified, as specified") {
    const auto credentials = from_text(config_text("", "server: 'https://api.example', insecure-skip-tls-verify: true"));
    REQUIRE(credentials);
    CHECK_FALSE(credentials->endpoint->verify);
  }
  SECTION("a token file takes precedence over a token") {
    write(folder.path() / "token", "from-file");
    write(folder.path() / "config", config_text("token: inline, tokenFile: token"));
    auto credentials = from_kubeconfig(folder.path() / "config", "");
    REQUIRE(credentials);
    CHECK(token_of(*credentials) == "from-file");
  }
}

TEST_CASE("the files of KUBECONFIG are merged: the first one takes precedence, missing ones are skipped") {
  const TempDir folder;
  write(folder.path() / "a/config",
        "current-context: one\nclusters: [{name: c, cluster: {server: 'https://first', certificate-authority: ca}}]\nusers: null\n"
        "contexts: [{name: one, context: {cluster: c, user: u}}]\n");
  write(folder.path() / "a/ca", pem);
  write(folder.path() / "b/config",
        "current-context: two\nclusters: [{name: c, cluster: {server: 'https://second'}}]\nusers: [{name: u, user: {tokenFile: t}}]\n"
        "contexts: [{name: two, context: {cluster: c, user: u, namespace: n}}]\n");
  write(folder.path() / "b/t", "token-beside-b");
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const Variable home("HOME", path("home"));
  const Variable list("KUBECONFIG", path("a/config") + "::" + path("nowhere") + ":" + path("b/config"));
  auto one = from_kubeconfig("", "");
  REQUIRE(one);
  CHECK(one->server.origin() == "https://first");
  CHECK(one->endpoint->ca_pem == pem);
  CHECK(token_of(*one) == "token-beside-b");
  const auto two = from_kubeconfig("", "two");
  REQUIRE(two);
  CHECK(two->server.origin() == "https://first");
  CHECK(two->name_space == "n");
  CHECK(from_kubeconfig(path("b/config"), "")->server.origin() == "https://second");
  check_refused(from_kubeconfig("", "three"), {"context 'three'", "expected one of 'one', 'two'"});
  check_refused(from_kubeconfig(path("nowhere"), ""), {path("nowhere"), "No such file"});
}

TEST_CASE("an empty file in KUBECONFIG's list is ignored") {
  const TempDir folder;
  const auto empty = folder.path() / "empty", full = folder.path() / "config";
  write(empty, "\n");
  write(full,
        "current-context: one\nclusters: [{name: c, cluster: {server: 'https://first'}}]\nusers: [{name: u, user: {token: t}}]\n"
        "contexts: [{name: one, context: {cluster: c, user: u}}]\n");
  const Variable list("KUBECONFIG", empty.string() + ":" + full.string());
  auto merged = from_kubeconfig("", "");
  REQUIRE(merged);
  CHECK(token_of(*merged) == "t");
  check_refused(from_kubeconfig(empty.string(), ""), {"current-context is not set"});
}

TEST_CASE("a token of a kubeconfig that is refused is read again, for the same context and server only") {
  const TempDir folder;
  const auto file = folder.path() / "config";
  const auto config = [](const std::string& current, const std::string& server, const std::string& user) {
    return "current-context: " + current + "\nclusters: [{name: c, cluster: {server: '" + server + "'}}]\nusers: [{name: u, user: {" + user +
           "}}, {name: other, user: {token: others}}]\ncontexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, "
           "user: "
           "other}}]\n";
  };
  write(file, config("one", "https://first", "token: old"));
  auto credentials = from_kubeconfig(file.string(), "");
  REQUIRE(credentials);
  CHECK(token_of(*credentials) == "old");
  std::string expected = "old";
  SECTION("it was renewed, while another context became the current one") {
    write(file, config("two", "https://first", "token: new"));
    CHECK(token_of(*credentials) == "old");
    expected = "new";
  }
  SECTION("the server is another") { write(file, config("one", "https://second", "token: new")); }
  SECTION("a plug-in is set there now") { write(file, config("one", "https://first", "exec: {apiVersion: x, command: /bin/false}")); }
  SECTION("the file is temporarily not a kubeconfig") { write(file, "{"); }
  SECTION("the file is gone") { std::filesystem::remove(file); }
  credentials->token->refused();
  CHECK(token_of(*credentials) == expected);
}

TEST_CASE("without KUBECONFIG the file in the home folder is read, and its absence is reported") {
  const TempDir folder;
  const Variable home("HOME", folder.path());
  const Variable list("KUBECONFIG", "");
  check_refused(from_kubeconfig("", ""), {"~/.kube/config does not exist", "KUBECONFIG"});
  write(folder.path() / ".kube/config", config_text("token: t"));
  const auto found = from_kubeconfig("", "");
  REQUIRE(found);
  CHECK(found->description == "context main of ~/.kube/config");
}

TEST_CASE("what a kubeconfig lacks or has wrong is named by file, entry and key, and never shown") {
  struct Row {
    std::string text;
    std::vector<std::string> words;
  };
  const std::string what = "kubeconfig of the Secret: ";
  const std::string good = "server: 'https://api.example'";
  const std::vector<Row> rows = {
      {"token: {" + secret, {what + "line 1"}},
      {"- " + secret, {what + "expected an object, got a list"}},
      {"", {what + "expected an object, got null"}},
      {"{}", {what + "current-context is not set", "expected one of none"}},
      {"current-context: x\ncontexts: {x: " + secret + "}", {what + "contexts: expected a list, got an object"}},
      {"current-context: x\ncontexts: [" + secret + "]", {what + "an item of contexts has no name"}},
      {"current-context: x\ncontexts: [{name: x, context: " + secret + "}]", {what + "context 'x': expected an object, got a string"}},
      {"current-context: x\ncontexts: [{name: x}]", {what + "context 'x' does not name a cluster"}},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", {"names the cluster 'c': does not exist"}},
      {"current-context: x\nclusters: [{name: c, cluster: {" + good + "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]",
       {"names the user 'u': does not exist"}},
      {config_text("", "{}"), {what}},
      {config_text("", "server: 'https://a', proxy-url: 'ftp://p'"), {"cluster 'c': proxy-url must begin with http://, https:// or socks5://"}},
      {config_text("", "proxy-url: x"), {"cluster 'c': server is missing"}},
      {config_text("", "server: 'api.example'"), {"cluster 'c': server: the address must begin with https://"}},
      {config_text("", "server: 'https://u:" + secret + "@api.example'"), {"cluster 'c': server: the address contains a user name or password"}},
      {config_text("", good + ", insecure-skip-tls-verify: " + secret), {"insecure-skip-tls-verify: expected true or false, got a string"}},
      {config_text("", good + ", insecure-skip-tls-verify: true, certificate-authority-data: " + encode_base64(pem)),
       {"insecure-skip-tls-verify and certificate-authority are mutually exclusive"}},
      {config_text("", good + ", certificate-authority-data: '*" + secret + "'"), {"certificate-authority-data is not base64"}},
      {config_text("", good + ", certificate-authority-data: " + encode_base64(secret)), {"certificate-authority-data is not valid PEM"}},
      {config_text("", good + ", certificate-authority: ca.crt"), {"certificate-authority names a file", "certificate-authority-data"}},
      {config_text("client-key: key"), {"user 'alice': client-key names a file"}},
      {config_text("client-key-data: " + encode_base64(key_pem)), {"user 'alice': client-certificate and client-key are both required"}},
      {config_text("tokenFile: " + secret), {"user 'alice': tokenFile names a file"}},
      {config_text("exec: {command: " + secret + "}"), {"user 'alice': exec names a program"}},
      {config_text("token: {a: " + secret + "}"), {"user 'alice': token: expected a quoted string, got an object"}},
      {config_text("token: '" + secret + " x'"), {"user 'alice': token is not a valid token"}},
      {config_text("username: u, password: " + secret), {"user 'alice': username is not supported", "use a token"}},
      {config_text("password: " + secret), {"user 'alice': password is not supported"}},
      {config_text("auth-provider: {name: gcp, config: {access-token: " + secret + "}}"),
       {"user 'alice': auth-provider is not supported", "exec plug-in"}},
      {config_text("token: t, as: " + secret), {"user 'alice': as is not supported"}},
      {config_text("token: t, as-groups: [" + secret + "]"), {"user 'alice': as-groups is not supported"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    check_refused(from_text(row.text), row.words);
  }
  CHECK(from_text(config_text("token: t, username: '', auth-provider: null, as-groups: []")));
}

TEST_CASE("files that a kubeconfig names and that cannot be read are named with their key") {
  const TempDir folder;
  write(folder.path() / "config", config_text("client-certificate: nowhere.crt, client-key: nowhere.key"));
  check_refused(from_kubeconfig(folder.path() / "config", ""), {"user 'alice': client-certificate: ", "nowhere.crt: No such file"});
  write(folder.path() / "nowhere.crt", secret);
  check_refused(from_kubeconfig(folder.path() / "config", ""), {"user 'alice': client-certificate is not valid PEM"});
}

namespace {

// A context whose user is an exec plug-in, a shell script beside the kubeconfig that counts its runs.
struct Plugin {
  TempDir folder;
  explicit Plugin(const std::string& script, const std::string& more = "", const std::string& cluster = "server: 'https://api.example:6443'") {
    write_program(folder.path() / "bin/plugin", "cd " + folder.path().string() + "\necho run >> runs\n" + script);
    write(folder.path() / "config", config_text("exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/plugin, interactiveMode: Never" +
                                                    (more.empty() ? "" : ", " + more) + "}",
                                                cluster));
  }
  [[nodiscard]] Result<Credentials> credentials() const { return from_kubeconfig(folder.path() / "config", ""); }
  [[nodiscard]] std::string file(const std::string& name) const {
    std::ifstream in(folder.path() / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t runs() const { return file("runs").size() / 4; }
};

std::string answer(const std::string& status, const std::string& version = "v1") {
  return R"({"apiVersion":"client.authentication.k8s.io/)" + version + R"(","kind":"ExecCredential","status":)" + status + "}";
}

std::string echo(const std::string& text) { return "cat <<'END'\n" + text + "\nEND\n"; }

}  // namespace

TEST_CASE("an exec plug-in is asked when a token is needed, and again only when that expires or is refused") {
  // Each run gives a token with its number, good until that hour.
  const Plugin plugin(
      "n=$(wc -l < runs)\n"
      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
      "\"status\":{\"token\":\"t%d\",\"expirationTimestamp\":\"1970-01-01T%02d:00:00Z\"}}' $n $n\n");
  auto credentials = plugin.credentials();
  REQUIRE(credentials);
  CHECK(plugin.runs() == 0);
  const auto at = [](int minutes) { return Time(std::chrono::minutes(minutes)); };
  CHECK(token_of(*credentials, at(0)) == "t1");
  CHECK(token_of(*credentials, at(59)) == "t1");
  CHECK(plugin.runs() == 1);
  CHECK(token_of(*credentials, at(60)) == "t2");
  credentials->token->refused();
  CHECK(token_of(*credentials, at(61)) == "t3");
  CHECK(token_of(*credentials, at(61)) == "t3");
  CHECK(plugin.runs() == 3);
  CHECK(credentials->token->endpoint() == nullptr);
}

TEST_CASE("a plug-in knows its variables, its arguments and, if it wants to, its cluster; it has no input and none of our descriptors") {
  const Plugin plugin(
      "printf '%s' \"$KUBERNETES_EXEC_INFO\" > info\necho \"$1|$2|$OWN|$KEPT\" > seen\nls /proc/self/fd | tr '\\n' ' ' > fds\nread x || echo end > "
      "input\n" +
          echo(answer(R"({"token":"t"})")),
      "args: [a b, '$HOME'], env: [{name: OWN, value: 'x y'}], provideClusterInfo: true",
      "server: 'https://api.example:6443', tls-server-name: inner, certificate-authority-data: " + encode_base64(pem) +
          ", extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: k}}]");
  const Variable kept("KEPT", "kept");
  auto credentials = plugin.credentials();
  REQUIRE(credentials);
  CHECK(token_of(*credentials) == "t");
  CHECK(plugin.file("seen") == "a b|$HOME|x y|kept\n");
  CHECK(plugin.file("input") == "end\n");
  CHECK(plugin.file("fds").size() <= std::string("0 1 2 3 ").size());  // 3 is ls's own
  const auto info = parse_json(plugin.file("info"), "info").value();
  CHECK(info["apiVersion"] == Json("client.authentication.k8s.io/v1"));
  CHECK(info["kind"] == Json("ExecCredential"));
  CHECK(info["spec"]["interactive"] == Json(false));
  CHECK(info["spec"]["cluster"] == Json({{"server", "https://api.example:6443"},
                                         {"tls-server-name", "inner"},
                                         {"certificate-authority-data", encode_base64(pem)},
                                         {"config", {{"audience", "k"}}}}));
}

TEST_CASE("a client certificate that a plug-in gives goes into the endpoint, and a new one into a new endpoint") {
  const Json status = {{"clientCertificateData", pem}, {"clientKeyData", key_pem}, {"expirationTimestamp", "1970-01-01T01:00:00Z"}};
  const Plugin plugin(echo(answer(to_text(status))), "", "server: 'https://api.example', certificate-authority-data: " + encode_base64(pem));
  auto credentials = plugin.credentials();
  REQUIRE(credentials);
  CHECK(token_of(*credentials).empty());
  const auto first = credentials->token->endpoint();
  REQUIRE(first);
  CHECK(first->ca_pem == pem);
  CHECK(first->certificate_pem == pem);
  CHECK(first->key_pem == key_pem);
  credentials->token->refused();
  CHECK(token_of(*credentials).empty());
  CHECK(plugin.runs() == 2);
  CHECK(credentials->token->endpoint() == first);  // the same certificate: its connections stay
}

TEST_CASE("v1beta1 is supported, too, and a plug-in on the PATH is found") {
  const TempDir folder;
  write_program(folder.path() / "a-plugin", echo(answer(R"({"token":"beta"})", "v1beta1")));
  write(folder.path() / "config", config_text("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: a-plugin}"));
  const Variable path("PATH", folder.path().string() + ":/usr/bin:/bin");
  auto credentials = from_kubeconfig(folder.path() / "config", "");
  REQUIRE(credentials);
  CHECK(token_of(*credentials) == "beta");
}

TEST_CASE("a failing plug-in is reported by name, with its hint, and its output is not shown") {
  struct Row {
    std::string script;
    std::string message;
    ErrorKind kind;
  };
  const std::vector<Row> rows = {
      {echo(secret) + "exit 3\n", "ended with exit code 3; see its output above. Ask the admin", ErrorKind::denied},
      {"kill -9 $$\n", "ended by signal 9", ErrorKind::denied},
      {echo(secret), "is not a JSON object", ErrorKind::input},
      {echo("{\"a\": \"" + secret + "\", }"), "is not a JSON object", ErrorKind::input},
      {echo(answer(R"({"token":")" + secret + R"("})", "v1beta1")), "has the apiVersion 'client.authentication.k8s.io/v1beta1'", ErrorKind::input},
      {echo(R"({"apiVersion":"client.authentication.k8s.io/v1"})"), "has no status", ErrorKind::input},
      {echo(answer("{}")), "has neither a token nor a client certificate", ErrorKind::input},
      {echo(answer(R"({"token":{"a":")" + secret + R"("}})")), "token: expected a string, got an object", ErrorKind::input},
      {echo(answer(R"({"token":")" + secret + R"(\n x"})")), "is not a valid token", ErrorKind::input},
      {echo(answer(R"({"clientKeyData":")" + secret + R"("})")), "only one of clientCertificateData and clientKeyData", ErrorKind::input},
      {echo(answer(R"({"token":"t","expirationTimestamp":")" + secret + R"("})")), "expirationTimestamp that is not a valid time", ErrorKind::input},
      {"yes\n", "prints too much output", ErrorKind::input},
  };
  for (const auto& row : rows) {
    CAPTURE(row.script);
    const Plugin plugin(row.script, "installHint: Ask the admin");
    auto credentials = plugin.credentials();
    REQUIRE(credentials);
    const auto token = credentials->token->token(Time(Duration(0)));
    REQUIRE_FALSE(token);
    CHECK(token.error().kind == row.kind);
    CHECK_THAT(token.error().message, Contains("exec plug-in '") && Contains(row.message) && !Contains(secret));
  }
}

TEST_CASE("a plug-in that is not there, or not one for us, is refused with what to do") {
  const TempDir folder;
  const auto config = [&](const std::string& exec) {
    write(folder.path() / "config", config_text("exec: {" + exec + "}"));
    return from_kubeconfig(folder.path() / "config", "");
  };
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1, ";
  check_refused(config("command: x"), {"exec.apiVersion: unsupported version ''"});
  check_refused(config("apiVersion: client.authentication.k8s.io/v1alpha1, command: x"), {"v1alpha1", "update the plug-in"});
  check_refused(config("apiVersion: client.authentication.k8s.io/v1"), {"exec.command is missing"});
  check_refused(config(v1 + "command: x, interactiveMode: Always"), {"interactiveMode is Always", "'x'", "requires a terminal"});
  check_refused(config(v1 + "command: x, args: {" + secret + ": 1}"), {"exec.args: expected a list, got an object"});
  check_refused(config(v1 + "command: x, args: [1]"), {"exec.args: expected strings, got a number"});
  check_refused(config(v1 + "command: x, env: [{name: 'A=', value: " + secret + "}]"), {"exec.env"});
  auto missing = config(v1 + "command: no-such-plug-in, installHint: Run the installer");
  REQUIRE(missing);
  const auto token = missing->token->token(Time(Duration(0)));
  REQUIRE_FALSE(token);
  CHECK(token.error().kind == ErrorKind::input);
  CHECK_THAT(token.error().message, Contains("'no-such-plug-in'") && Contains("No such file") && Contains("Run the installer"));
}

TEST_CASE("a plug-in that fails later does not end what goes on: its last token serves until it expires, then trying again may help") {
  const Plugin plugin("test $(wc -l < runs) = 2 && exit 1\n" + echo(answer(R"({"token":"t","expirationTimestamp":"1970-01-01T01:00:00Z"})")));
  auto credentials = plugin.credentials();
  REQUIRE(credentials);
  CHECK(token_of(*credentials) == "t");
  const auto late = Time(std::chrono::minutes(60));
  while (plugin.runs() < 2) CHECK(token_of(*credentials, late - std::chrono::seconds(5)) == "t");  // the new one is not waited for
  static_cast<void>(token_of(*credentials, late));                                                 // whether the second run had ended by now
  CHECK(token_of(*credentials, late + std::chrono::seconds(5)) == "t");
  write_program(plugin.folder.path() / "bin/plugin", "exit 1\n");
  const auto token = credentials->token->token(late + std::chrono::seconds(10));
  REQUIRE_FALSE(token);
  CHECK(token.error().kind == ErrorKind::unavailable);
}

TEST_CASE("concurrent requests get one failure of a plug-in, later ones another") {
  const Plugin plugin("exit 1\n");
  auto credentials = plugin.credentials();
  REQUIRE(credentials);
  for (int i = 0; i < 5; ++i) CHECK(token_of(*credentials).find("exit code 1") != std::string::npos);
  CHECK(plugin.runs() == 1);
  CHECK(token_of(*credentials, Time(std::chrono::seconds(5))).find("exit code 1") != std::string::npos);
  CHECK(plugin.runs() == 2);
}

TEST_CASE("the expiry of a token is read from its claims, if it is a JSON web token") {
  const auto jwt = [](const std::string& claims) {
    auto payload = encode_base64(claims);
    std::ranges::replace(payload, '+', '-');
    std::ranges::replace(payload, '/', '_');
    payload.erase(std::min(payload.find('='), payload.size()));
    return "e30." + payload + ".c2lnbmF0dXJl";
  };
  CHECK(expiry_of(jwt(R"({"exp":1764000000})")) == Time(std::chrono::seconds(1764000000)));
  CHECK(expiry_of(jwt(R"({"exp":1764000000,"sub":"~~~???>>>"})")) == Time(std::chrono::seconds(1764000000)));
  CHECK(expiry_of(jwt(R"({"exp":-1})")) == Time(std::chrono::seconds(0)));
  CHECK(expiry_of(jwt(R"({"exp":9223372036854775807})")) > Time(std::chrono::hours(1)));
  for (const auto* other : {"", "abc", "a.b", "a.b.c.d", "..", "a.!.c"}) CHECK_FALSE(expiry_of(other));
  for (const auto* claims : {"", "{}", "[]", "7", R"({"exp":"soon"})", R"({"exp":1.5})", "{"}) CHECK_FALSE(expiry_of(jwt(claims)));
}
