// SPDX-License-Identifier: Apache-2.0
#include "spec/placeholders.h"

#include "unit/spec/support.h"

using namespace trainstep;
using namespace trainstep::spec;
using Catch::Matchers::Contains;

TEST_CASE("v2 keys in a text become arguments") {
  struct Row {
    const char* text;
    const char* tree;
  };
  for (const auto& row : std::vector<Row>{
           {"", "''"},
           {"plain", "'plain'"},
           {"{{$}}", "executor_input"},
           {"{{$.inputs.parameters['x']}}", "value(x)"},
           {"{{$.inputs.parameters[\"x y\"]}}", "value(x y)"},
           {"{{$.inputs.artifacts['d'].path}}", "path(d)"},
           {"{{$.inputs.artifacts['d'].uri}}", "uri(d)"},
           {"{{$.outputs.parameters['o'].output_file}}", "out(o)"},
           {"{{$.outputs.artifacts['m'].path}}", "out(m)"},
           {"{{$.outputs.artifacts['m'].uri}}", "out_uri(m)"},
           {"{{$.outputs.output_file}}", "output_file"},
           {"a{{$.inputs.parameters['x']}}b{{$}}", "concat('a' value(x) 'b' executor_input)"},
           {"{{$.inputs.parameters['x']}}{{$.inputs.parameters['y']}}", "concat(value(x) value(y))"},
           {"{{$.other}} {{workflow.name}} {{$", "'{{$.other}} {{workflow.name}} {{$'"},
           {"{{$.other {{$}}", "concat('{{$.other ' executor_input)"},
           {"{\"a\": 1}", "'{\"a\": 1}'"},
           {"{\"Concat\": [\"a\", \"{{$.inputs.parameters['x']}}\"]}", "concat('a' value(x))"},
           {" { \"IfPresent\": {\"InputName\": \"x\", \"Then\": [\"a\", \"b\"], \"Else\": \"c\"}}", "present(x ? 'a' 'b' : 'c')"},
           {R"({"IfPresent": {"InputName": "x", "Then": {"Concat": ["a", {"IfPresent": {"InputName": "y", "Then": "b"}}]}}})",
            "present(x ? concat('a' present(y ? 'b' : )) : )"},
       }) {
    INFO(row.text);
    const auto argument = read_v2_text(row.text, "args[0]");
    REQUIRE(argument);
    CHECK(show(*argument) == row.tree);
  }
}

TEST_CASE("v2 keys that cannot be filled in are rejected") {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {"{{$.inputs.artifacts['d'].metadata['x']}}", "args[0]: {{$.inputs.artifacts['d'].metadata['x']}} is not supported; expected one of"},
           {"{{$.inputs.artifacts['d']}}", "is not supported; expected one of"},
           {"{{$.inputs.parameters['x}}", "is not supported; expected one of"},
           {"x {{$.pipeline_job_name}}", "args[0]: {{$.pipeline_job_name}} is not supported; expected one of"},
           {"{\"Concat\": \"x\"}", "args[0]: expected a string, {\"Concat\": [...]}"},
           {"{\"Concat\": [3]}", "args[0].Concat[0]: expected a string"},
           {"{\"IfPresent\": {\"Then\": \"x\"}}", "args[0]: expected a string"},
           {"{\"IfPresent\": {}, }", "args[0]: line 1"},
       }) {
    INFO(row.text);
    const auto argument = read_v2_text(row.text, "args[0]");
    REQUIRE_FALSE(argument);
    CHECK_THAT(argument.error().message, Contains(row.message));
  }
}
