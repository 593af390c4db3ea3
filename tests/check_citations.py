#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a reader can open what comments and pages cite: check_citations.py [ROOT].

Errors, in comments of src, tests, sdk, tools and cmake and in Markdown: a page that is not in the repository, a section that its page does not have
("docs/PAGE, SECTION"), a missing ADR, the section sign; in Markdown and notebooks also broken links within this repository. A page is a name that ends in
".md"; it is searched for in the repository's root, docs/, docs/design/ and the folder of the citing file. NNNN stands for any number.
"""
import functools
import io
import os
import pathlib
import re
import sys
import tokenize

CODE = ("src", "tests", "sdk", "tools", "cmake")
NO_SOURCES = {"build", "corpus", "__pycache__"}  # folders
CPP = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|(?P<comment>//[^\n]*|/\*.*?\*/)""", re.DOTALL)
HASH = re.compile(r"(?:^|(?<=\s))(?P<comment>#[^\n]*)", re.MULTILINE)
ADDRESS = re.compile(r"\w+://\S+")
PAGE = re.compile(r"(?<![\w.*/-])([\w./-]*[\w-]\.md)\b(?=(?:,\s([^;]+))?)")
RECORD = re.compile(r"\bADRs? (\d+)\b|docs/adr/(\d{4})(?![\d-])")
LINK = re.compile(r"""\]\(([^)\s]+)\)|\b(?:src|srcset|href)=\\?"([^"\\]+)""")
LINK_OR_ADDRESS = re.compile(rf"{LINK.pattern}|{ADDRESS.pattern}")
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)


def files_of(root):
    """(path, whether it is Markdown or a notebook) of everything that may cite."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NO_SOURCES and not name.startswith("."))
        for path in (pathlib.Path(folder, name) for name in sorted(names)):
            if not path.is_file():
                continue
            if path.suffix in {".md", ".ipynb"}:
                yield path, True
            elif path.relative_to(root).parts[0] in CODE and is_source(path):
                yield path, False


def is_source(path):
    if path.suffix:
        return path.suffix in {".cpp", ".h", ".py", ".sh", ".cmake", ".toml"} or path.name == "CMakeLists.txt"
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def comments_of_python(text):
    """(line, text) of comments and of texts that are a statement, as docstrings are."""
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            yield token.start[0], token.string
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            begins = token.type in {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def comments_of(path, text):
    """(line, text) of each comment."""
    if path.suffix == ".py" or re.match(r"#!.*python", text):
        yield from comments_of_python(text)
        return
    for found in (CPP if path.suffix in {".cpp", ".h"} else HASH).finditer(text):
        if found["comment"]:
            yield text.count("\n", 0, found.start()) + 1, found["comment"]


def blocks_of(path, text):
    """(line, text) of comments; those of lines that follow each other are one text, without the signs in front of them."""
    block, first, last = [], 0, -1
    for line, comment in comments_of(path, text):
        if line != last + 1 and block:
            yield first, "\n".join(block)
            block = []
        first = first if block else line
        block += [part.strip().lstrip("/#*").strip() for part in comment.split("\n")]
        last = line + comment.count("\n")
    if block:
        yield first, "\n".join(block)


def blanked(text, pattern):
    """`text` with every match replaced by as many lines of nothing."""
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


@functools.lru_cache(maxsize=None)
def headings(page):
    """Titles of a page's sections, in their order."""
    return [title.replace("`", "").strip() for title in re.findall(r"^#+ (.*)$", blanked(page.read_text(encoding="utf-8"), FENCE), re.MULTILINE)]


def anchors(page):
    """What a link may name behind the #, as GitHub makes it of the headings."""
    found = set()
    for title in headings(page):
        name = re.sub(r"[^\w -]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)).lower().replace(" ", "-")
        number = 0
        while name + (f"-{number}" if number else "") in found:
            number += 1
        found.add(name + (f"-{number}" if number else ""))
    return found


def place_of(root, path, name):
    return next((folder / name for folder in (root, root / "docs", root / "docs/design", path.parent) if (folder / name).is_file()), None)


def missing_section(page, words):
    """What of `words` should be the title of a section of the page; None: they begin with one, or name another file."""
    words = " ".join(words.replace("`", "").split())
    if re.match(r"[\w./-]*\.\w", words) or any(re.match(rf"{re.escape(title)}(?!\w)", words) for title in headings(page)):
        return None
    return re.split(r"[,.:)]", words)[0]


def problems_of_text(root, path, text):
    """(offset, problem) of each citation in a comment or a page."""
    for found in re.finditer("§", text):
        yield found.start(), "the section sign: name the section by its title"
    for found in RECORD.finditer(text):
        if not list((root / "docs/adr").glob(f"{int(found[1] or found[2]):04}-*.md")):
            yield found.start(), f"{found[0]}: no such record in docs/adr"
    for found in PAGE.finditer(text):
        if "NNNN" in found[1]:
            continue
        page = place_of(root, path, found[1])
        if page is None:
            yield found.start(), f"{found[1]}: no such page"
        elif found[2] and (title := missing_section(page, found[2])):
            yield found.start(), f'{found[1]} has no section "{title}"'


def problems_of_links(path, text):
    """(offset, problem) of each link of this repository that leads nowhere."""
    for found in LINK.finditer(text):
        target, _, anchor = (found[1] or found[2]).partition("#")
        page = path.parent / target if target else path
        if ":" in target:
            continue
        if not page.exists():
            yield found.start(), f"the link to {target} leads nowhere"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page):
            yield found.start(), f"the link to {target}#{anchor} leads nowhere: there is no such heading"


def problems_of(root, path, is_page):
    """(line, problem) of one file."""
    text = path.read_text(encoding="utf-8")
    for first, block in [(1, blanked(text, FENCE))] if is_page else blocks_of(path, text):
        found = list(problems_of_links(path, block)) if is_page else []
        if path.suffix != ".ipynb":
            cited = (LINK_OR_ADDRESS if is_page else ADDRESS).sub(lambda address: " " * len(address[0]), block)
            found += problems_of_text(root, path, cited)
        yield from ((first + block.count("\n", 0, offset), problem) for offset, problem in found)


def check(root):
    """(number of files, problems)."""
    count, problems = 0, []
    for path, is_page in files_of(root):
        count += 1
        problems += [f"{path.relative_to(root)}:{line}: {problem}" for line, problem in problems_of(root, path, is_page)]
    return count, problems


if __name__ == "__main__":
    number, all_problems = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve())
    print("\n".join(all_problems) or f"{number} files cite what is there")
    sys.exit(1 if all_problems or not number else 0)
