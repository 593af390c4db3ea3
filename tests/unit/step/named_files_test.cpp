// SPDX-License-Identifier: Apache-2.0
#include "step/named_files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "base/files.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::step;
namespace fs = std::filesystem;

TEST_CASE("only files in a template's folder are read, wherever links lead") {
  const TempDir place;
  const auto folder = fs::canonical(place.path()) / "in";
  fs::create_directories(folder / "..data");
  std::ofstream(folder / "..data/value") << "inside";
  std::ofstream(place.path() / "secret") << "outside";
  fs::create_symlink("..data/value", folder / "value");  // as the kubelet lays out a ConfigMap
  fs::create_symlink("../secret", folder / "link");
  fs::create_symlink("..", folder / "up");
  const FileReader reader = [](const std::string& path, std::size_t limit) { return read_file(path, limit); };
  const NamedFiles files(reader, Files::folder, folder.string());
  const auto read = [&](const std::string& path) { return files.content("train_parameters", "@" + path, 100).value(); };
  CHECK(read(folder.string() + "/value") == "inside");
  CHECK(read(folder.string() + "/..data/value") == "inside");
  for (const auto* path : {"/link", "/up/secret", "/../secret"}) CHECK(read(folder.string() + path) == "@" + folder.string() + path);
}
