// The command line: subcommands, help, exit codes. The only module that knows CLI11.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"

namespace trainstep::cli {

// Runs the subcommand that argv names. Returns the exit code (README.md, Exit codes; result/verdict.h); never throws.
int run_app(int argc, char** argv);

// Strings that must not appear in any output from now on; concealed() removes them, and complain() uses it.
void conceal(std::vector<std::string> secrets);
std::string concealed(std::string_view text);

// Prints "trainstep: …" on stderr; with --log-format json, wherever it is on the command line, as a JSON line like those of the log.
void complain(std::string_view text);

// The same for an error; returns its exit code.
int report(const Error& error);
// The code, or that of the error, which is reported.
int exit_code_of(const Result<int>& code);

}  // namespace trainstep::cli
