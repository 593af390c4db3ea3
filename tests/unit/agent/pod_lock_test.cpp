// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_lock.h"

#include <optional>

#include "base/poll_loop.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;

TEST_CASE("data fetched by one process is used by later ones") {
  const TempDir scratch;
  PollLoop loop;
  {
    const PodLock first(scratch.path(), "task");
    REQUIRE(first.take(loop));
    CHECK_FALSE(first.is_done());
    REQUIRE(first.done());
    CHECK(first.is_done());
  }
  CHECK(PodLock(scratch.path(), "task").is_done());
  CHECK_FALSE(PodLock(scratch.path(), "another task").is_done());
}

TEST_CASE("one that failed leaves the work to the next") {
  const TempDir scratch;
  PollLoop loop;
  {
    const PodLock failed(scratch.path(), "task");
    REQUIRE(failed.take(loop));
  }
  const PodLock next(scratch.path(), "task");
  REQUIRE(next.take(loop));
  CHECK_FALSE(next.is_done());
}

TEST_CASE("a second process waits while the first fetches, and then finds it done") {
  const TempDir scratch;
  PollLoop loop;
  std::optional<PodLock> first(std::in_place, scratch.path(), "task");
  REQUIRE(first->take(loop));
  int looks = 0;
  loop.after(std::chrono::milliseconds(120), [&] {
    ++looks;
    REQUIRE(first->done());
    first.reset();
  });
  const PodLock second(scratch.path(), "task");
  REQUIRE(second.take(loop));
  CHECK(looks == 1);
  CHECK(second.is_done());
}

TEST_CASE("waiting for another process can be stopped") {
  const TempDir scratch;
  PollLoop loop;
  const PodLock first(scratch.path(), "task"), second(scratch.path(), "task");
  REQUIRE(first.take(loop));
  loop.after(std::chrono::milliseconds(1), [&] { loop.stop(); });
  const auto taken = second.take(loop);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().kind == ErrorKind::cancelled);
}

TEST_CASE("without a shared folder every process has its own turn at once") {
  const PodLock first("", "task"), second("", "task");
  CHECK_FALSE(second.is_done());
  CHECK(first.done());
  CHECK_FALSE(second.is_done());
}

TEST_CASE("a folder that cannot be locked does not block") {
  const TempDir scratch;
  const auto gone = (scratch.path() / "gone").string();
  PollLoop loop;
  const PodLock first(gone, "task"), second(gone, "task");
  REQUIRE(first.take(loop));
  REQUIRE(second.take(loop));
  CHECK_FALSE(second.is_done());
}

TEST_CASE("data is in use as long as one of its users runs") {
  const TempDir scratch;
  PodLock first(scratch.path(), "task");
  CHECK_FALSE(first.is_in_use());
  std::optional<Fd> one(first.use());
  PodLock second(scratch.path(), "task");
  CHECK(second.is_in_use());
  std::optional<Fd> two(second.use());
  one.reset();
  CHECK(PodLock(scratch.path(), "task").is_in_use());
  two.reset();
  CHECK_FALSE(PodLock(scratch.path(), "task").is_in_use());
  CHECK_FALSE(PodLock(scratch.path(), "another task").is_in_use());
}
