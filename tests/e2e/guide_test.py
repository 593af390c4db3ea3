# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ as their readers follow them: the examples are written to files, run in order, and print the output shown (guide_pages.py)."""
import re
import subprocess

import operators
import pytest
import yaml
from conftest import ROOT
from guide_pages import DOCS, PAGES, blocks, cluster_commands, environment, folder  # noqa: F401

MARK = "\x1e"
STORIES = [page for page in PAGES if blocks(page, "console")]


def unfinished(command):
    return subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False).returncode != 0 or command.endswith(("\\", "|"))


def session(text):
    """(command, what it prints) of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif not found[-1][1] and unfinished(found[-1][0]):
            found[-1][0] += "\n" + line
        else:
            found[-1][1].append(line)
    return found


def pattern(lines):
    """What `lines` stand for, as a regular expression."""
    whole = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*?") + r"\n" for line in lines)
    return re.compile(whole)


@pytest.mark.parametrize("page", STORIES)
def test_commands_of_a_page_print_what_it_says(page, folder, environment):  # noqa: F811
    for text in blocks(page, "python"):
        if name := re.match(r"# (\w+\.py)\n", text):
            (folder / name[1]).write_text(text, encoding="utf-8")
    told = [pair for text in blocks(page, "console") for pair in session(text)]
    script = "".join(f"code=$?; printf '{MARK}'; (exit $code)\n{command}\n" for command, _ in told)
    done = subprocess.run(
        ["bash"], input=script, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False
    )
    outputs = done.stdout.split(MARK)[1:]
    assert len(outputs) == len(told)
    for (command, lines), output in zip(told, outputs, strict=True):
        assert pattern(lines).fullmatch(output), f"{command}\nprinted\n{output}\ninstead of\n" + "\n".join(lines)


def test_clock_time_in_the_guide_matches_its_examples():
    assert {"first_run.md", "own_program.md", "distributed.md", "gpus.md", "when_it_fails.md"} <= set(STORIES)


def test_commands_that_require_a_cluster_report_that_there_is_none(folder, environment):  # noqa: F811
    for command in cluster_commands():
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and "no kubeconfig" in done.stderr + done.stdout, f"{command}\n{done.stdout}{done.stderr}"


def test_what_the_pages_give_to_kubectl_is_there():
    given = [(page, path) for page, text in PAGES.items() for path in re.findall(r"kubectl [^`\n]*-[fk] ([^\s`]+)", text)]
    assert given
    for page, path in given:
        assert (ROOT / path).exists(), f"{page}: {path}"


def test_container_of_the_operator_in_the_guide_is_the_one_that_the_tests_clusters_have():
    (shown,) = blocks("data.md", "yaml")
    assert shown == operators.INIT_CONTAINER.lstrip().replace("  imagePullPolicy: IfNotPresent\n", "")


def test_every_block_of_the_pages_is_of_a_kind_that_is_checked():
    """console, python, sh cluster: here and in migrations_test.py; sh, json: tests/flow/docs_test.py; yaml: with what it is for; text and jsonl only show."""
    kinds = {kind for text in PAGES.values() for kind in re.findall(r"^```(.+)\n", text, re.MULTILINE)}
    assert kinds <= {"console", "python", "sh cluster", "sh", "json", "yaml", "text", "jsonl"}
    unnamed = {page for page, text in PAGES.items() if len(re.findall(r"^```", text, re.MULTILINE)) != 2 * len(re.findall(r"^```.+\n", text, re.MULTILINE))}
    assert unnamed == set()


def sources():
    """The program's texts, with adjacent literals as one."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.cpp")))
    return re.sub(r'"\s*\n\s*"', "", text).replace('\\"', '"')


def test_messages_that_the_pages_explain_are_the_programs():
    said, explained = sources(), 0
    for page, text in PAGES.items():
        for table in re.findall(r"^\| message \| cause \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE):
            for row in table.splitlines():
                message = row.split("|")[1].partition(", with Kubernetes'")[0]
                for part in re.findall(r"`([^`]+)`", message):
                    explained += 1
                    for words in part.split("…"):
                        assert words.strip() in said, f"{page}: the program never says {words!r}"
    assert explained >= 15


@pytest.mark.parametrize("name", sorted(path.name for path in DOCS.glob("pictures/*.svg")))
def test_picture_of_the_guide_is_one_file_for_light_and_dark(name):
    picture = (DOCS / "pictures" / name).read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in picture and "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_secret_in_the_guide_is_the_one_of_the_component():
    (shown,) = blocks("burst.md", "yaml")
    manifest = yaml.safe_load((ROOT / "component/kubernetes/secrets/remote-cluster.yaml").read_text(encoding="utf-8"))
    given = manifest["stringData"]
    assert yaml.safe_load(shown).keys() == given.keys() - {"access-mode"}
