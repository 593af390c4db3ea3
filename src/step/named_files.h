// `@FILE` in a value: the content of a file. Only for command lines that a person has typed; a value that came through a pipeline names no file.
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
  folder,  // @FILE below one folder, which is filled by the author of a template; all other values are literal
  none,    // all values are literal
};

class NamedFiles {
 public:
  // `read` must outlive this object. `folder`: for Files::folder, an absolute path.
  NamedFiles(const FileReader& read, Files files, std::string folder = {});

  // The meaning of the value: the value itself, the content of a file, or with Files::any the value without the first of two @. Argo's file for a
  // long argument is always read. Errors (input): the file cannot be read, or is larger than `limit`. `name` starts the message.
  [[nodiscard]] Result<std::string> content(std::string_view name, const std::string& value, std::size_t limit) const;

  // Error (input): the value looks like the name of a file, but is none that may be read. For inputs whose values cannot begin with @.
  [[nodiscard]] Result<void> check(std::string_view name, std::string_view value) const;

 private:
  [[nodiscard]] bool is_named(std::string_view path) const;

  const FileReader& m_read;
  Files m_files;
  std::string m_folder;
};

}  // namespace trainstep::step
