// Writes large files beside the thread that fetches them: network and disk are busy at the same time. It never calls anybody back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace trainstep::objectstore {

class WriteBehind {
 public:
  // One file's writes; at one address while any are under way.
  struct File {
    int fd = -1;
    int under_way = 0;
    int error = 0;  // errno of the first that failed
  };

  WriteBehind() = default;  // its thread begins with the first write
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;
  ~WriteBehind();  // after all that was added

  // An empty buffer with room, to be filled and added.
  std::string buffer();
  // Writes in the order in which they are added. Waits where the disk is slower than the network. → errno of a write of this file that has failed.
  int add(File& file, std::int64_t first, std::string bytes);
  // Until all of this file is written. → as above.
  int wait(File& file);
  [[nodiscard]] bool idle(const File& file);

 private:
  struct Write {
    File* file;
    std::int64_t first;
    std::string bytes;
  };
  void start();
  void run();

  std::mutex m_mutex;
  std::condition_variable m_added, m_done;
  std::deque<Write> m_writes;
  std::vector<std::string> m_free;
  bool m_ends = false;
  std::thread m_thread;
};

// All of it; → 0 or errno.
int write_at(int fd, std::int64_t first, std::string_view bytes);

}  // namespace trainstep::objectstore
