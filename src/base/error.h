// An error as a value: what went wrong, in words a user can act on, and of which sort it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace trainstep {

// A closed list. Exit codes follow from it (result/verdict.h); whether a request may be tried again is a function of the error, never a flag.
enum class ErrorKind {
  usage,        // the command line is wrong
  input,        // a specification, parameter or configuration is wrong
  not_found,    // the named thing does not exist
  conflict,     // somebody else's thing has that name, or it changed meanwhile
  denied,       // no permission
  unavailable,  // a server or program does not answer; trying again may help
  timeout,      // a limit that the user set has passed
  cancelled,    // somebody asked to stop
  internal,     // a defect of this program or of this machine
};

// `message` is one sentence (or a few lines): what is wrong, where (line, key, object), what to do. It never holds a secret.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

inline Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }
inline Error usage_error(std::string message) { return {ErrorKind::usage, std::move(message)}; }
inline Error internal_error(std::string message) { return {ErrorKind::internal, std::move(message)}; }

// Says on the way up where the error was met: "train_parameters: epochs: …".
inline Error in_context(std::string_view where, Error error) {
  error.message = std::string(where) + ": " + error.message;
  return error;
}

}  // namespace trainstep
