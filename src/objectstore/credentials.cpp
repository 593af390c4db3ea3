// SPDX-License-Identifier: Apache-2.0
#include "objectstore/credentials.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace trainstep::objectstore {
namespace {

constexpr std::size_t largest = 65'536;

class Fixed : public CredentialsProvider {
 public:
  explicit Fixed(Credentials keys) : m_credentials(std::move(keys)) {}
  void ask(Done done) override { done(m_credentials); }

 private:
  Credentials m_credentials;
};

class InFiles : public CredentialsProvider {
 public:
  explicit InFiles(CredentialsFiles files) : m_files(std::move(files)) {}
  void ask(Done done) override { done(read()); }

 private:
  Result<Credentials> read() const {
    Credentials keys;
    ASSIGN(const auto access_key, read_file(m_files.access_key, largest));
    keys.access_key = credential(access_key);
    if (keys.access_key.empty()) return input_error(m_files.access_key.string() + " is empty: no access key");
    if (!m_files.signing_keys.empty()) {
      ASSIGN(const auto text, read_file(m_files.signing_keys, largest));
      ASSIGN(keys.signing_keys, read_signing_keys(text, m_files.signing_keys.string()));
      return keys;
    }
    ASSIGN(const auto secret_key, read_file(m_files.secret_key, largest));
    keys.secret_key = credential(secret_key);
    if (keys.secret_key.empty()) return input_error(m_files.secret_key.string() + " is empty: no secret key");
    return keys;
  }

  CredentialsFiles m_files;
};

}  // namespace

std::string_view credential(std::string_view text) { return trim(text); }

std::unique_ptr<CredentialsProvider> fixed_credentials(Credentials keys) { return std::make_unique<Fixed>(std::move(keys)); }

std::unique_ptr<CredentialsProvider> credentials_in_files(CredentialsFiles files) { return std::make_unique<InFiles>(std::move(files)); }

std::unique_ptr<CredentialsProvider> credentials_in_environment(const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : std::string(credential(found->second));
  };
  const auto& [access_key, secret_key, token] = credential_variables;
  Credentials keys{value(access_key), value(secret_key), value(token)};
  if (keys.access_key.empty() || keys.secret_key.empty()) return nullptr;
  return fixed_credentials(std::move(keys));
}

}  // namespace trainstep::objectstore
