// SPDX-License-Identifier: Apache-2.0
#include "data/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <streambuf>
#include <utility>

#include "data/json_reader.h"
#include "data/place.h"
#include "data/tree.h"
#include "data/yaml_quoted.h"
#include "data/yaml_scalar.h"

namespace trainstep {
namespace {

constexpr std::string_view yaml_tag = "tag:yaml.org,2002:";

// Exits from yaml-cpp's callbacks; caught in parse_events.
struct Stop {
  Error error;
};

// An unfinished collection.
struct Open {
  std::size_t at = 0;
  YAML::anchor_t anchor = 0;
  bool flow = false;  // written with brackets
};

enum class Numbers { finite, all };

class YamlHandler : public YAML::EventHandler {
 public:
  YamlHandler(std::string_view text, std::string_view what, const ReadLimits& limits, Numbers numbers)
      : m_text(text), m_what(what), m_tree(limits), m_non_finite(numbers == Numbers::all) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    m_anchors.clear();
    // yaml-cpp produces an endless series of empty documents for a character that it never consumes.
    if (m_documents > 0 && offset(mark) == m_last_document)
      fail(offset(mark), fmt::format("a value cannot start with {}; quote it", show_character(m_text, offset(mark))));
    m_last_document = offset(mark);
    if (m_documents++ > 0 && !separated(offset(mark))) fail(offset(mark), "unexpected line; check its indentation (a new document starts with ---)");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = offset(mark);
    if (m_tree.wants_key()) fail(at, "missing or null key; put it in quotes if it is a string");
    if (m_tree.in_object() && !m_open.back().flow && at == m_last_key) fail(at, "missing colon after this key");
    finish(at, anchor, Json());
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = m_anchors.find(anchor);
    if (found == m_anchors.end()) fail(offset(mark), "this alias is inside the value it refers to");
    const auto& [json, size] = found->second;
    if (m_tree.wants_key()) return take_key(offset(mark), json);
    check(offset(mark), m_tree.tree(json, size));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    const auto at = offset(mark);
    if (m_tree.wants_key() && ((tag == "?" && value == "<<") || tag == "tag:yaml.org,2002:merge")) {
      m_last_key = at;
      return check(at, m_tree.merge_key());
    }
    auto quoted = tag == "?" ? std::nullopt : read_quoted(m_text, at);
    if (quoted && !quoted->text) fail(quoted->at, "unterminated string");
    if (!quoted && find_invalid_utf8(value)) fail(at, "unsupported escape in this string (\\N and \\_); write the character itself");
    auto json = resolve(tag, quoted ? *quoted->text : value);
    if (!json) fail(at, json.error().message);
    if (m_tree.wants_key()) {
      if (anchor != 0) remember(at, anchor, *json);
      return take_key(at, *json);
    }
    finish(at, anchor, std::move(*json));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style) override {
    start(mark, tag, "seq", {offset(mark), anchor, style == YAML::EmitterStyle::Flow});
    check(offset(mark), m_tree.begin_list());
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style) override {
    start(mark, tag, "map", {offset(mark), anchor, style == YAML::EmitterStyle::Flow});
    check(offset(mark), m_tree.begin_object());
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

  // The finished document, if any.
  std::optional<Json> take_document() {
    if (!m_tree.has_root()) return std::nullopt;
    return m_tree.take_root();
  }

  // Converts an error of the parser itself.
  Error explain(const YAML::ParserException& error) const;
  Error explain_depth(const YAML::DeepRecursion& error) const { return error_at(m_what, m_text, offset(error.mark), "nested too deeply"); }

 private:
  [[nodiscard]] std::size_t offset(const YAML::Mark& mark) const { return std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), m_text.size()); }
  [[noreturn]] void fail(std::size_t at, std::string_view problem) const { throw Stop{error_at(m_what, m_text, at, problem)}; }
  void check(std::size_t at, const Problem& problem) const {
    if (problem) fail(at, *problem);
  }

  [[nodiscard]] Result<Json> resolve(const std::string& tag, const std::string& value) const {
    if (tag == "?") return resolve_plain(value, m_non_finite);
    if (tag == "!" || tag.empty()) return Json(value);
    if (!tag.starts_with(yaml_tag)) return input_error(fmt::format("unsupported tag {}", show_text(tag)));
    return resolve_tagged(std::string_view(tag).substr(yaml_tag.size()), value);
  }

