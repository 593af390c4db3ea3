// SPDX-License-Identifier: Apache-2.0
#include "data/digest.h"

#include "support/catch.h"

using namespace trainstep;

TEST_CASE("SHA-256 gives the published digests") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("base64 survives a round trip (RFC 4648's examples)") {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xFB\xFF", "+/8="}};
  for (const auto& [bytes, text] : cases) {
    CHECK(encode_base64(bytes) == text);
    CHECK(decode_base64(text) == std::string(bytes));
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(decode_base64(encode_base64(all)) == all);
}

TEST_CASE("base64 is read with line breaks and without padding") {
  CHECK(decode_base64("Zm9v\nYmE\r\n") == std::string("fooba"));
  CHECK(decode_base64("Zg") == std::string("f"));
  CHECK(decode_base64("Zg=\n=") == std::string("f"));
}

TEST_CASE("invalid base64 is an error with its position") {
  const std::pair<const char*, const char*> cases[] = {
      {"Zm9-", "not valid base64: '-' at position 4"},     {"Z", "not valid base64: truncated at position 1"},
      {"Zg==Zg==", "not valid base64: 'Z' at position 5"}, {"=", "not valid base64: '=' at position 1"},
      {"Zm9v=", "not valid base64: '=' at position 5"},    {"Zg===", "not valid base64: '=' at position 5"},
      {"Zm é", "not valid base64: 'é' at position 4"}};
  for (const auto& [text, message] : cases) {
    const auto bytes = decode_base64(text);
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().message == message);
    CHECK(bytes.error().kind == ErrorKind::input);
  }
}

TEST_CASE("random names are 32 hexadecimal digits and differ") {
  const auto name = random_hex();
  CHECK(name.size() == 32);
  CHECK(name.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(name != random_hex());
}
