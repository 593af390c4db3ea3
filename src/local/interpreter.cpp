// SPDX-License-Identifier: Apache-2.0
#include "local/interpreter.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/files.h"
#include "base/remove_tree.h"
#include "local/shell.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

Result<void> write_wrapper(const fs::path& wrapper, const fs::path& program) {
  TRY(write_file_atomically(wrapper, fmt::format("#!/bin/sh\nexec {} \"$@\"\n", shell_quoted(program.string()))));
  std::error_code code;
  fs::permissions(wrapper, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec,
                  code);
  if (code) return internal_error(fmt::format("cannot make {} executable: {}", wrapper.string(), code.message()));
  return {};
}

std::optional<fs::path> find_absolute(const std::string& name, const process::Variables& own) {
  std::error_code ignored;
  const auto here = fs::current_path(ignored);
  const auto found = process::find_program({{name}, own, here.string()});
  if (!found) return std::nullopt;
  const auto path = here / *found;
  return fs::is_regular_file(path, ignored) ? std::optional(path) : std::nullopt;
}

}  // namespace

Result<Interpreter> set_up_interpreter(const fs::path& run_dir, const std::string& python, const process::Variables& own) {
  Interpreter interpreter{run_dir / "bin", {}};
  TRY(remove_tree(interpreter.tools));  // an earlier run may have used another interpreter, or this may be a link
  TRY(make_directories(interpreter.tools));
  if (python.empty()) {
    const auto python3 = find_absolute("python3", own);
    const auto plain = find_absolute("python", own);
    if (python3 && !plain) TRY(write_wrapper(interpreter.tools / "python", *python3));
    if (plain && !python3) TRY(write_wrapper(interpreter.tools / "python3", *plain));
    return interpreter;
  }
  const auto chosen = find_absolute(python, own);
  if (!chosen) return input_error(fmt::format("--python: {} is not a program on this machine; pass the path of an interpreter", python));
  for (const auto* name : {"python3", "python"}) TRY(write_wrapper(interpreter.tools / name, *chosen));
  interpreter.folder = chosen->parent_path();
  return interpreter;
}

}  // namespace trainstep::local
