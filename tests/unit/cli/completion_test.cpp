// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include "support/catch.h"

using namespace trainstep::cli;

namespace {

Option flag(const char* name, const char* value) { return {.name = name, .value = value, .help = "help", .group = "Options", .required = false}; }

Command program() {
  Command run{.name = "run", .summary = "Train.", .footer = "", .options = {}, .positionals = {}, .commands = {}};
  run.options = {flag("--input", value::text),     flag("--metrics", value::file),    flag("--model-dir", value::path),
                 flag("--run-dir", value::folder), flag("--log-format", "text|json"), flag("--explain", "")};
  Command replay{.name = "replay", .summary = "Tell.\nMore.", .footer = "", .options = {}, .positionals = {flag("FILE", "")}, .commands = {}};
  return {.name = "program", .summary = "", .footer = "", .options = {flag("--version", "")}, .positionals = {}, .commands = {run, replay}};
}

std::string offered(const std::vector<std::string>& words) {
  std::string text;
  const auto candidates = complete(program(), words);
  for (const auto& word : candidates.words) text += (text.empty() ? "" : " ") + word.text;
  return candidates.paths == Candidates::Paths::none ? text : candidates.paths == Candidates::Paths::files ? "files" : "folders";
}

}  // namespace

TEST_CASE("commands come first, then the flags of the command") {
  CHECK(offered({""}) == "run replay");
  CHECK(offered({}) == "run replay");
  CHECK(offered({"re"}) == "replay");
  CHECK(offered({"--"}) == "--version");
  CHECK(offered({"run", ""}).empty());
  CHECK(offered({"run", "--m"}) == "--metrics --model-dir");
  CHECK(offered({"run", "--explain", "--m"}) == "--metrics --model-dir");
}

TEST_CASE("a value is completed according to its flag") {
  CHECK(offered({"run", "--log-format", ""}) == "text json");
  CHECK(offered({"run", "--log-format", "j"}) == "json");
  CHECK(offered({"run", "--log-format=j"}) == "json");
  CHECK(offered({"run", "--metrics", "x"}) == "files");
  CHECK(offered({"run", "--model-dir=x"}) == "files");
  CHECK(offered({"run", "--run-dir", ""}) == "folders");
  CHECK(offered({"run", "--log_format=j"}) == "json");
  CHECK(offered({"run", "--unknown=x"}).empty());
}

TEST_CASE("the text of an input may come from a file") {
  CHECK(offered({"run", "--input", "x"}).empty());
  CHECK(offered({"run", "--input", "@x"}) == "files");
  CHECK(offered({"run", "--input=@x"}) == "files");
}

TEST_CASE("bash's words of their own for = and @ are understood") {
  CHECK(offered({"run", "--log-format", "="}) == "text json");
  CHECK(offered({"run", "--log-format", "=", "t"}) == "text");
  CHECK(offered({"run", "--input", "@", "x"}) == "files");
  CHECK(offered({"run", "--input", "=", "@", "x"}) == "files");
  CHECK(offered({"run", "--input", "@", "x", "--ex"}) == "--explain");
}

TEST_CASE("a value is never taken for a command, and a positional is completed once") {
  CHECK(offered({"run", "--input", "replay", "--ex"}) == "--explain");
  CHECK(offered({"replay", ""}) == "files");
  CHECK(offered({"replay", "x", ""}).empty());
}

TEST_CASE("after -- files are completed, as for another program") { CHECK(offered({"run", "--", "--m"}) == "files"); }

TEST_CASE("the scripts read one candidate per line, or a word that stands for files") {
  CHECK(lines_of(complete(program(), {"re"})) == "replay\tTell.\n");
  CHECK(lines_of(complete(program(), {"run", "--metrics", ""})) == ":files\n");
  CHECK(lines_of(complete(program(), {"run", "--run-dir", ""})) == ":folders\n");
  for (const auto* shell : {"bash", "zsh", "fish"}) CHECK_FALSE(completion_script(shell).empty());
  CHECK(completion_script("csh").empty());
}
