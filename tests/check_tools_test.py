# SPDX-License-Identifier: Apache-2.0
"""The tools do not depend on the caller's environment, and run on a machine that has only what they install."""
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "tools/lib.sh"
SYSTEM_PYTHON = "/usr/bin/python3"


def bash(script, **environment):
    """What a script prints that has the tools' library; of the caller's surroundings only these variables are there."""
    done = subprocess.run(["bash", "-c", f"source tools/lib.sh\n{script}"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


class Surroundings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name

    def test_the_repository_is_found_whatever_cd_would_print(self):
        self.assertEqual(bash('echo "$root"', HOME=self.home, CDPATH=f"/:{ROOT}"), [str(ROOT)])

    def test_messages_are_not_translated_and_text_is_utf_8(self):
        script = 'echo "$LC_ALL"; word=ä; echo ${#word}'
        for language in ({}, {"LANG": "de_DE.UTF-8"}, {"LC_ALL": "POSIX"}):
            self.assertEqual(bash(script, HOME=self.home, **language), ["C.UTF-8", "1"])

    def test_who_may_not_write_home_has_one_below_build(self):
        self.assertEqual(bash('echo "$HOME"; echo "$cache"', HOME="/proc/none"), [f"{ROOT}/build/home", f"{ROOT}/build/home/.cache/trainstep"])
        self.assertEqual(bash('echo "$cache"', HOME=self.home), [f"{self.home}/.cache/trainstep"])
        self.assertNotEqual(bash('[[ -w $HOME ]] && echo "$HOME"'), [])

    def test_sbin_programs_are_found_and_the_callers_path_takes_precedence(self):
        own = pathlib.Path(self.home, "nproc")
        own.write_text("#!/bin/sh\necho own\n")
        own.chmod(0o755)
        path = bash('echo "$PATH"; nproc', HOME=self.home, PATH=f"{self.home}:/usr/bin:/bin")
        self.assertIn("/usr/sbin", path[0].split(":"))
        self.assertEqual(path[1], "own")

    def test_files_are_world_readable(self):
        self.assertEqual(bash("umask", HOME=self.home), ["0022"])

    def test_neither_a_git_hook_nor_other_peoples_python_changes_anything(self):
        odd = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere", "PIP_TARGET": "/nowhere", "PIP_USER": "1"}
        script = 'git rev-parse --show-toplevel; $system_python -c "import sys; print(sys.path)"; echo "$PIP_USER"; env'
        lines = bash(script, HOME=self.home, GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*", **odd)
        self.assertEqual(lines[0], str(ROOT))
        self.assertEqual(lines[2], "no")
        self.assertFalse([line for line in lines if "/nowhere" in line])

    def test_who_sets_an_index_for_pip_has_it_for_uv_too(self):
        uv = pathlib.Path(self.home, "root/build/venv/uv/bin/uv")
        uv.parent.mkdir(parents=True)
        uv.write_text('#!/bin/sh\n[ "$1" = pip ] || exec mkdir build/venv/x\necho "$UV_DEFAULT_INDEX $SSL_CERT_FILE" >&2\n')
        uv.chmod(0o755)
        pip = uv.with_name("python")
        pip.write_text("#!/bin/sh\n[ $5 = global.index-url ] && echo https://configured/simple || exit 1\n")
        pip.chmod(0o755)
        certificates = pathlib.Path(self.home, "ca.pem")
        certificates.write_text("")
        (uv.parents[3] / "list.txt").write_text("")
        script = f'cd {self.home}/root; mkdir -p build/venv/x; make_venv x build/list.txt stamp 2>&1; echo "${{UV_DEFAULT_INDEX:-unset}}"'
        self.assertEqual(bash(script, HOME=self.home, PIP_CERT=str(certificates)), [f"https://configured/simple {certificates}", "unset"])
        self.assertEqual(bash(script, HOME=self.home, PIP_CERT=str(certificates), PIP_INDEX_URL="https://own/simple")[0], f"https://own/simple {certificates}")


class Steps(unittest.TestCase):
    def test_a_step_of_several_commands_fails_with_the_first_that_does(self):
        with tempfile.TemporaryDirectory() as home:
            script = 'make() { echo begun; false; echo "and on"; }; step "a step of several commands" make; echo "after it"'
            done = subprocess.run(["bash", "-c", f"source tools/lib.sh\n{script}"], cwd=ROOT, env={"HOME": home}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "a step of several commands … failed\n")
            self.assertIn("begun\ndev: a step of several commands: failed after", done.stderr)
            self.assertEqual(bash("step works true; echo after")[1:], ["after"])


class Python(unittest.TestCase):
    def test_python_run_by_the_distribution_imports_only_its_own_packages_and_ours(self):
        self.assertGreater(len(list(programs())), 10)
        problems = [problem for program in programs() for problem in foreign_imports(program, [], set())]
        self.assertEqual(problems, [])

    def test_a_foreign_module_is_found_through_imports_of_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text("import helper\n")
            pathlib.Path(folder, "helper.py").write_text("import json\nimport pytest\n")
            self.assertEqual([text.rpartition(": ")[2] for text in foreign_imports(program, [], set())], ["pytest"])


def programs():
    """What runs with /usr/bin/python3: by a first line that says so, or by a script."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard", "tools", "tests"], cwd=ROOT, check=True, capture_output=True, text=True)
    found = set()
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if not path.is_file() or path.suffix not in ("", ".py", ".sh"):
            continue
        text = path.read_text(encoding="utf-8")
        if re.match(r"#!(/usr/bin/python3|/usr/bin/env python3)\n", text):
            found.add(path)
        elif text.startswith("#!/bin/bash"):
            found |= {ROOT / program for program in re.findall(r"\$system_python (\S+\.py)", text)}
    listed = (ROOT / "tests/CMakeLists.txt").read_text()
    return sorted(found | {ROOT / program for program in re.findall(r"\$\{python\} (\S+\.py)", listed)})


def foreign_imports(path, folders, seen):
    """"FILE: MODULE" for each module that is neither Python's own nor a file beside the program or in a folder that is put into sys.path."""
    if path in seen:
        return
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    folders = [*folders, path.parent]
    folders += [ROOT / folder for folder in re.findall(r'sys\.path\.insert\(0, str\(ROOT / "([^"]+)"\)\)', text)]
    folders += [path.parents[1] / folder for folder in re.findall(r'sys\.path\.insert\(0, str\(pathlib\.Path\(__file__\)\.resolve\(\)\.parents\[1\] / "([^"]+)"\)\)', text)]
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in {name.partition(".")[0] for name in names}:
            ours = next((folder / f"{name}.py" for folder in folders if (folder / f"{name}.py").is_file()), None)
            if ours:
                yield from foreign_imports(ours, folders, seen)
            elif name not in sys.stdlib_module_names:
                yield f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}: {name}"


class Release(unittest.TestCase):
    """In a clone, which has no tag."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.clone = pathlib.Path(folder.name, "clone")
        subprocess.run(["git", "clone", "-q", "--shared", "--no-tags", ROOT, self.clone], check=True, capture_output=True)
        for name in ("lib.sh", "dev_release.sh"):
            (self.clone / "tools" / name).write_bytes((ROOT / "tools" / name).read_bytes())
        (self.clone / "tools/dev_release.sh").chmod(0o755)
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "add", "tools"], cwd=self.clone, check=True)
        subprocess.run(["git", *identity, "commit", "-qm", "x", "--allow-empty"], cwd=self.clone, check=True, capture_output=True)

    def refusal(self, *words):
        done = subprocess.run(["tools/dev_release.sh", *words], cwd=self.clone, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr

    def test_what_has_no_tag_or_is_not_committed_is_not_released(self):
        self.assertRegex(self.refusal("registry.example/trainstep"), r"HEAD does not have the tag v\d+\.\d+\.\d+")
        (self.clone / "README.md").write_text("changed\n")
        self.assertIn("uncommitted changes", self.refusal("registry.example/trainstep"))

    def test_an_image_with_a_tag_and_none_at_all_are_refused(self):
        for words in ((), ("registry.example/trainstep:1",), ("a", "b"), ("--tagged",)):
            self.assertIn("usage:", self.refusal(*words))


if __name__ == "__main__":
    unittest.main()
