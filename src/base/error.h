// An error as a value: a message that the user can act on, and its kind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace trainstep {

// A closed list. Exit codes are derived from it (result/verdict.h); whether a request may be retried is a function of the error, not a flag.
enum class ErrorKind {
  usage,        // the command line is wrong
  input,        // a specification, parameter or configuration is wrong
  not_found,    // the named object does not exist
  conflict,     // an object of another owner has that name, or the object changed concurrently
  denied,       // permission denied
  unavailable,  // a server or program does not respond; a retry may help
  timeout,      // a limit set by the user was exceeded
  cancelled,    // cancelled on request
  internal,     // a bug in this program or a fault of this machine
};

// `message` is one sentence (or a few lines): what is wrong, where (line, key, object), what to do about it. It never contains a secret.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};

inline Error input_error(std::string message) { return {ErrorKind::input, std::move(message)}; }
inline Error usage_error(std::string message) { return {ErrorKind::usage, std::move(message)}; }
inline Error internal_error(std::string message) { return {ErrorKind::internal, std::move(message)}; }

// Prefixes the message with the context on the way up: "train_parameters: epochs: …".
inline Error in_context(std::string_view where, Error error) {
  error.message = std::string(where) + ": " + error.message;
  return error;
}

}  // namespace trainstep
