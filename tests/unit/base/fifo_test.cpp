// SPDX-License-Identifier: Apache-2.0
#include "base/fifo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace std::chrono_literals;

namespace {

struct Fifo {
  TempDir folder;
  std::filesystem::path path = folder.path() / "fifo";
  Fd reader;

  Fifo() {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    reader = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(reader);
  }
  [[nodiscard]] Fd writer() const { return Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)); }
  [[nodiscard]] Result<std::string> read(std::size_t limit = 100) const { return read_fifo(reader.get(), path, limit, 1ms); }
};

void write(const Fd& writer, std::string_view text) { REQUIRE(::write(writer.get(), text.data(), text.size()) == std::ssize(text)); }

}  // namespace

TEST_CASE("a FIFO that nobody writes to is refused") {
  const Fifo fifo;
  const auto read = fifo.read();
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == ErrorKind::input);
  CHECK(read.error().message ==
        fifo.path.string() + " is a FIFO, and no program has opened it for writing; start that program first, or write to a file");
}

TEST_CASE("a FIFO is read to the end of its writer") {
  const Fifo fifo;
  write(fifo.writer(), "text");
  CHECK(fifo.read() == "text");
}

TEST_CASE("a writer that writes nothing is a writer") {
  const Fifo fifo;
  (void)fifo.writer();
  CHECK(fifo.read() == "");
}

TEST_CASE("a writer may take its time") {
  const Fifo fifo;
  const std::jthread late([writer = fifo.writer()] { (void)!::write(writer.get(), "late", 4); });
  CHECK(fifo.read() == "late");
}

TEST_CASE("a FIFO with more than the limit is refused") {
  const Fifo fifo;
  write(fifo.writer(), "text");
  const auto read = fifo.read(3);
  REQUIRE_FALSE(read);
  CHECK(read.error().message == fifo.path.string() + " is larger than 3 bytes");
}

TEST_CASE("a pipe without a name is read by its descriptor, also after its writer has ended") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const Fd reader(ends[0]);
  {
    const Fd writer(ends[1]);
    write(writer, "text");
  }
  CHECK(read_file(fmt::format("/dev/fd/{}", reader.get()), 100) == "text");
}
