# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ as their readers follow them: what they show is written, run in order, and prints what stands there.

In one folder for each page, which has the samples, the component and the environments of build/venv:
  ```console   lines behind `$ ` are run, the rest is what they print; `…` in a line is any text, a line `…` any lines.
  ```python    by its first line: `# NAME.py` is a file for the console; `# SDK 1.8`, `# SDK 2` is a pipeline, which is compiled by that SDK and run as its
               backend would; `# on a cluster` is run with the package, and what would be sent to a cluster is rendered instead; `# before` is other people's.
"""
import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/kfp"))

import v1  # noqa: E402
import v2  # noqa: E402

DOCS = ROOT / "docs"
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}
MARK = "\x1e"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


def pythons(page, first):
    """The Python blocks whose first line is `# FIRST`."""
    return [text for text in blocks(page, "python") if text.startswith(f"# {first}\n")]


STORIES = [page for page in PAGES if blocks(page, "console")]
MIGRATIONS = [page for page in PAGES if page.startswith("migrate_")]


@pytest.fixture
def folder(tmp_path, python_of):
    here = tmp_path / "here"
    here.mkdir()
    for name in ("samples", "component"):
        (here / name).symlink_to(ROOT / name)
    (here / "build").mkdir()
    (here / "build/venv").symlink_to(pathlib.Path(python_of("uv")).parents[2])
    return here


@pytest.fixture
def environment(program, tmp_path):
    """`trainstep` comes first in PATH; every Python has the package."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "trainstep").symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBERNETES_", "KUBECONFIG", "ARGO_"))}
    own = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "sdk"), "TRAINSTEP": str(program), "HOME": str(tmp_path)}
    return {**kept, **own, "PIP_NO_INDEX": "1", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}


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
def test_commands_of_a_page_print_what_it_says(page, folder, environment):
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


def test_the_guide_has_stories_and_migrations():
    assert {"first_run.md", "own_program.md", "distributed.md", "gpus.md", "when_it_fails.md"} <= set(STORIES)
    assert MIGRATIONS == ["migrate_component.md", "migrate_launch_crd.md", "migrate_training_client.md"]
    assert all(pythons(page, "before") for page in MIGRATIONS)


def test_every_program_of_a_migration_is_python_and_of_a_kind_that_is_run():
    for page in MIGRATIONS:
        for text in blocks(page, "python"):
            ast.parse(text)
            assert re.match(r"# (before|SDK 1\.8|SDK 2|on a cluster|\w+\.py)\n", text), f"{page}: {text[:40]}"


@pytest.fixture
def compiled(folder, environment, python_of):
    """compiled("migrate_component.md", "SDK 1.8") → the file that the page's pipeline compiles to."""

    def compiled_by(page, sdk):
        (text,) = pythons(page, sdk)
        (folder / "pipeline.py").write_text(text, encoding="utf-8")
        words = [python_of({"SDK 1.8": "kfp1", "SDK 2": "kfp2"}[sdk]), "-B", "-W", "ignore", "pipeline.py"]
        done = subprocess.run(words, cwd=folder, env={**environment, "PYTHONPATH": ""}, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        (made,) = folder.glob("*.yaml")
        return made

    return compiled_by


def test_pipeline_of_the_python_component_trains_and_is_evaluated(compiled, environment, program, tmp_path):
    """Its evaluation has an input of type String, as those who come from that component have them."""
    workflow = yaml.safe_load(compiled("migrate_component.md", "SDK 1.8").read_text(encoding="utf-8"))
    step = ["sh", "-c", 'shift; exec "$0" run --cluster local --run-dir run "$@"', str(program)]
    tasks = v1.Argo(tmp_path / "argo", {"/usr/local/bin/trainstep": step}, environment).run(workflow, {"number_of_workers": "2"})
    assert "[master-0] epoch=3/3 loss=0.333" in tasks["train"].log
    (counted,) = tasks["evaluate"].artifacts.values()
    assert counted.read_text() == "4"


@pytest.fixture
def rendering(program):
    return {"/usr/local/bin/trainstep": ["sh", "-c", 'shift; exec "$0" render "$@"', str(program)]}


def test_pipeline_of_launch_crd_makes_the_job_that_the_launcher_made(compiled, environment, rendering, tmp_path):
    with pytest.raises(v2.StepFailed) as shown:  # a step that only renders leaves no outputs
        v2.Backend(tmp_path / "v2", "2.17.1", rendering, environment).run(v2.load(compiled("migrate_launch_crd.md", "SDK 2")))
    job = next(yaml.safe_load_all(shown.value.log))
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert {name: replica["replicas"] for name, replica in replicas.items()} == {"Master": 1, "Worker": 2}
    assert job["spec"]["runPolicy"]["backoffLimit"] == 2 and job["spec"]["runPolicy"]["cleanPodPolicy"] == "Running"
    for replica in replicas.values():
        (container,) = replica["template"]["spec"]["containers"]
        assert replica["restartPolicy"] == "OnFailure" and container["image"] == "registry.example/mnist:1"
        assert container["command"] == ["python3", "/app/train.py", "--epochs", "3", "--backend", "gloo"]
        assert {"name": "NCCL_DEBUG", "value": "INFO"} in container["env"]
        assert {name: str(amount) for name, amount in container["resources"]["limits"].items()} == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}


