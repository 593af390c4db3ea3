// The command line: subcommands, help, exit codes. The only module that knows CLI11.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trainstep::cli {

// Runs the subcommand that argv names. Returns the exit code (README.md, Exit codes; result/verdict.h); never throws.
int run_app(int argc, char** argv);

// Texts that must not stand in what is said from now on; concealed() leaves them out, as complain() does.
void conceal(std::vector<std::string> secrets);
std::string concealed(std::string_view text);

// "trainstep: …" on stderr; with --log-format json, wherever it stands on the command line, a line of JSON as the log's are.
void complain(std::string_view text);

// The same of an error, and the exit code of that error.
int report(const Error& error);

}  // namespace trainstep::cli
