// SPDX-License-Identifier: Apache-2.0
#include "local/mpi_ranks.h"

#include <sys/stat.h>

#include <filesystem>

#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

TEST_CASE("Files with a program's variables are readable by their owner only, and removed with the run") {
  const TempDir folder;
  const auto files = mpi_files(folder.path(), 2);
  const std::vector<RankCommand> ranks(2, {folder.path(), {{"HF_TOKEN", "hf-12345678"}}, {"true"}});
  const auto before = ::umask(0);
  const auto fifos = write_ranks(files, MpiFlavour::open_mpi, ranks);
  CHECK(::umask(before) == 0);
  REQUIRE(fifos);
  CHECK(fifos->size() == 4);
  for (const auto& script : files.scripts) CHECK(fs::status(script).permissions() == fs::perms(0600));
  remove_ranks(files);
  for (const auto* paths : {&files.scripts, &files.out, &files.err})
    for (const auto& path : *paths) CHECK_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace trainstep::local
