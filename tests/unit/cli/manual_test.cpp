// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include "support/catch.h"

using namespace trainstep::cli;
using Catch::Matchers::Contains;

namespace {

Option option(const char* name, const char* value, const char* help, const char* group) {
  return {.name = name, .value = value, .help = help, .group = group, .required = true};
}

Command program() {
  const std::vector<Option> inputs{option("--help", "", "Print", "Options"), option("--epochs", value::text, ".it's 4 → 5\\n", "Inputs"),
                                   option("--format", "text|json", "how", "Run")};
  Command run{.name = "run",
              .summary = "Train.",
              .footer = "\nSome prose.\n\nExamples:\n  # one\n  run '-x'",
              .options = inputs,
              .positionals = {},
              .runs_command = true,
              .commands = {}};
  Command check{.name = "check",
                .summary = "Ask.",
                .footer = "",
                .options = {inputs[1]},
                .positionals = {option("RUN", "", "which", "Positionals")},
                .commands = {}};
  return {.name = "program", .summary = "title\nIt trains.", .footer = "", .options = {}, .positionals = {}, .commands = {run, check}};
}

}  // namespace

TEST_CASE("the manual page names every command, option and exit code") {
  const auto page = manual(program());
  CHECK_THAT(page, Contains(".SH NAME\nprogram \\- ") && Contains(".SH DESCRIPTION\nIt trains.\n"));
  CHECK_THAT(page, Contains(".SS program run [\\fIOPTIONS\\fR] [\\-\\- \\fICOMMAND...\\fR]\nTrain.\n"));
  CHECK_THAT(page, Contains(".TP\n\\fB\\-\\-format\\fR text|json\nhow\n"));
  CHECK_THAT(page, Contains(".SS program check [\\fIOPTIONS\\fR] \\fIRUN\\fR\nAsk.\n.TP\n\\fBRUN\\fR\nwhich\n"));
  CHECK_THAT(page, Contains(".TP\n\\fB75\\fR\n"));
  CHECK_THAT(page, !Contains("help"));
}

TEST_CASE("what several commands have in common is described once") {
  const auto page = manual(program());
  CHECK(page.find("\\-\\-epochs") == page.rfind("\\-\\-epochs"));
  CHECK_THAT(page, Contains("Inputs: same as for \\fBrun\\fR.\n"));
}

TEST_CASE("text is escaped for roff") {
  const auto page = manual(program());
  CHECK_THAT(page, Contains("\n\\&.it\\(aqs 4 \\[u2192] 5\\en\n"));
  CHECK_THAT(page, Contains(".PP\nSome prose.\n.PP\nExamples:\n.PP\n.nf\n# one\nrun \\(aq\\-x\\(aq\n.fi\n"));
  for (const char c : page) CHECK(static_cast<unsigned char>(c) < 0x80);
}
