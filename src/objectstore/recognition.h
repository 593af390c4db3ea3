// Which files an object store holds already, by their content: a file that was copied, or made again, has another time of change but the same bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "objectstore/sync.h"
#include "objectstore/transfer.h"

namespace trainstep::objectstore {

// The ETag that S3 gives an object of several parts whose ETags are these (Amazon S3 User Guide, "Checking object integrity"); empty where they are
// no MD5s (encryption by a key service): then nobody can tell by them what an object holds.
std::string etag_of_parts(const std::vector<std::string>& etags);

// Reads those files that have an object of the same size, part by part, and computes the ETag that an upload of ours would have got. Of a store with
// other ETags, or after an upload in other parts, nothing is recognised.
class Recognition {
 public:
  using Done = std::function<void(const KnownFiles& same)>;  // once, from the loop
  // `root`: of the files. References must outlive it.
  Recognition(Loop& loop, const std::vector<LocalFile>& files, const std::vector<Object>& there, std::filesystem::path root, Done done,
              TransferLimits limits = {});
  Recognition(const Recognition&) = delete;
  Recognition& operator=(const Recognition&) = delete;
  ~Recognition();

 private:
  void step();
  void next();

  Loop& m_loop;
  std::vector<TransferItem> m_left;  // the last is under way
  std::filesystem::path m_root;
  Done m_done;
  TransferLimits m_limits;
  std::vector<std::string> m_etags;  // of the parts so far
  KnownFiles m_same;
  Loop::TimerId m_timer;
};

}  // namespace trainstep::objectstore
