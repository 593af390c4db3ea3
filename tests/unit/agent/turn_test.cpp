// SPDX-License-Identifier: Apache-2.0
#include "agent/turn.h"

#include <optional>
#include <thread>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;

TEST_CASE("what one has fetched is done for those that come after it") {
  const TempDir scratch;
  {
    const Turn first(scratch.path(), "task");
    CHECK_FALSE(first.is_done());
    REQUIRE(first.done());
    CHECK(first.is_done());
  }
  CHECK(Turn(scratch.path(), "task").is_done());
  CHECK_FALSE(Turn(scratch.path(), "another task").is_done());
}

TEST_CASE("one that failed leaves the work to the next") {
  const TempDir scratch;
  {
    const Turn failed(scratch.path(), "task");
  }
  CHECK_FALSE(Turn(scratch.path(), "task").is_done());
}

TEST_CASE("who comes while another fetches waits, and then finds it done") {
  const TempDir scratch;
  std::optional<Turn> first(std::in_place, scratch.path(), "task");
  bool done = false;
  std::thread other([&] { done = Turn(scratch.path(), "task").is_done(); });
  for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
  REQUIRE(first->done());
  first.reset();
  other.join();
  CHECK(done);
}

TEST_CASE("without a folder that is shared everyone has a turn of its own, at once") {
  const Turn first("", "task"), second("", "task");
  CHECK_FALSE(second.is_done());
  CHECK(first.done());
  CHECK_FALSE(second.is_done());
}

TEST_CASE("a folder that cannot be locked stops nobody") {
  const TempDir scratch;
  const auto gone = (scratch.path() / "gone").string();
  const Turn first(gone, "task"), second(gone, "task");
  CHECK_FALSE(second.is_done());
}
