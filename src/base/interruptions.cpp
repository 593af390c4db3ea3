// SPDX-License-Identifier: Apache-2.0
#include "base/interruptions.h"

#include <algorithm>

#include "base/printable.h"

namespace trainstep {
namespace {

bool interrupts(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == '\x7f'; }

std::string without_interruptions(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto length = text.front() == '\033' ? escape_sequence_length(text) : 1;
    if (!interrupts(text.front())) result += text.front();
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string redact_despite_interruptions(std::string_view text, const std::function<std::string(std::string_view)>& redact) {
  auto result = redact(text);
  if (std::ranges::none_of(result, interrupts)) return result;
  const auto plain = without_interruptions(result);
  auto of_plain = redact(plain);
  return of_plain == plain ? result : of_plain;
}

}  // namespace trainstep
