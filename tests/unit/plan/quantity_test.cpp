#include "plan/quantity.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

TEST_CASE("Kubernetes quantities are read with their units and keep their text") {
  struct Row {
    const char* text;
    double value;
  };
  for (const auto& row : std::vector<Row>{{"8", 8},
                                          {"1000m", 1},
                                          {"0.5", 0.5},
                                          {"32Gi", 32.0 * (1ULL << 30U)},
                                          {"1G", 1e9},
                                          {"2Ki", 2048},
                                          {"1e3", 1000},
                                          {"1E", 1e18},
                                          {"2Ei", 2.0 * (1ULL << 60U)},
                                          {"100k", 1e5}}) {
    INFO(row.text);
    const auto quantity = parse_quantity(row.text, "memory");
    REQUIRE(quantity);
    CHECK(quantity->value == Approx(row.value));
    CHECK(quantity->text == row.text);
  }
}

TEST_CASE("what is no quantity is refused, with what was probably meant") {
  for (const auto* text : {"1GB", "1gb", "1GiB", "1gi"}) {
    INFO(text);
    const auto quantity = parse_quantity(text, "worker_memory");
    REQUIRE_FALSE(quantity);
    CHECK(quantity.error().message.find("write 1Gi (powers of 1024) or 1G (powers of 1000)") != std::string::npos);
  }
  for (const auto* text : {"", "Gi", "-1", "1 000", "nan", "inf", "1Gi2", "0x10"}) {
    INFO(text);
    const auto quantity = parse_quantity(text, "worker_memory");
    REQUIRE_FALSE(quantity);
    CHECK(quantity.error().message.find("worker_memory") == 0);
  }
}

TEST_CASE("numbers of pieces are whole") {
  CHECK(parse_count("2.0", "gpus").value() == 2);
  CHECK(parse_count("0", "gpus").value() == 0);
  CHECK_FALSE(parse_count("1.5", "gpus"));
  CHECK_FALSE(parse_count("500m", "gpus"));
  CHECK_FALSE(parse_count("1e30", "gpus"));
}
