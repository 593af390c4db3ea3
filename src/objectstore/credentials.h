// Sources of credentials for an object store.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "objectstore/signature.h"

namespace trainstep::objectstore {

// A key or token as a Secret or a variable has it, without the blanks and line breaks around it: a Secret written with echo ends with one.
std::string_view credential(std::string_view text);

// Those of the AWS SDKs: access key, secret key, session token.
inline constexpr std::array<const char*, 3> credential_variables{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};

class CredentialsProvider {
 public:
  using Done = std::function<void(Result<Credentials> keys)>;
  virtual ~CredentialsProvider() = default;
  // The current credentials; `done` may be called before this returns. Errors: of any kind, which says nothing about the store; none contains a
  // secret.
  virtual void ask(Done done) = 0;
  // The store rejected `keys`: if they are the cached ones, the next ask() obtains new ones.
  virtual void refused(const Credentials& /*keys*/) {}
  // The outcome of the renewal, for the message of a request that is rejected again; "" if unknown.
  [[nodiscard]] virtual std::string renewal() const { return {}; }
};

std::unique_ptr<CredentialsProvider> fixed_credentials(Credentials keys);

// A mounted Secret: one file for each of its keys, with the key's name. The files are read for each ask(), because the kubelet updates them.
struct CredentialsFiles {
  std::filesystem::path access_key;
  std::filesystem::path secret_key;
  std::filesystem::path signing_keys{};  // to_text(SigningKeys); empty: there is a secret key
};
std::unique_ptr<CredentialsProvider> credentials_in_files(CredentialsFiles files);

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in `environment`; null if they are not set.
std::unique_ptr<CredentialsProvider> credentials_in_environment(const std::map<std::string, std::string>& environment);

}  // namespace trainstep::objectstore
