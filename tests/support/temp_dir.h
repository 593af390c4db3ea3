// A folder of a test's own, gone at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/catch.h"

namespace trainstep {

class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& below = std::filesystem::temp_directory_path()) {
    auto name = (below / "trainstep-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    m_path = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

 private:
  std::filesystem::path m_path;
};

}  // namespace trainstep
