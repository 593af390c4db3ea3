// The termination message of a container (core/v1, terminationMessagePath). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainstep::result {

// The first bytes of `text`, at most `limit`, without splitting a character; if it was cut, " …" is appended.
std::string beginning_of(std::string text, std::size_t limit);

// One line for display, shown by Argo next to its node and by KFP: printable (base/printable.h), within the kubelet's limit.
std::string termination_message(std::string_view text);

}  // namespace trainstep::result