  void start(const YAML::Mark& mark, const std::string& tag, std::string_view type, Open open) {
    if (m_tree.wants_key())
      fail(offset(mark), open.flow ? "a key cannot be a list or an object; is a closing bracket missing?" : "a key cannot be a list or an object");
    if (tag != "?" && tag != "!" && !tag.empty() && tag != std::string(yaml_tag).append(type))
      fail(offset(mark), fmt::format("unsupported tag {}", show_text(tag)));
    m_open.push_back(open);
  }
  void end() {
    const auto open = m_open.back();
    m_open.pop_back();
    check(open.at, m_tree.end());
    if (open.anchor != 0) remember(open.at, open.anchor, m_tree.last());
  }
  void take_key(std::size_t at, const Json& json) {
    const auto* name = json.get_ptr<const Json::string_t*>();
    if (name == nullptr)
      fail(at,
           fmt::format("expected a string as key, got {}{}", type_name(json), json.is_structured() ? "" : "; put it in quotes if it is a string"));
    m_last_key = at;
    check(at, m_tree.key(*name));
  }
  void finish(std::size_t at, YAML::anchor_t anchor, Json json) {
    if (anchor != 0) remember(at, anchor, json);
    check(at, m_tree.value(std::move(json)));
  }
  void remember(std::size_t at, YAML::anchor_t anchor, const Json& json) {
    const auto size = size_of(json);
    check(at, m_tree.count(size.nodes, size.bytes));
    m_anchors[anchor] = {json, size};
  }

  // Whether a document that starts at `at` is separated from the previous one by --- or "...".
  [[nodiscard]] bool separated(std::size_t at) const {
    if (m_text.substr(at).starts_with("---")) return true;
    for (auto before = m_text.substr(0, at); !before.empty();) {
      if (before.back() == '\n') before.remove_suffix(1);
      const auto line = before.substr(before.rfind('\n') + 1);
      if (line.starts_with("...")) return true;
      const auto first = line.find_first_not_of(" \t\r");
      if (first != std::string_view::npos && line[first] != '#') return false;
      before.remove_suffix(line.size());
    }
    return false;
  }

  std::string_view m_text;
  std::string_view m_what;
  TreeBuilder m_tree;
  bool m_non_finite;
  std::vector<Open> m_open;
  std::map<YAML::anchor_t, std::pair<Json, TreeSize>> m_anchors;
  std::size_t m_last_key = std::string_view::npos;
  std::size_t m_last_document = 0;
  std::size_t m_documents = 0;
};

bool tab_in_indentation(std::string_view text, std::size_t at) {
  const auto line = text.substr(text.substr(0, at).rfind('\n') + 1);
  return line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

// Rewords yaml-cpp's messages (yaml-cpp/exceptions.h). Those not listed here are clear enough.
std::string in_our_words(const std::string& phrase, std::string_view text, std::size_t at) {
  namespace Msg = YAML::ErrorMsg;
  if (phrase == Msg::END_OF_MAP) return "expected \"key: value\" with the indentation of its neighbours";
  if (phrase == Msg::END_OF_SEQ) return "expected a list item \"- value\" with the indentation of its neighbours";
  if (phrase == Msg::MAP_VALUE || phrase == Msg::MAP_KEY)
    return "unexpected \"key: value\"; check the indentation, and quote strings that contain a colon";
  if (phrase == Msg::BLOCK_ENTRY) return "unexpected list item (-); check the indentation";
  if (phrase == Msg::UNKNOWN_TOKEN) return fmt::format("a value cannot start with {}; quote it", show_character(text, at));
  if (phrase == Msg::EOF_IN_SCALAR) return "unterminated string at the end of the text";
  if (phrase == Msg::DOC_IN_SCALAR) return "unterminated string at the end of the document";
  if (phrase == Msg::FLOW_END) return fmt::format("unmatched {}", show_character(text, at));
  if (phrase == Msg::UNKNOWN_ANCHOR) return "this alias (*) refers to an anchor (&) that is not defined before it";
  if (phrase.starts_with(Msg::INVALID_ESCAPE))
    return fmt::format("\\{} is not a valid YAML escape; write a backslash as \\\\, or use single quotes",
                       phrase.substr(std::string_view(Msg::INVALID_ESCAPE).size()));
  return phrase;
}

Error YamlHandler::explain(const YAML::ParserException& error) const {
  auto at = offset(error.mark);
  if (error.msg.starts_with(YAML::ErrorMsg::INVALID_ESCAPE)) at -= std::min<std::size_t>(at, 2);  // the mark is after the escape
  if (error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW || error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW) {
    const auto bracket = std::ranges::find_if(m_open.rbegin(), m_open.rend(), [](const Open& open) { return open.flow; });
    if (bracket != m_open.rend())
      return error_at(m_what, m_text, bracket->at,
                      fmt::format("the {} opened here is not closed, or is missing a comma", show_character(m_text, bracket->at)));
  }
  if (tab_in_indentation(m_text, at)) return error_at(m_what, m_text, at, "tab in the indentation; YAML requires spaces");
  return error_at(m_what, m_text, at, in_our_words(error.msg, m_text, at));
}

// yaml-cpp reads streams; this one reads the text without a copy.
class ViewStreambuf : public std::streambuf {
 public:
  explicit ViewStreambuf(std::string_view text) {
    auto* first = const_cast<char*>(text.data());  // a get area is never written to
    setg(first, first, first + text.size());
  }
};

// yaml-cpp keeps every bracket of an unfinished flow collection in memory, about 230 bytes each, before it reports the first: a text with this many
// more opening than closing brackets, whatever they mean, is an attack.
std::optional<std::size_t> find_bracket_bomb(std::string_view text) {
  constexpr std::size_t most = 100'000;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' || text[at] == '{') ++depth;
    if ((text[at] == ']' || text[at] == '}') && depth > 0) --depth;
    if (depth > most) return at;
  }
  return std::nullopt;
}

