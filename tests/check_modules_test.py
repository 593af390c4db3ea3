# SPDX-License-Identifier: Apache-2.0
"""check_modules.py reports what it must report: each case is a small tree with one error, and the expected message."""
import pathlib
import tempfile
import unittest

import check_modules

MODULES = "module(base)\nmodule(data USES base LIBRARIES x)\nmodule(plan USES data)\nmodule(cli USES plan)\n"
GOOD = {"src/CMakeLists.txt": MODULES, "src/base/a.h": "#include <string>\n", "src/data/d.h": '#include "base/a.h"\n'}


def problems(**changes):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**GOOD, **changes.get("files", {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_modules.check(root)[1]


class CheckRooms(unittest.TestCase):
    def test_a_tree_that_keeps_to_its_rooms_has_no_problem(self):
        self.assertEqual(problems(), [])

    def test_what_a_used_room_uses_may_be_used_too(self):
        self.assertEqual(problems(files={"src/plan/p.cpp": '#include "base/a.h"\n'}), [])

    def test_each_fault_is_named(self):
        cases = {
            "upwards": ({"src/base/b.cpp": '#include "data/d.h"\n'}, "base/ may use no other module, not data/"),
            "indented": ({"src/base/b.cpp": '  #  include "data/d.h"\n'}, "src/base/b.cpp:1"),
            "no module named": ({"src/base/b.cpp": '#include "a.h"\n'}, 'write "base/a.h"'),
            "unknown module": ({"src/base/b.cpp": '#include "elsewhere/a.h"\n'}, "elsewhere is not a module"),
            "no such file": ({"src/data/x.cpp": '#include "base/nothing.h"\n'}, "no such file"),
            "folder without a module": ({"src/other/x.cpp": "\n"}, "other is not a module"),
            "circle": ({"src/CMakeLists.txt": "module(base USES data)\nmodule(data USES base)\n"}, "base → data → base"),
            "use of no module": ({"src/CMakeLists.txt": "module(base)\nmodule(data USES base ghost)\n"}, "ghost, which is not a module"),
            "curl": ({"src/base/b.cpp": "#include <curl/curl.h>\n"}, "belongs into src/http/curl_"),
            "yaml-cpp twice": (
                {"src/data/x.cpp": "#include <yaml-cpp/yaml.h>\n", "src/data/y.cpp": "#include <yaml-cpp/yaml.h>\n"},
                "is in src/data/x.cpp already",
            ),
            "CLI11 below": ({"src/plan/p.cpp": "#include <CLI/CLI.hpp>\n"}, "belongs into src/cli/"),
            "name of a job type": ({"src/plan/p.cpp": 'bool own = type == "MPI";\n'}, '"MPI" is known to src/job_types/ alone'),
            "field of a job type": ({"src/plan/p.cpp": 'auto s = spec["tfReplicaSpecs"];\n'}, "tfReplicaSpecs is known to src/job_types/ alone"),
            "comparison with Job": ({"src/plan/p.cpp": 'if (type == "Job") return;\n'}, 'type == "Job" is known to src/job_types/ alone'),
            "files in a pure module": ({"src/plan/p.cpp": "#include <fstream>\n"}, "plan/ is pure"),
        }
        for name, (files, message) in cases.items():
            with self.subTest(name):
                found = problems(files=files)
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])


if __name__ == "__main__":
    unittest.main()
