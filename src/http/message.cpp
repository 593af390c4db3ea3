// SPDX-License-Identifier: Apache-2.0
#include "http/message.h"

#include "base/text.h"

namespace trainstep::http {

std::optional<std::string_view> Response::header(std::string_view name) const {
  for (const auto& header : headers)
    if (lower(header.name) == lower(name)) return header.value;
  return std::nullopt;
}

}  // namespace trainstep::http
