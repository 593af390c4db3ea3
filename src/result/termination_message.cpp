// SPDX-License-Identifier: Apache-2.0
#include "result/termination_message.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "result/pod_report.h"

namespace trainstep::result {
namespace {

constexpr std::string_view more = " …";

bool breaks_line(char c) { return c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

std::string beginning_of(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  constexpr auto is_within = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (limit > 0 && is_within(text[limit])) --limit;
  text.resize(limit);
  return text.append(more);
}

std::string termination_message(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, breaks_line, ' ');
  line = printable(line);
  return line.size() <= max_termination_message_size ? line : beginning_of(std::move(line), max_termination_message_size - more.size());
}

}  // namespace trainstep::result
