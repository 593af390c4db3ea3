// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "data/place.h"
#include "data/yaml.h"

namespace trainstep {
namespace {

// Words that some YAML version reads as boolean or null, and a few that people would.
constexpr std::array<std::string_view, 14> special_words{"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "null", "none", "nan", "inf"};

// "10Gi", "500m", "1.5G": Kubernetes quantities, which no reader takes for numbers.
bool is_quantity(std::string_view text) {
  constexpr std::array<std::string_view, 9> units{"Ki", "Mi", "Gi", "Ti", "Pi", "m", "M", "G", "T"};
  const auto unit = text.find_first_not_of("0123456789.");
  return unit != std::string_view::npos && is_digit(text.front()) && std::ranges::find(units, text.substr(unit)) != units.end();
}

// Conservative: quotes everything that is not plainly a word, a path, a name or an image.
bool may_be_plain(std::string_view text) {
  if (text.empty() || text.size() > 1000 || text.back() == ' ' || text.back() == ':') return false;
  if (is_quantity(text)) return true;
  if (!is_letter(text.front()) && text.front() != '/' && text.front() != '_') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_letter(c) && !is_digit(c) && std::string_view("_./@+=,;()-<>~ :$").find(c) == std::string_view::npos) return false;
    if (c == ':' && text[i + 1] == ' ') return false;
  }
  return std::ranges::find(special_words, lower(text)) == special_words.end();
}

struct Escape {
  std::size_t size;  // of the character in bytes
  std::string written;
};

// Non-ASCII characters that YAML treats as line breaks, skips, or does not allow unescaped.
std::optional<Escape> unprintable_character(std::string_view text) {
  if (text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0)
    return Escape{2, fmt::format("\\x{:02x}", static_cast<unsigned char>(text[1]))};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> others{
      {{"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}, {"\uFEFF", "\\ufeff"}, {"\uFFFE", "\\ufffe"}, {"\uFFFF", "\\uffff"}}};
  for (const auto& [character, written] : others)
    if (text.starts_with(character)) return Escape{character.size(), std::string(written)};
  return std::nullopt;
}

// Whether the text needs no escapes, apart from line breaks and tabs.
bool is_printable(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) return false;
    if (c < 0 && unprintable_character(text.substr(at))) return false;
  }
  return !find_invalid_utf8(text);
}

// Several lines; the first begins with a visible character (otherwise an indentation indicator would be needed) and no line consists of blanks only.
bool may_be_block(std::string_view text) {
  const auto first_break = text.find('\n');
  if (first_break == std::string_view::npos || text.front() == '\n' || text.front() == ' ' || text.front() == '\t') return false;
  for (const auto line : split(text, '\n'))
    if (!line.empty() && line.find_first_not_of(" \t") == std::string_view::npos) return false;
  return is_printable(text);
}

// In double quotes, on one line. JSON's escapes would not do: it writes characters beyond U+FFFF as surrogate pairs, which YAML rejects.
std::string quoted(const std::string& text) {
  if (find_invalid_utf8(text)) return quoted(Json::parse(to_text(Json(text))).get<std::string>());
  if (is_printable(text) && text.find_first_of("\"\\\n\t") == std::string::npos) return '"' + text + '"';
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (const auto simple = std::string_view("\n\t\r").find(c); simple != std::string_view::npos) {
      result += {'\\', "ntr"[simple]};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\x{:02x}", c);
    } else if (const auto escape = unprintable_character(std::string_view(text).substr(at))) {
      result += escape->written;
      at += escape->size - 1;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string scalar(const Json& json) {
  if (const auto* text = json.get_ptr<const Json::string_t*>()) return may_be_plain(*text) ? *text : quoted(*text);
  auto written = to_text(json);
  if (!json.is_number_float()) return written;
  // YAML 1.1 requires a decimal point before an exponent.
  if (const auto exponent = written.find('e'); exponent != std::string::npos && written.find('.') == std::string::npos)
    written.insert(exponent, ".0");
  return written;
}

std::string escaped_for_pointer(std::string_view key) {
  std::string result;
  for (const char c : key) result += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return result;
}

class Writer {
 public:
  explicit Writer(const YamlComment& comment) : m_comment(comment) {}

  std::string write(const Json& json) {
    if (is_block(json)) {
      collection(json, "", 0, false);
    } else {
      leaf(json, "", 0);
    }
    return std::move(m_out);
  }

 private:
  static bool is_block(const Json& json) { return json.is_structured() && !json.empty(); }

  void indent(std::size_t depth) { m_out.append(2 * depth, ' '); }

  void end_line(const std::string& pointer) {
    if (m_comment) {
      if (auto comment = m_comment(pointer)) {
        std::ranges::replace_if(*comment, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
        m_out += "  # " + *comment;
      }
    }
    m_out += '\n';
  }

  // A scalar or an empty collection, on the current line.
  void leaf(const Json& json, const std::string& pointer, std::size_t depth) {
    const auto* text = json.get_ptr<const Json::string_t*>();
    if (text == nullptr || !may_be_block(*text)) {
      m_out += scalar(json);
      return end_line(pointer);
    }
    const auto end = text->find_last_not_of('\n') + 1;
    const auto breaks = text->size() - end;
    m_out += breaks == 0 ? "|-" : breaks == 1 ? "|" : "|+";
    end_line(pointer);
    const auto lines = split(std::string_view(*text).substr(0, breaks == 0 ? end : text->size() - 1), '\n');
    for (const auto line : lines) {
      if (!line.empty()) {
        indent(std::max<std::size_t>(depth, 1));
        m_out += line;
      }
      m_out += '\n';
    }
  }

  void key(const std::string& name) {
    const auto written = may_be_plain(name) ? name : quoted(name);
    constexpr std::size_t max_simple_key_length = 1000;  // readers stop looking for the colon after 1024 characters
    if (written.size() > max_simple_key_length) {
      m_out += "? " + written + '\n';
      indent(m_depth);
    } else {
      m_out += written;
    }
    m_out += ':';
  }

  // `started`: the line already has the "- " of a list item, which the first member follows.
  void collection(const Json& json, const std::string& pointer, std::size_t depth, bool started) {
    if (const auto* object = json.get_ptr<const Json::object_t*>()) {
      for (const auto& [name, member] : *object) {
        if (!std::exchange(started, false)) indent(depth);
        m_depth = depth;
        key(name);
        const auto place = pointer + '/' + escaped_for_pointer(name);
        child(member, place, depth, member.is_array() ? depth : depth + 1);
      }
      return;
    }
    std::size_t index = 0;
    for (const auto& item : json) {
      if (!std::exchange(started, false)) indent(depth);
      m_out += '-';
      item_of_list(item, pointer + '/' + std::to_string(index++), depth);
    }
  }

  void child(const Json& json, const std::string& pointer, std::size_t depth, std::size_t child_depth) {
    if (is_block(json)) {
      end_line(pointer);
      return collection(json, pointer, child_depth, false);
    }
    m_out += ' ';
    leaf(json, pointer, depth + 1);
  }

  void item_of_list(const Json& json, const std::string& pointer, std::size_t depth) {
    const bool commented = m_comment && m_comment(pointer).has_value();
    if (!is_block(json) || commented) return child(json, pointer, depth, depth + 1);
    m_out += ' ';
    collection(json, pointer, depth + 1, true);
  }

  const YamlComment& m_comment;
  std::string m_out;
  std::size_t m_depth = 0;
};

}  // namespace

std::string to_yaml(const Json& json, const YamlComment& comment) { return Writer(comment).write(json); }

}  // namespace trainstep
