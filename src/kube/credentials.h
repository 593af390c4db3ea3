// Where the API server is and who we are there.
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

// The token, read again when its source says so. Implementations: a fixed one (one of a kubeconfig's file: that is read again after 401), a file
// (again when its modification time or size changes, and after 401), an exec plug-in (client.authentication.k8s.io/v1: again before
// expirationTimestamp and after 401).
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Empty: none is needed. Errors: input (the file or plug-in is broken), denied; unavailable once it has given a token before. A plug-in may take
  // 60 s, and token() waits for it: whoever may not block asks token_ready() of token_source.h first.
  virtual Result<std::string> token(Time now) = 0;
  // The server has refused the last one.
  virtual void refused() = 0;
  // Not null: counts instead of Credentials::endpoint, as of the last token(); an exec plug-in may give a client certificate instead of a token.
  [[nodiscard]] virtual std::shared_ptr<const http::Endpoint> endpoint() const { return nullptr; }
};

struct Credentials {
  http::Url server;
  std::shared_ptr<const http::Endpoint> endpoint;
  std::unique_ptr<TokenSource> token;  // never null
  std::string name_space;              // of the pod or the context; "default" if neither says
  std::string description;             // "in-cluster", "context minikube of ~/.kube/config"
};

// The service account of this pod: KUBERNETES_SERVICE_HOST/PORT and the files below `folder`. None: not in a pod.
Result<std::optional<Credentials>> in_cluster(const std::filesystem::path& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

// kubeconfig files as kubectl merges them: `path`, else $KUBECONFIG (a list), else ~/.kube/config. `context` empty: the current one. Certificates
// embedded or as files (relative to the kubeconfig), token, tokenFile, exec plug-ins, proxy-url, tls-server-name, insecure-skip-tls-verify.
// Errors: input, with file, context and key; user name and password, and auth providers, are refused by name.
Result<Credentials> from_kubeconfig(const std::string& path, const std::string& context);

// The text of a kubeconfig, as a Secret holds it; `what` names it in messages. Files and exec plug-ins in it are refused.
Result<Credentials> from_kubeconfig_text(const std::string& text, const std::string& what, const std::string& context);

}  // namespace trainstep::kube
