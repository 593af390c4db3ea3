// `@FILE` in a value: the content of a file. It is for a command line that somebody has typed; a value that came through a pipeline names no file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "step/inputs.h"

namespace trainstep::step {

enum class Files {
  any,     // @FILE and @@
  folder,  // @FILE below one folder, which a template's author has filled; everything else is itself
  none,    // every value is itself
};

class NamedFiles {
 public:
  // `read` must outlive this. `folder`: for Files::folder, an absolute path.
  NamedFiles(const FileReader& read, Files files, std::string folder = {});

  // What the value stands for: itself, a file's content, and with Files::any without one of two @ in front. Argo's own file for a long argument is
  // always read. Errors (input): the file cannot be read, or is larger than `limit`. `name` begins the message.
  [[nodiscard]] Result<std::string> content(std::string_view name, const std::string& value, std::size_t limit) const;

 private:
  [[nodiscard]] bool is_named(std::string_view path) const;

  const FileReader& m_read;
  Files m_files;
  std::string m_folder;
};

}  // namespace trainstep::step
