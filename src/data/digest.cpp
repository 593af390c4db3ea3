// SPDX-License-Identifier: Apache-2.0
#include "data/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

#include "data/md5.h"
#include "data/place.h"

namespace trainstep {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string_view text_of(std::span<const unsigned char> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

constexpr std::array<std::int8_t, 256> values = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) table.at(static_cast<unsigned char>(alphabet[i])) = static_cast<std::int8_t>(i);
  return table;
}();

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  // Fails only without memory or without the algorithm: the program is broken then, not its input.
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) std::abort();
  return hex(text_of(std::span(digest).first(length)));
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), digest.data(), &length) == nullptr) std::abort();
  return std::string(text_of(std::span(digest).first(length)));
}

std::string hex(std::string_view bytes) {
  std::string digits;
  digits.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += "0123456789abcdef"[byte >> 4U];
    digits += "0123456789abcdef"[byte & 15U];
  }
  return digits;
}

std::optional<std::string> from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    unsigned byte = 0;
    const auto* end = digits.data() + at + 2;
    if (std::from_chars(digits.data() + at, end, byte, 16).ptr != end) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return digits.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

std::string md5_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_md5(), nullptr) != 1) return {};
  return hex(text_of(std::span(digest).first(length)));
}

struct Md5::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Md5::Md5() : m_state(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(m_state->context, EVP_md5(), nullptr) != 1) m_state.reset();
}
Md5::Md5(Md5&&) noexcept = default;
Md5& Md5::operator=(Md5&&) noexcept = default;
Md5::~Md5() = default;

void Md5::add(std::string_view bytes) {
  if (m_state && EVP_DigestUpdate(m_state->context, bytes.data(), bytes.size()) != 1) m_state.reset();
}

std::string Md5::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto state = std::move(m_state);
  if (!state || EVP_DigestFinal_ex(state->context, digest.data(), &length) != 1) return {};
  return trainstep::hex(text_of(std::span(digest).first(length)));
}

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t buffer = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=' && digits % 4 >= 2 && padding < 4 - digits % 4) {
      ++padding;
      continue;
    }
    const auto value = values.at(static_cast<unsigned char>(c));
    if (value < 0 || padding > 0) return input_error(fmt::format("not valid base64: {} at position {}", show_character(text, at), at + 1));
    buffer = buffer << 6U | static_cast<std::uint32_t>(value);
    if (++digits % 4 == 0)
      for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(buffer >> shift & 0xFFU);
  }
  switch (digits % 4) {
    case 1:
      return input_error(fmt::format("not valid base64: truncated at position {}", text.size()));
    case 2:
      bytes += static_cast<char>(buffer >> 4U & 0xFFU);
      break;
    case 3:
      bytes += static_cast<char>(buffer >> 10U & 0xFFU);
      bytes += static_cast<char>(buffer >> 2U & 0xFFU);
      break;
    default:
      break;
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto group = bytes.substr(at, 3);
    const auto byte = [&](std::size_t i) { return i < group.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(group[i])) : 0U; };
    const auto bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    text += alphabet[bits >> 18U];
    text += alphabet[bits >> 12U & 63U];
    text += group.size() > 1 ? alphabet[bits >> 6U & 63U] : '=';
    text += group.size() > 2 ? alphabet[bits & 63U] : '=';
  }
  return text;
}

std::string random_hex() {
  std::array<unsigned char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const auto count = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (count < 0 && errno != EINTR) std::abort();  // a kernel without getrandom(2): identities would not be unique
    if (count > 0) filled += static_cast<std::size_t>(count);
  }
  return hex(text_of(bytes));
}

}  // namespace trainstep
