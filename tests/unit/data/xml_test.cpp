// SPDX-License-Identifier: Apache-2.0
#include "data/xml.h"

#include "support/catch.h"

using namespace trainstep;

TEST_CASE("XML is read as names, texts and children") {
  const auto root = parse_xml(R"(<?xml version="1.0" encoding="UTF-8"?>
<Result xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><s:Key xmlns:s="x"> a &amp; &lt;b&gt; &#252; </s:Key><Key>second</Key><Empty/><A><B>deep</B></A><C><![CDATA[<raw>]]></C></Result>)");
  REQUIRE(root);
  CHECK(root->name == "Result");
  CHECK(root->text_of("Key") == " a & <b> ü ");
  CHECK(root->children.at(1).text == "second");
  CHECK(root->text_of("Empty").empty());
  CHECK(root->text_of("none").empty());
  REQUIRE(root->child("A") != nullptr);
  CHECK(root->child("A")->text_of("B") == "deep");
  CHECK(root->text_of("C") == "<raw>");
}

TEST_CASE("XML that is cut off, too deep or no text is an error") {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (const auto& text : {std::string(), std::string("hello"), std::string("<a><b></a>"), std::string("<a>"), std::string("<a>\xff</a>"), deep}) {
    const auto root = parse_xml(text);
    REQUIRE_FALSE(root);
    CHECK(root.error().kind == ErrorKind::input);
  }
}

TEST_CASE("external entities are not resolved") {
  const auto root = parse_xml(R"(<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>)");
  REQUIRE(root);
  CHECK(root->text == "&x;");
}

TEST_CASE("XML text is escaped and survives a round trip") {
  const std::string text = R"(<a href="x">&amp;</a>)";
  CHECK(parse_xml("<r>" + xml_escaped(text) + "</r>")->text == text);
}
