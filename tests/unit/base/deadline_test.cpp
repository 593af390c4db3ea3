// SPDX-License-Identifier: Apache-2.0
#include "base/deadline.h"

#include "support/catch.h"
#include "support/virtual_loop.h"

using namespace trainstep;

TEST_CASE("a deadline passes on time, however often it is set again") {
  test::VirtualLoop loop;
  Deadline deadline(loop);
  CHECK_FALSE(deadline.is_set());
  CHECK_FALSE(deadline.passed());
  deadline.set(Duration{100});
  CHECK(deadline.is_set());
  loop.after(Duration{99}, [&] {
    CHECK_FALSE(deadline.passed());
    deadline.set(Duration{100});
  });
  loop.after(Duration{198}, [&] { CHECK_FALSE(deadline.passed()); });
  loop.run();
  CHECK(deadline.passed());
  deadline.set(Duration{100});
  CHECK_FALSE(deadline.passed());
}

TEST_CASE("a destroyed deadline leaves no timer") {
  test::VirtualLoop loop;
  {
    Deadline(loop).set(Duration{100});
  }
  const auto begin = loop.now();
  loop.run();
  CHECK(loop.now() == begin);
}
