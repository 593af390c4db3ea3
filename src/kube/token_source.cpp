// SPDX-License-Identifier: Apache-2.0
#include "kube/token_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "data/digest.h"
#include "data/json.h"

namespace trainstep::kube {
namespace {

class FixedToken : public TokenSource {
 public:
  explicit FixedToken(std::string token) : m_token(std::move(token)) {}
  Result<std::string> token(Time) override { return m_token; }
  void refused() override {}

 private:
  std::string m_token;
};

// The kubelet replaces a link: the new file may have the same size and time in seconds.
struct Version {
  ino_t file;
  off_t size;
  time_t seconds;
  long nanoseconds;
  bool operator==(const Version&) const = default;
};

std::optional<Version> version_of(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Version{status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

class FileToken : public TokenSource {
 public:
  explicit FileToken(std::filesystem::path path) : m_path(std::move(path)) {}

  Result<std::string> token(Time) override {
    const auto version = version_of(m_path);
    if (m_token && version && version == m_version) return *m_token;
    auto read = read_now();
    if (read) {
      m_token = std::move(*read);
      m_version = version;  // from before reading: a change during the read is noticed the next time
    } else if (!m_token) {
      return std::move(read.error());
    }
    return *m_token;
  }

  void refused() override { m_version.reset(); }

 private:
  [[nodiscard]] Result<std::string> read_now() const {
    auto text = in_context("the token file", read_file(m_path, std::size_t{1} << 20U));
    if (!text) return input_error(std::move(text.error().message));
    return checked_token(*text, "the token file " + m_path.string());
  }

  std::filesystem::path m_path;
  std::optional<std::string> m_token;
  std::optional<Version> m_version;
};

// The certificate of the API server's authority is next to the token; the kubelet updates both.
class ServiceAccountToken : public FileToken {
 public:
  explicit ServiceAccountToken(const std::filesystem::path& folder) : FileToken(folder / "token"), m_authority(folder / "ca.crt") {}

  Result<std::string> token(Time now) override {
    const auto version = version_of(m_authority);
    if (version && version != m_version)
      if (auto pem = read_file(m_authority, std::size_t{1} << 20U); pem && !trim(*pem).empty()) {
        http::Endpoint endpoint;
        endpoint.ca_pem = std::move(*pem);
        m_endpoint = std::make_shared<const http::Endpoint>(std::move(endpoint));
        m_version = version;
      }
    return FileToken::token(now);
  }
  [[nodiscard]] std::shared_ptr<const http::Endpoint> endpoint() const override { return m_endpoint; }

 private:
  std::filesystem::path m_authority;
  std::optional<Version> m_version;
  std::shared_ptr<const http::Endpoint> m_endpoint;
};

// An empty object: it is no JSON web token.
Json claims_of(std::string_view token) {
  const auto parts = split(token, '.');
  if (parts.size() != 3) return Json::object();
  std::string payload(parts[1]);
  std::ranges::replace(payload, '-', '+');
  std::ranges::replace(payload, '_', '/');
  payload.resize((payload.size() + 3) / 4 * 4, '=');
  const auto decoded = decode_base64(payload);
  auto claims = decoded ? Json::parse(*decoded, nullptr, false) : Json::object();
  return claims.is_object() ? claims : Json::object();
}

}  // namespace

std::unique_ptr<TokenSource> fixed_token(std::string token) { return std::make_unique<FixedToken>(std::move(token)); }

std::unique_ptr<TokenSource> file_token(std::filesystem::path path) { return std::make_unique<FileToken>(std::move(path)); }

std::unique_ptr<TokenSource> service_account_token(const std::filesystem::path& folder) { return std::make_unique<ServiceAccountToken>(folder); }

std::optional<Time> expiry_of(std::string_view token) {
  constexpr std::int64_t latest = std::int64_t{1} << 40;
  const auto claims = claims_of(token);
  const auto* seconds = find(claims, "exp");
  if (seconds == nullptr || !seconds->is_number_integer()) return std::nullopt;
  return Time(std::chrono::seconds(std::clamp<std::int64_t>(seconds->get<std::int64_t>(), 0, latest)));
}

std::optional<ServiceAccount> service_account_of(std::string_view token) {
  const auto claims = claims_of(token);
  const auto* subject = find(claims, "sub");
  if (subject == nullptr || !subject->is_string()) return std::nullopt;
  const auto parts = split(subject->get_ref<const std::string&>(), ':');
  if (parts.size() != 4 || parts[0] != "system" || parts[1] != "serviceaccount" || parts[2].empty() || parts[3].empty()) return std::nullopt;
  return ServiceAccount{std::string(parts[2]), std::string(parts[3])};
}

Result<std::string> checked_token(std::string_view text, std::string_view what) {
  const auto token = trim(text);
  if (token.empty()) return input_error(fmt::format("{} is empty", what));
  if (std::any_of(token.begin(), token.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return input_error(fmt::format("{} is not a valid token: it contains spaces, line breaks or non-ASCII characters", what));
  return std::string(token);
}

}  // namespace trainstep::kube