def test_pipeline_of_launch_tfjob_makes_the_job_that_the_launcher_made(compiled, environment, rendering, tmp_path):
    workflow = yaml.safe_load(compiled("migrate_launch_crd.md", "SDK 1.8").read_text(encoding="utf-8"))
    with pytest.raises(v1.StepFailed) as shown:
        v1.Argo(tmp_path / "argo", rendering, environment).run(workflow)
    job = next(yaml.safe_load_all(shown.value.log))
    replicas = job["spec"]["tfReplicaSpecs"]
    assert {name: replica["replicas"] for name, replica in replicas.items()} == {"Chief": 1, "Worker": 2, "PS": 1}
    images = {name: replica["template"]["spec"]["containers"][0]["image"] for name, replica in replicas.items()}
    assert images == {"Chief": "registry.example/tf-mnist:1", "Worker": "registry.example/tf-mnist:1", "PS": "registry.example/tf-mnist-ps:1"}
    assert job["spec"]["runPolicy"]["ttlSecondsAfterFinished"] == 3600


# In the place of the program: the step that is to run on a cluster shows what it would make there.
SHOWS = """#!/bin/sh
[ "$1" = run ] || exit 3
shift
for word; do
  shift
  case $word in --cluster=kubernetes | --log-format=*) ;; *) set -- "$@" "$word" ;; esac
done
exec "$PROGRAM" render "$@" >>"$SHOWN"
"""


def test_calls_of_the_clients_make_the_jobs_that_the_clients_made(folder, environment, program, tmp_path):
    cells = pythons("migrate_training_client.md", "on a cluster")
    assert len(cells) == 2
    shows = tmp_path / "shows"
    shows.write_text(SHOWS, encoding="utf-8")
    shows.chmod(0o755)
    for number, cell in enumerate(cells):
        path, shown = folder / f"cell_{number}.py", folder / f"shown_{number}.yaml"
        path.write_text(cell, encoding="utf-8")
        own = {"TRAINSTEP": str(shows), "PROGRAM": str(program), "SHOWN": str(shown)}
        done = subprocess.run(["python3", path], cwd=folder, env={**environment, **own}, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        replicas = yaml.safe_load(shown.read_text(encoding="utf-8"))["spec"]["pytorchReplicaSpecs"]
        assert {name: replica["replicas"] for name, replica in replicas.items()} == {"Master": 1, "Worker": 2}
        (container,) = replicas["Worker"]["template"]["spec"]["containers"]
        limits = {name: str(amount) for name, amount in container["resources"]["limits"].items()}
        assert limits.items() >= {"cpu": "4", "nvidia.com/gpu": "2"}.items()
        words = " ".join(map(str, container.get("command", []) + container.get("args", [])))
        assert "'scikit-learn'" in words and "epoch={epoch}" in words


def test_commands_that_want_a_cluster_are_understood_as_far_as_that(folder, environment):
    """Marked `sh cluster`; here they find no cluster, and nothing else is wrong with them."""
    found = [
        command
        for page in PAGES
        for text in blocks(page, "sh cluster")
        for command in re.findall(r"^(trainstep (?:.*\\\n)*.*)$", text, re.MULTILINE)
    ]
    assert {command.split()[1] for command in found} == {"run", "check", "list", "logs", "attach", "stop"}
    for command in found:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2 and "there is no kubeconfig" in done.stderr + done.stdout, f"{command}\n{done.stdout}{done.stderr}"


def test_what_the_pages_give_to_kubectl_is_there():
    given = [(page, path) for page, text in PAGES.items() for path in re.findall(r"kubectl [^`\n]*-[fk] ([^\s`]+)", text)]
    assert given
    for page, path in given:
        assert (ROOT / path).exists(), f"{page}: {path}"


def test_every_block_of_the_pages_is_of_a_kind_that_is_checked():
    """console, python, sh cluster: here; sh, json: tests/flow/docs_test.py; yaml: with what it is for; text and jsonl only show."""
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
        for table in re.findall(r"^\| it says \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE):
            for row in table.splitlines():
                message = row.split("|")[1].partition(", with Kubernetes'")[0]
                for part in re.findall(r"`([^`]+)`", message):
                    explained += 1
                    for words in part.split("…"):
                        assert words.strip() in said, f"{page}: the program never says {words!r}"
    assert explained >= 15


def test_picture_of_the_guide_is_one_file_for_light_and_dark():
    picture = (DOCS / "pictures/step.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in picture and "http" not in picture.replace("http://www.w3.org/2000/svg", "")
