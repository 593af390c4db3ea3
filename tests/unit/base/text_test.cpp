// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include "support/catch.h"

using namespace trainstep;
using Parts = std::vector<std::string_view>;

TEST_CASE("text is trimmed, split and joined") {
  CHECK(lower("AbC-Ä") == "abc-Ä");
  CHECK(trim(" \t x y\r\n") == "x y");
  CHECK(trim(" \n").empty());
  CHECK(split("a,,b,", ',') == Parts{"a", "", "b", ""});
  CHECK(split("", ',') == Parts{""});
  CHECK(join({"a", "", "b"}, ", ") == "a, , b");
  CHECK(join({}, ", ").empty());
  CHECK(join({"a", "a"}, "+") == "a+a");
}

TEST_CASE("the nearest candidate is what was meant, or nothing") {
  const std::vector<std::string> keys{"number_of_workers", "worker_cpus", "worker_gpus", "distribution_type"};
  CHECK(nearest("numberOfWorkers", keys) == "number_of_workers");
  CHECK(nearest("worker-cpu", keys) == "worker_cpus");
  CHECK(nearest("Worker GPUs", keys) == "worker_gpus");
  CHECK(nearest("distributon_type", keys) == "distribution_type");
  CHECK_FALSE(nearest("epochs", keys));
  CHECK_FALSE(nearest("", keys));
  CHECK_FALSE(nearest("x", {}));
  CHECK_FALSE(nearest(std::string(100'000, 'x'), keys));
}
