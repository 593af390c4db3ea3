// SPDX-License-Identifier: Apache-2.0
#include "objectstore/write_behind.h"

#include <fcntl.h>

#include <cerrno>

#include "base/fd.h"
#include "base/files.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::objectstore;

TEST_CASE("writes come in the order in which they were added, and an error stays with its file") {
  const TempDir here;
  const auto path = here.path() / "file";
  const Fd good(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(good);
  REQUIRE(full);
  WriteBehind::File file{.fd = good.get()};
  WriteBehind::File lost{.fd = full.get()};
  std::string expected;
  WriteBehind behind;
  for (int i = 0; i < 200; ++i) {  // more than may wait
    const std::string piece(1000, static_cast<char>('a' + i % 26));
    behind.add(file, 0, "overwritten");
    auto bytes = behind.buffer();
    CHECK(bytes.empty());
    bytes = piece;
    behind.add(file, static_cast<std::int64_t>(expected.size()), std::move(bytes));
    if (i % 50 == 0) behind.add(lost, 0, "x");
    expected += piece;
  }
  behind.add(file, 0, expected.substr(0, 11));
  CHECK(behind.wait(file) == 0);
  CHECK(behind.idle(file));
  CHECK(behind.wait(lost) == ENOSPC);
  CHECK(behind.add(lost, 0, "x") == ENOSPC);
  CHECK(behind.wait(lost) == ENOSPC);
  CHECK(read_file(path, 1'000'000).value() == expected);
}

TEST_CASE("what was added is written before its end") {
  const TempDir here;
  const auto path = here.path() / "file";
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  WriteBehind::File file{.fd = fd.get()};
  {
    WriteBehind behind;
    for (int i = 0; i < 10; ++i) behind.add(file, i, std::string(1, static_cast<char>('0' + i)));
  }
  CHECK(read_file(path, 100).value() == "0123456789");
}
