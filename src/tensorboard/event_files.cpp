// SPDX-License-Identifier: Apache-2.0
#include "tensorboard/event_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/fd.h"
#include "base/printable.h"
#include "base/walk_tree.h"
#include "result/tensorboard_curves.h"
#include "result/tensorboard_event.h"
#include "result/tfrecord.h"

namespace trainstep::tensorboard {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// For events with scalars; larger records, which may take hours to read, are skipped.
constexpr std::uint64_t max_record_size = std::uint64_t{64} << 20U;
constexpr std::size_t max_reported = 5;  // messages with file names

struct File {
  std::string run;   // "train"; "" is the folder itself
  std::string path;  // "/train/events.out.tfevents.1"
  ino_t number = 0;
};

bool is_event_file(std::string_view name) { return name.find("tfevents") != std::string_view::npos && !name.ends_with(".profile-empty"); }

// Reads a file through a window of a few pages.
class Window {
 public:
  explicit Window(int file) : m_file(file) {}
  std::string_view operator()(std::uint64_t at, std::size_t size) {
    size = std::min(size, m_buffer.size());
    const bool here = at >= m_begin && at - m_begin <= m_filled && size <= m_filled - (at - m_begin);
    if (!here) fill(at);
    return std::string_view(m_buffer.data(), m_filled).substr(at - m_begin, size);
  }
  [[nodiscard]] int problem() const { return m_problem; }  // an errno

 private:
  void fill(std::uint64_t at) {
    m_begin = at;
    m_filled = 0;
    while (m_filled < m_buffer.size()) {
      const auto count = ::pread(m_file, m_buffer.data() + m_filled, m_buffer.size() - m_filled, static_cast<off_t>(at + m_filled));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) m_problem = errno;
      if (count <= 0) return;
      m_filled += static_cast<std::size_t>(count);
    }
  }

  int m_file;
  int m_problem = 0;
  std::uint64_t m_begin = 0;
  std::size_t m_filled = 0;
  std::array<char, 32'768> m_buffer{};
};

class Reader {
 public:
  Reader(const fs::path& folder, const Written& written, const Limits& limits)
      : m_folder(folder), m_written(written), m_limits(limits), m_until(Clock::now() + limits.time), m_curves(written.since) {}

  Logs read() {
    find();
    std::ranges::sort(m_files,
                      [](const File& a, const File& b) { return a.run != b.run ? a.run < b.run : ::strverscmp(a.path.c_str(), b.path.c_str()) < 0; });
    for (const auto& file : m_files) m_curves.add_run(file.run);
    for (const auto& file : m_files)
      if (!m_too_much) read(file);
    if (m_too_much)
      return {{},
              {fmt::format("reading the TensorBoard logs would take more than {} s; ignoring all of them",
                           std::chrono::duration_cast<std::chrono::seconds>(m_limits.time).count())}};
    if (m_too_many) return {{}, {fmt::format("more than {} TensorBoard event files; ignoring all of them", m_limits.files)}};
    if (m_troubles > max_reported)
      m_logs.told.push_back(fmt::format("{} more TensorBoard event files or records are damaged", m_troubles - max_reported));
    if (m_curves.older() > 0)
      m_logs.told.push_back(fmt::format("ignoring {} values of TensorBoard event files that are older than the training", m_curves.older()));
    if (m_curves.full()) m_logs.told.emplace_back("the TensorBoard event files have too many curves; ignoring the rest");
    m_logs.curves = m_curves.series();
    return std::move(m_logs);
  }

 private:
  [[nodiscard]] bool late() const { return Clock::now() > m_until; }

  void find() {
    walk_tree(m_folder, [this](const std::string& path, const struct stat& found) {
      const auto slash = path.rfind('/');
      const auto name = std::string_view(path).substr(slash + 1);
      if (S_ISREG(found.st_mode) && found.st_size > 0 && is_event_file(name) && (!m_written.file || m_written.file(path, found))) {
        if (m_files.size() >= m_limits.files) m_too_many = true;
        if (!m_too_many) m_files.push_back({slash == 0 ? "" : path.substr(1, slash - 1), path, found.st_ino});
      }
      m_too_much = late() && !m_files.empty();
      return m_too_many || late() ? Walk::stop : Walk::on;
    });
    if (m_too_many) m_files.clear();
  }

  void tell(const File& file, std::string_view what) {
    if (++m_troubles <= max_reported) m_logs.told.push_back(fmt::format("{}: {}", printable(file.path.substr(1)), what));
  }

  void read(const File& file) {
    const Fd fd(::open((m_folder.string() + file.path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat found{};
    if (!fd || ::fstat(fd.get(), &found) != 0) return tell(file, std::strerror(errno));
    if (!S_ISREG(found.st_mode) || found.st_ino != file.number) return;  // replaced in the meantime
    Window window(fd.get());
    const result::Bytes bytes = [&window](std::uint64_t at, std::size_t size) { return window(at, size); };
    const auto size = static_cast<std::uint64_t>(found.st_size);
    result::Record record;
    for (std::uint64_t at = 0; !m_too_much; at = record.end()) {
      const auto next = result::find_record(bytes, size, at, record);
      if (window.problem() != 0) return tell(file, std::strerror(window.problem()));
      if (next == result::Found::damaged) return tell(file, fmt::format("damaged at byte {}; ignoring the rest", at));
      if (next != result::Found::record) return;
      take(file, bytes, record);
      m_too_much = late();
    }
  }

  void take(const File& file, const result::Bytes& bytes, const result::Record& record) {
    if (record.size > max_record_size) return;
    const auto event = result::read_tensorboard_event(bytes, record.begin, record.begin + record.size);
    const bool scalar = event && (!event->values.empty() || event->restart);
    if (!scalar && record.size > result::max_scalar_length) return;
    if (!result::is_whole(bytes, record)) return tell(file, fmt::format("ignoring the damaged record at byte {}", record.begin));
    if (scalar) m_curves.add(file.run, *event);
  }

  const fs::path& m_folder;
  const Written& m_written;
  const Limits& m_limits;
  Clock::time_point m_until;
  result::TensorboardCurves m_curves;
  std::vector<File> m_files;
  Logs m_logs;
  std::size_t m_troubles = 0;
  bool m_too_many = false;
  bool m_too_much = false;
};

}  // namespace

Time Start::earliest(const Start& now) const {
  const auto set_back = std::chrono::floor<Duration>(now.steady - steady) - (now.wall - wall);
  return wall - std::max(Duration(0), set_back);
}

Written written_since(const PathSnapshot& before, Time began) {
  return {.file = [&before](const std::string& path, const struct stat& found) { return before.wrote(path, found); }, .since = began};
}

Logs read_event_files(const fs::path& folder, const Written& written, const Limits& limits) { return Reader(folder, written, limits).read(); }

}  // namespace trainstep::tensorboard
