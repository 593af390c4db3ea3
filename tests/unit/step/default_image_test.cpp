// The SDK's default image python:3.7.
// SPDX-License-Identifier: Apache-2.0
#include "step/default_image.h"

#include "job_types/job_type.h"
#include "support/catch.h"

using namespace trainstep;
using Catch::Matchers::Contains;

namespace {

// As func_to_component_text writes it.
std::optional<std::string> notice(const std::string& code, const std::string& image = "python:3.7", const std::string& base_image = "") {
  plan::Request request;
  const Json component = {
      {"name", "Train model"},
      {"implementation", {{"container", {{"image", image}, {"command", {"sh", "-ec", "python3 -u \"$0\"", code}}, {"args", Json::array()}}}}}};
  request.train_specification = to_text(component);
  request.base_image = base_image;
  const auto plan = plan::make_plan(request, job_types::traits());
  REQUIRE(plan);
  return step::default_image(*plan);
}

const std::string code = "def train():\n    import os, tensorflow as tf\n    from horovod.keras import callbacks  # all-reduce\n    import json\n";

}  // namespace

TEST_CASE("a default image that lacks an imported package is reported, with the remedy") {
  const auto told = notice(code);
  REQUIRE(told);
  CHECK_THAT(*told, Contains("its image is python:3.7, the default of SDK 1.8, which does not have tensorflow, horovod;"));
  CHECK_THAT(*told, Contains("base_image"));
}

TEST_CASE("an explicitly chosen image is left unchanged") {
  CHECK_FALSE(notice(code, "python:3.11"));
  CHECK_FALSE(notice(code, "python:3.7", "registry.example/train:1"));
}

TEST_CASE("a program that python:3.7 can run is left alone") {
  CHECK_FALSE(notice("import argparse\nfrom collections import OrderedDict\n"));
  CHECK_FALSE(notice("import _thread, xml.dom\n"));
  CHECK_FALSE(notice("'''from the data we import what we need\nimportant: nothing'''\n"));
  CHECK_FALSE(notice("python3 -m pip install --quiet 'tensorflow'\nimport tensorflow\n"));
}
