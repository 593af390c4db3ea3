# SPDX-License-Identifier: Apache-2.0
"""What mutants.py refuses, and what counts as found: each case with the expected message."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import mutants

GOOD = """found-by: unit_data "keys of any length survive a round trip"
bug: a key of a thousand bytes is cut

diff --git a/LICENSE b/LICENSE
--- a/LICENSE
+++ b/LICENSE
@@ -2,3 +2,3 @@
                                  Apache License
-                           Version 2.0, January 2004
+                           Version 2.1, January 2004
                         http://www.apache.org/licenses/
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patching = mock.patch.multiple(mutants, FOLDER=self.folder, COPIES=self.folder / "copies", LOGS=self.folder)
        patching.start()
        self.addCleanup(patching.stop)

    def plant(self, text, name="bug"):
        (self.folder / f"{name}.patch").write_text(text)
        return name

    def run_it(self, *words):
        """(exit code, all that it says)"""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), mock.patch.object(sys, "argv", ["run", *words]):
            return mutants.main(), said.getvalue()


class Check(Case):
    def test_a_good_patch_has_no_problem(self):
        self.plant(GOOD)
        self.assertEqual(self.run_it("--check"), (0, ""))

    def test_each_fault_is_named(self):
        first, second, rest = GOOD.split("\n", 2)
        cases = {
            "nobody finds it": (f"{second}\n{rest}", "bug: no line found-by: … before the change"),
            "no bug": (f"{first}\n{rest}", "bug: no line bug: … before the change"),
            "lines behind the change": (f"{rest}\n{first}\n{second}\n", "no line bug: … or found-by: …"),
            "does not apply": (GOOD.replace("January", "June"), "does not apply: make it anew"),
            "no such test": (GOOD.replace("any length", "no length"), "no such test"),
            "no such module": (GOOD.replace("unit_data", "unit_nowhere"), "no such test"),
            "no such module": (GOOD.replace(first, "found-by: tests/flow/none_test.py::test_x"), "no such test"),
            "no such function": (GOOD.replace(first, "found-by: tests/flow/kill_test.py::test_none"), "no such test"),
            "no name": (GOOD.replace(first, "found-by: unit_data"), "expected sim, sim_data, unit_MODULE"),
            "something else": (GOOD.replace(first, "found-by: somebody"), "expected sim, sim_data, unit_MODULE"),
        }
        for what, (text, message) in cases.items():
            with self.subTest(what):
                self.plant(text)
                code, said = self.run_it("--check")
                self.assertEqual(code, 1)
                self.assertIn(message, said)

    def test_an_invalid_name_is_rejected(self):
        code, said = self.run_it("--check", "nothing")
        self.assertEqual((code, said), (1, "nothing: no such patch\n"))


class Rebase(Case):
    """In a repository of its own, with one file of five lines."""

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        self.write("one", "two", "three", "four", "five")
        self.git("add", ".")
        self.git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")
        self.write("one", "two", "3", "four", "five")
        change = self.git("diff", "--", "file")
        self.write("one", "two", "three", "four", "five")
        (self.folder / "bug.patch").write_text(f"found-by: sim\nbug: three is a digit\n\n{change}")
        patching = mock.patch.object(mutants, "ROOT", self.folder)
        patching.start()
        self.addCleanup(patching.stop)

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def write(self, *lines):
        (self.folder / "file").write_text("".join(f"{line}\n" for line in lines))

    def test_a_patch_whose_context_has_changed_is_regenerated(self):
        self.write("zero", "One", "two", "three", "four", "Five")
        self.assertEqual(self.run_it("--check")[0], 1)
        self.assertEqual(self.run_it("--rebase", "HEAD"), (0, ""))
        self.assertEqual(self.run_it("--check"), (0, ""))
        text = (self.folder / "bug.patch").read_text()
        self.assertTrue(text.startswith("found-by: sim\nbug: three is a digit\n\ndiff --git a/file b/file\n--- a/file\n+++ b/file\n"), text)
        self.assertIn("\n-three\n+3\n", text)

    def test_a_patch_whose_own_lines_have_changed_is_refused(self):
        self.write("one", "two", "THREE", "four", "five")
        self.assertEqual(self.run_it("--rebase", "HEAD"), (1, "bug: file has changed where the bug is: make it anew\n"))

    def test_a_patch_that_never_applied_is_refused(self):
        patch = self.folder / "bug.patch"
        patch.write_text(patch.read_text().replace("-three", "-tree"))
        self.assertEqual(self.run_it("--rebase", "HEAD"), (1, "bug: does not apply to HEAD either\n"))


class Run(Case):
    """With a copy of one file, a build that does nothing and, for a test, a command on that file."""

    def run_with(self, command, *names):
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(mutants.Copy, "refresh", self.refresh))
            stack.enter_context(mock.patch.object(mutants.Copy, "make", lambda copy, targets, log, planted=False: True))
            stack.enter_context(mock.patch.object(mutants.Test, "command", lambda test, copy: ["sh", "-c", command]))
            stack.enter_context(mock.patch.object(mutants, "LIMIT", 1))
            return self.run_it("-j", "1", *names)

    @staticmethod
    def refresh(copy):
        copy.folder.mkdir(parents=True)
        copy.restore("LICENSE")

    def test_a_bug_that_makes_its_test_fail_is_found_and_reverted(self):
        self.plant(GOOD)
        self.plant(GOOD, "again")
        code, said = self.run_with("grep 'Version 2.0, January' LICENSE")
        self.assertEqual(code, 0, said)
        self.assertIn('bug | found by unit_data "keys of any length survive a round trip" | it printed nothing (', said)
        self.assertIn("2 bugs planted, 2 found", said)
        self.assertEqual((self.folder / "copies/dev/LICENSE").read_text(), (mutants.ROOT / "LICENSE").read_text())

    def test_a_bug_that_its_test_does_not_see_is_an_error(self):
        self.plant(GOOD)
        code, said = self.run_with("true")
        self.assertEqual(code, 1)
        self.assertIn("bug: NOT FOUND by unit_data", said)
        self.assertIn("1 bugs planted, 0 found", said)

    def test_a_test_that_fails_without_the_bug_finds_nothing(self):
        self.plant(GOOD)
        code, said = self.run_with("echo 'x.cpp:1: failed: 1 == 2'; exit 1")
        self.assertEqual(code, 1)
        self.assertIn("fails where nothing is planted: x.cpp:1: failed: 1 == 2", said)
        self.assertIn("1 bugs planted, 0 found", said)

    def test_a_test_that_hangs_has_found_it(self):
        self.plant(GOOD)
        with mock.patch.object(mutants, "first_failure", lambda log: ""):
            code, said = self.run_with("grep -q 'Version 2.0, January' LICENSE || exec sleep 1000")
        self.assertEqual(code, 0, said)
        self.assertIn("| still running after 1 s (", said)


if __name__ == "__main__":
    unittest.main()
