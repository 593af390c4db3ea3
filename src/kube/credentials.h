// The address of the API server and the credentials for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"

namespace trainstep::kube {

// The token, read again as its source requires. Implementations: a fixed one (for one in a kubeconfig, the file is read again after 401), a file
// (read again when its modification time or size changes, and after 401), an exec plug-in (client.authentication.k8s.io/v1: run again before
// expirationTimestamp and after 401).
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Empty: none is needed. Errors: input (the file or plug-in is broken), denied; unavailable if it has returned a token before. A plug-in may take
  // 60 s, and token() waits for it: callers that must not block call ready() first.
  virtual Result<std::string> token(Time now) = 0;
  // Whether token() returns immediately. false: the source is working; ask again soon.
  virtual bool ready(Time /*now*/) { return true; }
  // The caller wants to finish soon, for which a token may still be needed: aborts a run in progress, limits further runs to 10 s each, and returns
  // their failure as cancelled: nothing may wait for the next run on its own.
  virtual void hurry() {}
  // The server has rejected the last token.
  virtual void refused() = 0;
  // If not null, replaces Credentials::endpoint, as of the last token(): an exec plug-in may return a client certificate instead of a token.
  [[nodiscard]] virtual std::shared_ptr<const http::Endpoint> endpoint() const { return nullptr; }
};

struct Credentials {
  http::Url server;
  std::shared_ptr<const http::Endpoint> endpoint;
  std::unique_ptr<TokenSource> token;  // never null
  std::string name_space;              // of the pod or the context; "default" if neither has one
  std::string description;             // "in-cluster", "context minikube of ~/.kube/config"
  std::string remedy{};                // what to do if they are rejected; empty: nothing is suggested
};

// The service account of this pod: KUBERNETES_SERVICE_HOST/PORT and the files below `folder`. nullopt: not in a pod.
Result<std::optional<Credentials>> in_cluster(const std::filesystem::path& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

// kubeconfig files, merged as kubectl does: `path`, otherwise $KUBECONFIG (a list), otherwise ~/.kube/config. Empty `context`: the current one.
// Supports certificates inline or as files (relative to the kubeconfig), token, tokenFile, exec plug-ins, proxy-url, tls-server-name,
// insecure-skip-tls-verify. Errors: input, with file, context and key; user name and password, and auth providers, are rejected by name.
Result<Credentials> from_kubeconfig(const std::string& path, const std::string& context);

// The text of a kubeconfig from a Secret; `what` is its name in messages. Files and exec plug-ins in it are rejected.
Result<Credentials> from_kubeconfig_text(const std::string& text, const std::string& what, const std::string& context);

}  // namespace trainstep::kube
