// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "data/path_snapshot.h"
#include "data/write_watch.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

struct stat status_of(const fs::path& path) {
  struct stat found{};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found;
}

void set_modified(const fs::path& path, const timespec& at) {
  const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, at};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

// What an earlier attempt left: a file last modified long ago, as `cp -p` leaves it.
struct Leftover {
  Leftover() {
    fs::create_directories(model);
    write(weights, "old weights");
    set_modified(weights, {1'000'000, 5});
  }
  TempDir folder;
  fs::path model = folder.path() / "model", weights = model / "weights";
};

struct Way {
  std::string name;
  std::function<void(const Leftover&)> use;
};

const std::array metadata{
    Way{"chmod", [](const Leftover& left) { REQUIRE(::chmod(left.weights.c_str(), 0604) == 0); }},
    Way{"chown", [](const Leftover& left) { REQUIRE(::chown(left.weights.c_str(), ::geteuid(), ::getegid()) == 0); }},
    Way{"a rename and one back",
        [](const Leftover& left) {
          fs::rename(left.weights, left.model / "other");
          fs::rename(left.model / "other", left.weights);
        }},
    Way{"another link", [](const Leftover& left) { fs::create_hard_link(left.weights, left.folder.path() / "link"); }},
    Way{"another link in the output", [](const Leftover& left) { fs::create_hard_link(left.weights, left.model / "link"); }},
    Way{"an attribute", [](const Leftover& left) { ::setxattr(left.weights.c_str(), "user.note", "x", 1, 0); }},
};

const std::array writing{
    Way{"cp -p of another file",
        [](const Leftover& left) {
          write(left.weights, "new weights");
          set_modified(left.weights, {2'000'000, 7});
        }},
    Way{"cp -p of the same file once more",
        [](const Leftover& left) {
          write(left.weights, "old weights");
          set_modified(left.weights, {1'000'000, 5});
        }},
    Way{"tar x of the same archive once more",
        [](const Leftover& left) {
          fs::remove(left.weights);
          write(left.weights, "old weights");
          set_modified(left.weights, {1'000'000, 5});
        }},
    Way{"writing some bytes and touch -r",
        [](const Leftover& left) {
          const auto before = status_of(left.weights).st_mtim;
          std::fstream(left.weights, std::ios::in | std::ios::out) << "new";
          set_modified(left.weights, before);
        }},
    Way{"a rename over it",
        [](const Leftover& left) {
          write(left.model / "part", "new weights");
          set_modified(left.model / "part", {1'000'000, 5});
          fs::rename(left.model / "part", left.weights);
        }},
    Way{"the same bytes again", [](const Leftover& left) { write(left.weights, "old weights"); }},
};

}  // namespace

TEST_CASE("a change of a file's metadata is not writing it") {
  const auto& way = GENERATE(from_range(metadata));
  CAPTURE(way.name);
  const Leftover left;
  const PathSnapshot before(left.model);
  way.use(left);
  CHECK_FALSE(before.written());
  CHECK_FALSE(before.touched());
  CHECK_FALSE(before.wrote("/weights", status_of(left.weights)));
}

TEST_CASE("a file that is written is written, whatever its modification time is set to") {
  const auto& way = GENERATE(from_range(writing));
  CAPTURE(way.name);
  const Leftover left;
  const PathSnapshot before(left.model);
  way.use(left);
  CHECK(before.written());
  CHECK(before.touched());
  CHECK(before.wrote("/weights", status_of(left.weights)));
}

TEST_CASE("a file that only got another name is not written") {
  const Leftover left;
  const PathSnapshot before(left.model);
  const auto other = left.model / "other";
  fs::rename(left.weights, other);
  CHECK_FALSE(before.written());
  CHECK_FALSE(before.touched());
  CHECK_FALSE(before.wrote("/other", status_of(other)));
  CHECK_FALSE(before.unchanged());
}

TEST_CASE("metadata of a file that a link leads to is not content either") {
  const Leftover left;
  const auto link = left.folder.path() / "link", holder = left.folder.path() / "holder";
  const bool inside = GENERATE(true, false);
  const bool once_linked = GENERATE(true, false);
  CAPTURE(inside, once_linked);
  const auto path = inside ? holder : link;
  const auto make = [&] { fs::create_symlink(left.weights, inside ? holder / "weights" : link); };
  const PathSnapshot settled(left.model);  // waits until a change has another time
  if (inside) fs::create_directories(holder);
  if (once_linked) make();
  const PathSnapshot before(path);
  if (!once_linked) make();
  REQUIRE(::chmod(left.weights.c_str(), 0604) == 0);
  CHECK_FALSE(before.written());
  if (!once_linked) return;  // the target of a new link is unknown, and not watched
  write(left.weights, "new weights");
  set_modified(left.weights, {1'000'000, 5});
  CHECK(before.written());
}

TEST_CASE("a new file counts through a link, whatever its modification time is set to") {
  const TempDir folder;
  const auto model = folder.path() / "model", target = folder.path() / "target";
  const PathSnapshot before(model);
  write(target, "x");
  set_modified(target, {1'000'000, 5});
  fs::create_symlink(target, model);
  CHECK(before.written());
}

TEST_CASE("a state includes the metadata of files") {
  const Leftover left;
  const PathSnapshot before(left.model);
  const auto digest = before.digest();
  REQUIRE(::chmod(left.weights.c_str(), 0604) == 0);
  CHECK_FALSE(before.unchanged());
  CHECK(PathSnapshot(left.model).digest() != digest);
}

TEST_CASE("at most a thousand files are watched") {
  const TempDir folder;
  WriteWatch watch;
  for (int i = 0; i <= 1'000; ++i) {
    const auto path = folder.path() / std::to_string(i);
    write(path, "x");
    watch.add(path, status_of(path));
  }
  for (const auto* name : {"0", "999", "1000"}) {
    write(folder.path() / name, "y");
    CHECK(watch.saw_write(status_of(folder.path() / name)) == (std::string(name) != "1000"));
  }
}
