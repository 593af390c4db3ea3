// A pod with its stores, over an object store in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "staging/stores.h"
#include "support/temp_dir.h"
#include "unit/objectstore/fake_store.h"

namespace trainstep::staging::test {

using objectstore::test::FakeStore;
using objectstore::test::FakeTransport;
using objectstore::test::Reply;

// Bucket "bkt", keys in the environment.
struct StoreOfPod : FakeStore {
  TempDir folder;
  std::unique_ptr<Stores> stores;

  StoreOfPod() {
    auto opened = Stores::open(loop, transport, {{"http://store:9000", "us-east-1", true, "", "", ""}},
                               {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}}, 1);
    if (!opened) FAIL(opened.error().message);
    stores = std::move(*opened);
  }
  [[nodiscard]] std::string in_pod(const std::string& path) const { return (folder.path() / path).string(); }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    REQUIRE(std::filesystem::exists(path));
  }
  static std::string read(const std::filesystem::path& path) {
    if (!std::filesystem::is_regular_file(path)) return "(none)";
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Refuses what `matches` picks out of the requests' lines ("PUT /bkt/model"), `times` times.
  void refuse(const std::string& beginning, int status, const std::string& code, int times = 1 << 30) {
    fault = [=, left = times](const FakeTransport::Asked& asked) mutable -> std::optional<Reply> {
      if (!asked.line().starts_with(beginning) || left == 0) return std::nullopt;
      --left;
      return refusal(status, code);
    };
  }
  [[nodiscard]] std::size_t count(const std::string& beginning) const {
    return static_cast<std::size_t>(std::ranges::count_if(transport.asked(), [&](const auto& asked) { return asked.line().starts_with(beginning); }));
  }
};

}  // namespace trainstep::staging::test
