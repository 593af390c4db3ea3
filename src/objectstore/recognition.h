// Detects by content which files an object store already holds: a file that was copied or recreated has another modification time but the same bytes.
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

// The ETag that S3 computes for a multipart object whose parts have these ETags (Amazon S3 User Guide, "Checking object integrity"); empty if they
// are not MD5s (encryption with KMS): then ETags do not identify content.
std::string etag_of_parts(const std::vector<std::string>& etags);

// Reads the files that have an object of the same size, part by part, and computes the ETag that our upload would have got. Nothing is detected on
// stores with other ETags, or after an upload with other part sizes.
class Recognition {
 public:
  using Done = std::function<void(const KnownFiles& same)>;  // called once, from the loop
  // `root`: of the files. References must outlive this object.
  Recognition(Loop& loop, const std::vector<LocalFile>& files, const std::vector<Object>& there, std::filesystem::path root, Done done,
              TransferLimits limits = {});
  Recognition(const Recognition&) = delete;
  Recognition& operator=(const Recognition&) = delete;

 private:
  void step();
  void next();

  Loop& m_loop;
  std::vector<TransferItem> m_left;  // the last one is in progress
  std::filesystem::path m_root;
  Done m_done;
  TransferLimits m_limits;
  std::vector<std::string> m_etags;  // of the parts so far
  KnownFiles m_same;
  Timer m_timer;
};

}  // namespace trainstep::objectstore
