// SPDX-License-Identifier: Apache-2.0
#include "local/mpi_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace trainstep::local {
namespace {

Result<Fd> make_fifo(const std::filesystem::path& path) {
  ::unlink(path.c_str());
  if (::mkfifo(path.c_str(), 0600) != 0)
    return input_error(fmt::format("cannot create the FIFO {}: {}; choose a TMPDIR on a local file system", path.string(), std::strerror(errno)));
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return internal_error(fmt::format("cannot open the FIFO {}: {}", path.string(), std::strerror(errno)));
  ::fcntl(fd.get(), F_SETPIPE_SZ, 1 << 20);  // fewer wakeups with a fast writer; a smaller pipe suffices
  return fd;
}

// Files created during its lifetime are accessible only to their owner. There are no other threads.
class Private {
 public:
  Private() : m_before(::umask(0077)) {}
  ~Private() { ::umask(m_before); }
  Private(const Private&) = delete;
  Private& operator=(const Private&) = delete;

 private:
  mode_t m_before;
};

}  // namespace

Result<std::vector<Fd>> write_ranks(const MpiFiles& files, MpiFlavour flavour, const std::vector<RankCommand>& ranks) {
  const Private variables_may_be_secret;
  TRY(write_file_atomically(files.hostfile, hostfile_text(flavour, static_cast<int>(ranks.size()))));
  TRY(write_file_atomically(files.dispatcher, dispatcher_text(files.dispatcher.parent_path())));
  std::vector<Fd> fifos;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    TRY(write_file_atomically(files.scripts[rank], rank_script_text(ranks[rank], files.out[rank], files.err[rank])));
    for (const auto& path : {files.out[rank], files.err[rank]}) {
      ASSIGN(auto fifo, make_fifo(path));
      fifos.push_back(std::move(fifo));
    }
  }
  return fifos;
}

void remove_ranks(const MpiFiles& files) {
  for (const auto* paths : {&files.scripts, &files.out, &files.err})
    for (const auto& path : *paths) ::unlink(path.c_str());
}

}  // namespace trainstep::local
