// SPDX-License-Identifier: Apache-2.0
#include "local/packages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace trainstep::local {
namespace {

struct Token {
  std::string text;
  bool quoted = false;
};

// Words and operators of a simple shell script; nullopt if it contains anything whose meaning depends on more than its text.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view script) : m_rest(script) {}

  std::optional<std::vector<Token>> tokens() {
    std::vector<Token> result;
    while (true) {
      m_rest = trim(m_rest);
      if (m_rest.empty()) return result;
      auto token = next();
      if (!token) return std::nullopt;
      result.push_back(std::move(*token));
    }
  }

 private:
  std::optional<Token> next() {
    for (const std::string_view symbol : {"&&", "||", "(", ")", R"("$0")", R"("$@")"})
      if (m_rest.starts_with(symbol)) {
        m_rest.remove_prefix(symbol.size());
        return Token{std::string(symbol), false};
      }
    Token word;
    while (!m_rest.empty() && std::string_view(" \t\r\n()&|;").find(m_rest.front()) == std::string_view::npos)
      if (!append_part(word)) return std::nullopt;
    if (word.text.empty() && !word.quoted) return std::nullopt;  // an unknown operator
    return word;
  }

  bool append_part(Token& word) {
    const char first = m_rest.front();
    if (first != '\'' && first != '"') {
      if (std::string_view("$`\\*?[#~<>{").find(first) != std::string_view::npos) return false;
      word.text += first;
      m_rest.remove_prefix(1);
      return true;
    }
    const auto end = m_rest.find(first, 1);
    if (end == std::string_view::npos) return false;
    const auto inner = m_rest.substr(1, end - 1);
    if (first == '"' && inner.find_first_of("$`\\") != std::string_view::npos) return false;
    word.text += inner;
    word.quoted = true;
    m_rest.remove_prefix(end + 1);
    return true;
  }

  std::string_view m_rest;
};

// Removes the text from `begin` to the end of `end`; false if it is not found.
bool cut(std::string& script, std::string_view begin, std::string_view end) {
  const auto first = script.find(begin);
  if (first == std::string::npos) return false;
  const auto last = script.find(end, first);
  if (last == std::string::npos) return false;
  script.erase(first, last + end.size() - first);
  return true;
}

bool contains(const auto& list, const std::string& text) { return std::find(list.begin(), list.end(), text) != list.end(); }

// Parses `python3 -m pip install …` from `at` on; returns its end, or nullopt if a word is not understood.
std::optional<std::size_t> read_pip(const std::vector<Token>& tokens, std::size_t at, std::vector<std::string>& requirements) {
  constexpr std::array<std::string_view, 8> flags{"--quiet",
                                                  "-q",
                                                  "--no-warn-script-location",
                                                  "--no-deps",
                                                  "--user",
                                                  "--no-cache-dir",
                                                  "--disable-pip-version-check",
                                                  "--root-user-action=ignore"};
  constexpr std::array<std::string_view, 5> with_value{"--index-url", "-i", "--extra-index-url", "--trusted-host", "--find-links"};
  if (at < tokens.size() && tokens[at].text == "PIP_DISABLE_PIP_VERSION_CHECK=1") ++at;
  for (const std::string_view word : {"python3", "-m", "pip", "install"})
    if (at >= tokens.size() || (tokens[at].text != word && !(word == "python3" && tokens[at].text == "python")))
      return std::nullopt;
    else
      ++at;
  for (; at < tokens.size(); ++at) {
    const auto& [text, quoted] = tokens[at];
    if (!quoted && (text == "&&" || text == "||" || text == ")")) return at;
    if (contains(flags, text)) continue;
    if (contains(with_value, text)) {
      ++at;
      continue;
    }
    if (text.empty() || text.front() == '-') return std::nullopt;
    if (!contains(requirements, text)) requirements.push_back(text);
  }
  return std::nullopt;  // nothing runs after it
}

