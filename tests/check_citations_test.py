# SPDX-License-Identifier: Apache-2.0
"""check_citations.py reports what it must report: each case is a small tree with one error, and the expected message."""
import pathlib
import tempfile
import unittest

import check_citations

GOOD = {
    "README.md": "# A project\n\n## Exit codes\n",
    "docs/data.md": "# Data\n\n## The ways\n\n### The `same` words\n\n### The `same` words\n\n```sh\n# no heading\n```\n",
    "docs/design/operators.md": "# Operators\n\n## Success, and failure\n",
    "docs/adr/0005-guard-process.md": (
        "# 5. A guard\n\nAs NNNN-title.md says; see [data](../data.md#the-ways), [again](../data.md#the-same-words-1), [above](#5-a-guard).\n"
    ),
    "src/a.cpp": (
        "// One (docs/data.md, The ways), two (docs/design/operators.md,\n// Success, and failure), three (operators.md), four (ADR 5).\n"
        "\n// docs/adr/0005\n"
        'const char* text = "// nowhere.md §";  // five: docs/adr/0005-guard-process.md, docs/data.md; README.md, Exit codes\n'
        "constexpr int many = 300'000;  // isn't it\n"
    ),
    "tests/a_test.py": '"""What docs/data.md says (docs/data.md, The same words)."""\nTEXT = "nowhere.md"\n',
    "sdk/a.sh": "# https://example.com/nowhere.md is an address\necho nowhere.md\n",
    "build/a.h": "// nowhere.md\n",
}


def problems(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**GOOD, **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return check_citations.check(root)[1]


class CheckCitations(unittest.TestCase):
    def test_a_tree_that_cites_what_is_there_has_no_problem(self):
        self.assertEqual(problems({}), [])

    def test_each_fault_is_named(self):
        cases = {
            "page in a comment": ({"src/b.h": "// (nowhere.md)\n"}, "src/b.h:1: nowhere.md: no such page"),
            "page behind code": ({"src/b.cpp": "int b = 1'000;\nint c = 'c';  // docs/nowhere.md\n"}, "src/b.cpp:2: docs/nowhere.md: no such page"),
            "page in a block": ({"src/b.cpp": "/* one\n * nowhere.md */\n"}, "src/b.cpp:2: nowhere.md: no such page"),
            "page behind an address": ({"src/b.cpp": "// https://example.com/a-page.md\n// nowhere.md\n"}, "src/b.cpp:2: nowhere.md: no such page"),
            "page in a docstring": ({"sdk/b.py": 'def b():\n    """As nowhere.md."""\n'}, "sdk/b.py:2: nowhere.md: no such page"),
            "page in Python": ({"tools/b.py": "b = 1  # nowhere.md\n"}, "tools/b.py:1: nowhere.md: no such page"),
            "page in a script": ({"tests/cluster/build": "#!/bin/bash\necho b  # nowhere.md\n"}, "tests/cluster/build:2: nowhere.md: no such page"),
            "page in CMake": ({"cmake/b.cmake": "set(b 1)  # nowhere.md\n"}, "cmake/b.cmake:1: nowhere.md: no such page"),
            "page in a page": ({"docs/b.md": "# B\n\nAs `nowhere.md` says.\n"}, "docs/b.md:3: nowhere.md: no such page"),
            "section": ({"src/b.h": "// (docs/data.md, The way)\n"}, 'docs/data.md has no section "The way"'),
            "section of the README": ({"src/b.h": "// README.md, Exits.\n"}, 'README.md has no section "Exits"'),
            "section on the next line": ({"src/b.h": "// (operators.md,\n// Success)\n"}, 'operators.md has no section "Success"'),
            "section in a fence": ({"src/b.h": "// docs/data.md, no heading\n"}, 'docs/data.md has no section "no heading"'),
            "ADR": ({"src/b.h": "// (ADR 6)\n"}, "src/b.h:1: ADR 6: no such record"),
            "ADR's number": ({"src/b.h": "// (docs/adr/0006)\n"}, "docs/adr/0006: no such record"),
            "ADR's file": ({"src/b.h": "// (docs/adr/0005-guards.md)\n"}, "docs/adr/0005-guards.md: no such page"),
            "ADR in a page": ({"docs/b.md": "As [ADR 6](data.md) says.\n"}, "docs/b.md:1: ADR 6: no such record"),
            "section sign": ({"src/b.h": "// (docs/data.md §2)\n"}, "the section sign"),
            "section sign in a page": ({"docs/b.md": "RFC 9110 §5\n"}, "the section sign"),
            "link": ({"docs/b.md": "[b](nowhere.md)\n"}, "docs/b.md:1: the link to nowhere.md leads nowhere"),
            "link to a folder": ({"docs/adr/0007-b.md": "[b](docs/)\n"}, "the link to docs/ leads nowhere"),
            "link to a heading": ({"docs/b.md": "[b](data.md#no-heading)\n"}, "the link to data.md#no-heading leads nowhere"),
            "link within a page": ({"docs/b.md": "# B\n\n[b](#c)\n"}, "docs/b.md:3: the link to #c leads nowhere"),
            "picture": ({"docs/b.md": '<img src="b.png">\n'}, "the link to b.png leads nowhere"),
            "notebook": ({"samples/b.ipynb": '{"source": ["[b](nowhere.md)", "<img src=\\"data:b\\">"]}\n'}, "the link to nowhere.md leads nowhere"),
        }
        for name, (files, message) in cases.items():
            with self.subTest(name):
                found = problems(files)
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])


if __name__ == "__main__":
    unittest.main()
