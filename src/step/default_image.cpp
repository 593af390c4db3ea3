// SPDX-License-Identifier: Apache-2.0
#include "step/default_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace trainstep::step {
namespace {

constexpr std::string_view unchosen = "python:3.7";

// Of Python 3.7, and what else its image has. With a blank on both sides of each.
constexpr std::string_view known_modules =
    " "
    "abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 "
    "cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser "
    "contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils "
    "doctest dummy_threading email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch formatter "
    "fractions ftplib functools gc genericpath getopt getpass gettext glob grp gzip hashlib heapq hmac html http imaplib "
    "imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap "
    "marshal math mimetypes mmap modulefinder multiprocessing netrc nis nntplib ntpath numbers opcode operator optparse os "
    "ossaudiodev parser pathlib pdb pickle pickletools pip pipes pkg_resources pkgutil platform plistlib poplib posix "
    "posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pyexpat queue quopri random re readline reprlib resource "
    "rlcompleter runpy sched secrets select selectors setuptools shelve shlex shutil signal site smtpd smtplib sndhdr socket "
    "socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess "
    "sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this threading time "
    "timeit tkinter token tokenize trace traceback tracemalloc tty turtle types typing unicodedata unittest urllib uu uuid "
    "venv warnings wave weakref webbrowser wheel wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib ";

bool is_known(std::string_view module) {
  return module.starts_with('_') || known_modules.find(fmt::format(" {} ", module)) != std::string_view::npos;
}

std::string_view word_at(std::string_view text) {
  const auto in_name = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, in_name) - text.begin()));
}

void add(std::vector<std::string>& modules, std::string_view module) {
  if (!module.empty() && !is_known(module) && std::ranges::find(modules, module) == modules.end()) modules.emplace_back(module);
}

// `import a.b as c, d` and `from a.b import c`; nothing for a line that only looks like one.
void add_imports(std::vector<std::string>& modules, std::string_view line) {
  constexpr std::string_view import = "import ", from = "from ";
  line = trim(line.substr(0, line.find('#')));
  if (line.starts_with(from)) {
    const auto rest = trim(line.substr(from.size()));
    const auto place = rest.substr(0, rest.find(' '));
    if (trim(rest.substr(place.size())).starts_with(import)) add(modules, word_at(place));
  }
  if (!line.starts_with(import)) return;
  for (const auto part : split(line.substr(import.size()), ',')) add(modules, word_at(trim(part)));
}

struct Found {
  bool installs = false;  // packages_to_install
  std::vector<std::string> modules;
};

Found look_through(const spec::Program& program) {
  Found found;
  for (const auto* words : {&program.command, &program.args})
    for (const auto& word : *words) {
      if (word.kind != spec::Argument::Kind::text) continue;
      found.installs = found.installs || word.text.find("pip install") != std::string::npos;
      for (const auto line : split(word.text, '\n')) add_imports(found.modules, line);
    }
  return found;
}

}  // namespace

std::optional<std::string> default_image(const plan::Plan& plan) {
  if (plan.image.value != unchosen || plan.image.source != "train_specification" || plan.program.dialect != spec::Dialect::v1) return std::nullopt;
  const auto found = look_through(plan.program);
  if (found.installs || found.modules.empty()) return std::nullopt;
  return fmt::format(
      "train_specification: its image is {}, the default of SDK 1.8, which does not have {}; choose one that does, in func_to_component_text(..., "
      "base_image=...) or base_image of the step, or install the missing packages (packages_to_install)",
      unchosen, join(found.modules, ", "));
}

}  // namespace trainstep::step
