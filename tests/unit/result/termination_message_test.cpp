// SPDX-License-Identifier: Apache-2.0
#include "result/termination_message.h"

#include "result/pod_report.h"
#include "support/catch.h"

using namespace trainstep::result;

TEST_CASE("a termination message is one line without control characters") {
  CHECK(termination_message("failed (user): worker-1\nexited\x1b[31m\twith 1\x7f") == "failed (user): worker-1 exited\\x1b[31m with 1\\x7f");
  CHECK(termination_message("") == "");
}

TEST_CASE("a termination message is limited to the kubelet's maximum, without splitting a character") {
  const std::string whole(max_termination_message_size, 'x');
  CHECK(termination_message(whole) == whole);
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'x');
    while (text.size() <= max_termination_message_size + 8) text += "€";
    const auto message = termination_message(text);
    CHECK(message.size() <= max_termination_message_size);
    CHECK(message.size() > max_termination_message_size - 4);
    CHECK(message.ends_with("€ …"));
  }
}
