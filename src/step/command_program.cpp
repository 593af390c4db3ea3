// SPDX-License-Identifier: Apache-2.0
#include "step/command_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "data/json.h"
#include "data/place.h"

namespace trainstep::step {
namespace {

struct ProgramPath {
  std::string_view name;
  const char* placeholder;  // of the specification
};
constexpr std::array<ProgramPath, 4> paths{
    {{"train_dataset_dir", "inputPath"}, {"validation_dataset_dir", "inputPath"}, {"model_dir", "outputPath"}, {"metrics", "outputPath"}}};

const ProgramPath* find_path(std::string_view name) {
  const auto* found = std::ranges::find(paths, name, &ProgramPath::name);
  return found == paths.end() ? nullptr : found;
}

// The path that `name` resembles, as its flag is spelled or misspelled: model-dir, Model_Dir, model_dri. With blanks around it, it must be the whole
// name of a folder: "{ metrics }" is code in many languages.
std::optional<std::string> nearest_path(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& path : paths) names.emplace_back(path.name);
  if (name.find(' ') == std::string_view::npos) return nearest(name, names);
  auto plain = lower(trim(name));
  std::ranges::replace(plain, '-', '_');
  return plain.find('_') != std::string::npos && find_path(plain) != nullptr ? std::optional(plain) : std::nullopt;
}

Json placeholder(const ProgramPath& path) { return Json{{path.placeholder, std::string(path.name)}}; }

// "NAME}" at the front; nullopt: none.
std::optional<std::string_view> name_before_brace(std::string_view text) {
  const auto in_name = [](char c) { return c == '_' || c == '-' || c == ' ' || is_digit(c) || is_letter(c); };
  const auto length = static_cast<std::size_t>(std::ranges::find_if_not(text, in_name) - text.begin());
  if (length == 0 || length == text.size() || text[length] != '}') return std::nullopt;
  return text.substr(0, length);
}

class Word {
 public:
  // The word for the specification; adds the names of its placeholders to `used`.
  Result<Json> read(std::string_view text, std::set<std::string_view>& used) {
    while (!text.empty()) {
      if (text.starts_with('$')) {  // ${NAME}
        pass(text, std::min(text.find_first_not_of('{', 1), text.size()));
      } else if (const auto literal = text.starts_with("{{") ? name_before_brace(text.substr(2)) : std::nullopt;
                 literal && text.substr(3 + literal->size()).starts_with('}') && nearest_path(*literal)) {
        m_literal += text.substr(1, literal->size() + 2);
        text.remove_prefix(literal->size() + 4);
      } else if (const auto name = text.starts_with('{') ? name_before_brace(text.substr(1)) : std::nullopt) {
        TRY(add_name(*name, used));
        text.remove_prefix(name->size() + 2);
      } else {
        pass(text, 1);
      }
    }
    end_literal();
    if (m_parts.size() == 1) return m_parts.front();
    return m_parts.empty() ? Json("") : Json{{"concat", std::move(m_parts)}};
  }

 private:
  void pass(std::string_view& text, std::size_t bytes) {
    m_literal += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }

  Result<void> add_name(std::string_view name, std::set<std::string_view>& used) {
    if (const auto* path = find_path(name)) {
      end_literal();
      m_parts.push_back(placeholder(*path));
      used.insert(path->name);
      return {};
    }
    if (const auto near = nearest_path(name))
      return usage_error(
          fmt::format("{0}: unknown path {{{1}}}; did you mean {{{2}}}? For the text {{{1}}} write {{{{{1}}}}}", plan::command_source, name, *near));
    m_literal += fmt::format("{{{}}}", name);
    return {};
  }

  // The specification has a meaning for {{$…}}, and for {"IfPresent": …} as a whole word; not so in pieces.
  void end_literal() {
    const bool special = m_literal.find("{{$") != std::string::npos || m_literal.find("\"IfPresent\"") != std::string::npos ||
                         m_literal.find("\"Concat\"") != std::string::npos;
    std::size_t begin = 0;
    for (auto brace = m_literal.find('{'); special && brace != std::string::npos; brace = m_literal.find('{', begin)) {
      m_parts.push_back(m_literal.substr(begin, brace + 1 - begin));
      begin = brace + 1;
    }
    if (begin < m_literal.size()) m_parts.push_back(m_literal.substr(begin));
    m_literal.clear();
  }

  std::string m_literal;
  Json m_parts = Json::array();
};

Result<void> check(const std::vector<std::string>& words, const plan::Request& request) {
  if (!trim(request.train_specification).empty())
    return usage_error("train_specification cannot be combined with a command after --; omit one of them");
  if (!request.train_parameters.empty())
    return usage_error("train_parameters cannot be combined with a command after --; write the values into the command");
  if (words.empty()) return usage_error("expected a command after --, such as python3 train.py");
  for (std::size_t i = 0; i < words.size(); ++i)
    if (find_invalid_utf8(words[i]))
      return usage_error(fmt::format("{}: word {} is not valid UTF-8; pass it through a file or a variable", plan::command_source, i + 1));
  return {};
}

// In upper case: TRAINSTEP_MODEL_DIR.
std::string variable_of(const ProgramPath& path) {
  std::string name = "TRAINSTEP_";
  for (const char c : path.name) name += c == '_' ? c : static_cast<char>(c - 'a' + 'A');
  return name;
}

}  // namespace

Result<std::string> specification_of(const std::vector<std::string>& words, const plan::Request& request) {
  TRY(check(words, request));
  std::set<std::string_view> used;
  Json command = Json::array();
  for (const auto& word : words) {
    ASSIGN(auto read, Word().read(word, used));
    command.push_back(std::move(read));
  }
  for (const auto* given : {&request.inputs, &request.outputs})
    for (const auto& path : *given)
      if (const auto* known = find_path(path.name)) used.insert(known->name);
  Json environment = Json::object();
  for (const auto& path : paths)
    if (used.contains(path.name)) environment[variable_of(path)] = placeholder(path);
  return to_text(Json{{"image", ""}, {"command", std::move(command)}, {"env", std::move(environment)}});
}

}  // namespace trainstep::step
