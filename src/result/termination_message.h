// What a container may tell its kubelet at its end (core/v1, terminationMessagePath). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainstep::result {

// At most `limit` bytes, no character cut in two; " …" behind them says that there was more.
std::string beginning_of(std::string text, std::size_t limit);

// One line for people, which Argo puts beside its node and KFP shows, printable (base/printable.h), and not longer than a kubelet takes.
std::string termination_message(std::string_view text);

}  // namespace trainstep::result
