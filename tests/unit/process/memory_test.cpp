// SPDX-License-Identifier: Apache-2.0
#include "process/memory.h"

#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace trainstep;

namespace {

// Pages of files that this process has mapped and touched (proc(5), statm).
long file_pages() {
  std::ifstream statm("/proc/self/statm");
  long size = 0, resident = 0, shared = 0;
  statm >> size >> resident >> shared;
  return shared;
}

}  // namespace

TEST_CASE("a program that gives back its memory keeps less of its file, and goes on as before") {
  const std::vector<std::string> kept{"a text that is longer than any small string would be", "another"};
  const auto before = file_pages();
  process::give_back_memory();
  CHECK(file_pages() < before);
  CHECK(kept == std::vector<std::string>{"a text that is longer than any small string would be", "another"});
}
