// Where the keys to an object store come from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "objectstore/signature.h"

namespace trainstep::objectstore {

class CredentialsProvider {
 public:
  using Done = std::function<void(Result<Credentials> keys)>;
  virtual ~CredentialsProvider() = default;
  // The keys to use now; `done` may be called before this returns. Errors: input, denied, unavailable; none shows a secret.
  virtual void ask(Done done) = 0;
  // The store did not take `keys`: if they are what is remembered, the next question is for new ones.
  virtual void refused(const Credentials& /*keys*/) {}
};

std::unique_ptr<CredentialsProvider> fixed_credentials(Credentials keys);

// A mounted Secret: one file for each key, named as its key. Read again for each question: the kubelet replaces them.
struct CredentialsFiles {
  std::filesystem::path access_key;
  std::filesystem::path secret_key;
};
std::unique_ptr<CredentialsProvider> credentials_in_files(CredentialsFiles files);

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of `environment`; null: they are not there.
std::unique_ptr<CredentialsProvider> credentials_in_environment(const std::map<std::string, std::string>& environment);

}  // namespace trainstep::objectstore