// Characters that YAML forbids and yaml-cpp accepts (it even treats U+0004 as the end of the text).
std::optional<std::size_t> find_control_character(std::string_view text) {
  const auto found =
      std::ranges::find_if(text, [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F; });
  if (found == text.end()) return std::nullopt;
  return static_cast<std::size_t>(found - text.begin());
}

Result<std::vector<Json>> parse_events(std::string_view text, std::string_view what, const ReadLimits& limits, Numbers numbers) {
  if (const auto at = find_control_character(text))
    return error_at(what, text, *at,
                    fmt::format("{}; YAML allows it only as an escape in double quotes (\\x{:02x})", show_character(text, *at), text[*at]));
  if (const auto at = find_bracket_bomb(text)) return error_at(what, text, *at, fmt::format("nested deeper than {} levels", limits.depth));
  YamlHandler handler(text, what, limits, numbers);
  ViewStreambuf lent(text);
  std::istream stream(&lent);
  std::vector<Json> documents;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler))
      if (auto document = handler.take_document()) documents.push_back(std::move(*document));
  } catch (Stop& stop) {
    return std::move(stop.error);
  } catch (const YAML::DeepRecursion& error) {
    return handler.explain_depth(error);
  } catch (const YAML::ParserException& error) {
    return handler.explain(error);
  } catch (const YAML::Exception& error) {
    return input_error(fmt::format("{}: {}", what, error.msg));
  }
  return documents;
}

// A text that starts like this is more likely invalid JSON than invalid YAML.
bool looks_like_json(std::string_view text) {
  const auto second = text.find_first_not_of(" \t\r\n", text.find_first_of("{[") + 1);
  return second != std::string_view::npos && (text[second] == '"' || text[second] == '{' || text[second] == '[');
}

Result<std::vector<Json>> parse_documents(std::string_view text, std::string_view what, const ReadLimits& limits, Numbers numbers) {
  ASSIGN(const auto checked, check_text(text, what, limits));
  const auto first = checked.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (checked[first] != '{' && checked[first] != '[')) return parse_events(checked, what, limits, numbers);
  // JSON is YAML, but its own reader is faster and has better messages.
  auto reading = read_json(checked, what, limits);
  if (reading.json) {
    std::vector<Json> documents;
    documents.push_back(std::move(*reading.json));
    return documents;
  }
  if (reading.fault == JsonFault::rule || (reading.fault == JsonFault::word && looks_like_json(checked))) return std::move(reading.error);
  auto documents = parse_events(checked, what, limits, numbers);
  if (!documents && looks_like_json(checked)) return std::move(reading.error);
  return documents;
}

}  // namespace

Result<std::vector<Json>> parse_yaml_documents(std::string_view text, std::string_view what, const ReadLimits& limits) {
  return parse_documents(text, what, limits, Numbers::finite);
}

Result<std::vector<Json>> parse_python_yaml_documents(std::string_view text, std::string_view what) {
  return parse_documents(text, what, {}, Numbers::all);
}

Result<Json> parse_yaml(std::string_view text, std::string_view what, const ReadLimits& limits) {
  ASSIGN(auto documents, parse_yaml_documents(text, what, limits));
  std::erase_if(documents, [](const Json& document) { return document.is_null(); });  // empty documents
  if (documents.empty()) return Json();
  if (documents.size() > 1) return input_error(fmt::format("{}: expected one document, got {} (separated by ---)", what, documents.size()));
  return std::move(documents.front());
}

}  // namespace trainstep
