#include "plan/quantity.h"

#include "plan/memory.h"
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

TEST_CASE("an invalid quantity is rejected with a suggestion") {
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

TEST_CASE("an exponent and a unit are mutually exclusive, as in Kubernetes") {
  for (const auto* text : {"1e3Mi", "1E3k", "1e-3Gi", "2e2m"}) {
    INFO(text);
    const auto quantity = parse_quantity(text, "memory");
    REQUIRE_FALSE(quantity);
    CHECK(quantity.error().message.find("are mutually exclusive") != std::string::npos);
  }
}

TEST_CASE("a memory of a few bytes suggests a missing or wrong unit") {
  struct Row {
    const char* text;
    const char* remedy;
  };
  for (const auto& row : std::vector<Row>{{"512m", "512Mi or 512M"}, {"32", "32Mi or 32Gi"}, {"100k", "100Mi or 100Gi"}, {"1e3", "1Mi or 1Gi"}}) {
    INFO(row.text);
    const auto memory = parse_memory(row.text, "worker_memory");
    REQUIRE_FALSE(memory);
    CHECK(memory.error().message.find(row.remedy) != std::string::npos);
  }
  for (const auto* text : {"0", "1Mi", "1048576", "1M1", "32Gi", "2e9"}) {
    INFO(text);
    CHECK(parse_memory(text, "memory").has_value() == (std::string(text) != "1M1"));
  }
}

TEST_CASE("a count has a limit, which is named") {
  CHECK(parse_count("1000000", "gpus") == 1'000'000);
  CHECK(parse_count("1000001", "gpus").error().message == "gpus: expected an integer from 0 to 1000000, got \"1000001\"");
}

TEST_CASE("counts must be integers") {
  CHECK(parse_count("2.0", "gpus").value() == 2);
  CHECK(parse_count("0", "gpus").value() == 0);
  CHECK_FALSE(parse_count("1.5", "gpus"));
  CHECK_FALSE(parse_count("500m", "gpus"));
  CHECK_FALSE(parse_count("1e30", "gpus"));
}
