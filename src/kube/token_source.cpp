// SPDX-License-Identifier: Apache-2.0
#include "kube/token_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"

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

class FileToken : public TokenSource {
 public:
  explicit FileToken(std::filesystem::path path) : m_path(std::move(path)) {}

  Result<std::string> token(Time) override {
    const auto version = version_now();
    if (m_token && version && version == m_version) return *m_token;
    auto read = read_now();
    if (read) {
      m_token = std::move(*read);
      m_version = version;  // of before: what is written meanwhile is read the next time
    } else if (!m_token) {
      return std::move(read.error());
    }
    return *m_token;
  }

  void refused() override { m_version.reset(); }

 private:
  // The kubelet exchanges a link: another file, perhaps of the same size and second.
  struct Version {
    ino_t file;
    off_t size;
    time_t seconds;
    long nanoseconds;
    bool operator==(const Version&) const = default;
  };
  [[nodiscard]] std::optional<Version> version_now() const {
    struct stat status{};
    if (::stat(m_path.c_str(), &status) != 0) return std::nullopt;
    return Version{status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }
  [[nodiscard]] Result<std::string> read_now() const {
    auto text = in_context("the token's file", read_file(m_path, std::size_t{1} << 20U));
    if (!text) return input_error(std::move(text.error().message));
    return checked_token(*text, "the token's file " + m_path.string());
  }

  std::filesystem::path m_path;
  std::optional<std::string> m_token;
  std::optional<Version> m_version;
};

}  // namespace

bool token_ready(TokenSource& source, Time now) {
  auto* slow = dynamic_cast<SlowTokenSource*>(&source);
  return slow == nullptr || slow->ready(now);
}

std::unique_ptr<TokenSource> fixed_token(std::string token) { return std::make_unique<FixedToken>(std::move(token)); }

std::unique_ptr<TokenSource> file_token(std::filesystem::path path) { return std::make_unique<FileToken>(std::move(path)); }

Result<std::string> checked_token(std::string_view text, std::string_view what) {
  const auto token = trim(text);
  if (token.empty()) return input_error(fmt::format("{} is empty", what));
  if (std::any_of(token.begin(), token.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return input_error(fmt::format("{} is no token: there are spaces, line breaks or letters beyond ASCII within it", what));
  return std::string(token);
}

}  // namespace trainstep::kube
