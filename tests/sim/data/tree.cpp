// SPDX-License-Identifier: Apache-2.0
#include "sim/data/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include "base/fd.h"
#include "base/files.h"
#include "sim/random.h"

namespace trainstep::sim::data {

namespace fs = std::filesystem;

std::string bytes_of(std::uint64_t number, std::size_t size) {
  Random random(number);
  std::string content;
  content.reserve(size + sizeof(std::uint64_t));
  while (content.size() < size) {
    auto bits = random.next();
    for (std::size_t i = 0; i < sizeof bits; ++i, bits >>= 8U) content += static_cast<char>(bits & 0xffU);
  }
  content.resize(size);
  return content;
}

std::uint64_t number_of(const Tree& tree) {
  std::uint64_t number = 0xcbf29ce484222325U;  // FNV-1a
  const auto add = [&number](std::string_view text) {
    for (const char c : text) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    number = (number ^ 0x100U) * 0x100000001b3U;
  };
  for (const auto& [path, content] : tree) add(path), add(content);
  return number;
}

Tree read_tree_at(const fs::path& root) {
  constexpr std::size_t most = 1U << 20U;
  Tree tree;
  std::error_code none;
  if (fs::is_regular_file(root, none)) tree[""] = read_file(root, most).value_or("(unreadable)");
  for (auto entry = fs::recursive_directory_iterator(root, none); !none && entry != fs::recursive_directory_iterator(); entry.increment(none))
    if (entry->is_regular_file(none)) tree[entry->path().lexically_relative(root).string()] = read_file(entry->path(), most).value_or("(unreadable)");
  return tree;
}

void write_at(const fs::path& file, const std::string& content, Time now) {
  fs::create_directories(file.parent_path());
  const auto beside = file.string() + "~";
  const Fd fd(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const auto since = now.time_since_epoch().count();
  const timespec time{static_cast<time_t>(since / 1000), static_cast<long>(since % 1000 * 1'000'000)};
  const timespec times[]{time, time};
  const bool written = fd && ::write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
  if (!written || ::futimens(fd.get(), times) != 0) throw std::runtime_error("cannot write " + beside);
  fs::rename(beside, file);
}

std::string differences(const Tree& found, const Tree& wanted) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  for (const auto& [path, content] : wanted) {
    const auto there = found.find(path);
    if (there == found.end())
      add(fmt::format("\"{}\" is not there", path));
    else if (there->second != content)
      add(fmt::format("\"{}\" is another one ({} bytes, {} wanted)", path, there->second.size(), content.size()));
  }
  for (const auto& [path, content] : found)
    if (!wanted.contains(path)) add(fmt::format("\"{}\" should not be there", path));
  return text;
}

}  // namespace trainstep::sim::data