std::optional<Installer> read_script(std::string script) {
  Installer installer;
  cut(script, "if ! [ -x \"$(command -v pip)\" ]; then\n", "\nfi\n");
  installer.makes_environment = cut(script, "\nexport PIP_DISABLE_PIP_VERSION_CHECK=1\ntmp=$(mktemp -d)\npython3 -m venv", "/bin/activate\"\n");
  if (trim(script).find('\n') != std::string_view::npos) return std::nullopt;  // another command
  auto tokens = Tokenizer(script).tokens();
  if (!tokens || tokens->size() < 3) return std::nullopt;
  for (const std::string_view last : {R"("$@")", R"("$0")", "&&"}) {
    if (tokens->empty() || tokens->back().text != last) return std::nullopt;
    tokens->pop_back();
  }
  tokens->push_back({")", false});
  std::size_t at = tokens->front().text == "(" ? 1 : 0;
  while (true) {
    const auto end = read_pip(*tokens, at, installer.requirements);
    if (!end) return std::nullopt;
    if ((*tokens)[*end].text == ")") return *end + 2 >= tokens->size() && !installer.requirements.empty() ? std::optional(installer) : std::nullopt;
    at = *end + 1;
  }
}

bool is_shell(const std::string& word) {
  const auto name = word.substr(word.rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "dash";
}

}  // namespace

std::vector<Installer> find_installers(const std::vector<std::string>& argv) {
  std::vector<Installer> installers;
  for (std::size_t i = 2; i < argv.size(); ++i) {
    if (!is_shell(argv[i - 2]) || (argv[i - 1] != "-c" && argv[i - 1] != "-ec") || argv[i].find("-m pip install") == std::string::npos) continue;
    auto installer = read_script(argv[i]);
    if (!installer) continue;
    installer->word = i;
    installers.push_back(std::move(*installer));
  }
  return installers;
}

std::vector<std::string> install_command(const std::vector<std::string>& argv, const Installer& installer) {
  return {argv[installer.word - 2], argv[installer.word - 1], argv[installer.word], "true"};
}

std::vector<std::string> without(std::vector<std::string> argv, const Installer& installer) {
  argv[installer.word] = R"(exec "$0" "$@")";
  return argv;
}

const std::string_view missing_packages_program = R"PY(
import re, sys
from importlib import metadata

try:
    from packaging.requirements import Requirement
except ImportError:
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:
        Requirement = None


def numbers(version):
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise ValueError(version)
    digits = [int(part) for part in version.split(".")]
    while digits and digits[-1] == 0:
        digits.pop()
    return digits


def holds(version, operator, wanted):
    if operator == "==" and wanted.endswith(".*"):
        return version == wanted[:-2] or version.startswith(wanted[:-1])
    if operator == "~=":
        return numbers(version) >= numbers(wanted) and version.startswith(wanted.rpartition(".")[0] + ".")
    a, b = numbers(version), numbers(wanted)
    return {"==": a == b, "!=": a != b, ">=": a >= b, "<=": a <= b, ">": a > b, "<": a < b}[operator]


def simply_satisfied(text):
    text, _, marker = text.partition(";")
    if marker:
        operator, wanted = re.fullmatch(r"\s*python_version\s*([<>=!]=?)\s*[\"']([\d.]+)[\"']\s*", marker).groups()
        if not holds("%d.%d" % sys.version_info[:2], operator, wanted):
            return True
    name, rest = re.fullmatch(r"\s*([\w.-]+)\s*(.*?)\s*", text).groups()
    version = metadata.version(name)
    return all(holds(version, *re.fullmatch(r"\s*([<>=!~]=?)\s*([\w.*]+)\s*", part).groups()) for part in rest.split(",") if part)


def satisfied(requirement, extra=""):
    if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
        return True
    if requirement.url or not requirement.specifier.contains(metadata.version(requirement.name), prereleases=True):
        return False
    needs = [Requirement(line) for line in metadata.requires(requirement.name) or []]
    return all(satisfied(need, extra) for extra in requirement.extras for need in needs if need.marker and "extra" in str(need.marker))


for text in sys.argv[1:]:
    try:
        if satisfied(Requirement(text)) if Requirement else simply_satisfied(text):
            continue
    except Exception:
        pass
    print(text)
)PY";

}  // namespace trainstep::local
