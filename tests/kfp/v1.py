# SPDX-License-Identifier: Apache-2.0
"""A minimal Argo that supports the workflows that the KFP SDK 1.8 compiles: one DAG of containers, here local processes, with files passed between them;
and single templates.

    run = v1.Argo(folder, {"/usr/local/bin/trainstep": [program]}).run(workflow, {"epochs": "3"})
    run["train"].artifacts["train-model_dir"]  # a path
    task = v1.Argo(folder, {…}).run_template(workflow_template, {"gpus": "2"})

Tags that Argo does not know, such as {{$}}, are left unchanged. A task that exits with a code other than 0, or lacks an output, raises StepFailed.
"""
import dataclasses
import pathlib
import re
import shutil
import subprocess

from kubelet import expanded
from surroundings import clean_environment

_KNOWN = re.compile(r"\{\{((?:inputs|tasks|workflow)\.[^{}]+)\}\}")


class StepFailed(Exception):
    """A task failed: its exit code, and what its container printed."""

    def __init__(self, what, code, log):
        super().__init__(f"{what}: exit code {code}\n{log}")
        self.code, self.log = code, log


@dataclasses.dataclass
class Task:
    log: str
    parameters: dict
    artifacts: dict  # name → path


class Argo:
    def __init__(self, folder: pathlib.Path, images: dict, environment=None):
        """`images`: a container's first word → the words that stand for it here."""
        self.folder, self.images, self.environment = folder, images, environment or clean_environment()

    def run(self, workflow: dict, arguments: dict | None = None) -> dict:
        spec = workflow["spec"]
        templates = {template["name"]: template for template in spec["templates"]}
        given = {p["name"]: p.get("value", "") for p in spec.get("arguments", {}).get("parameters", [])} | (arguments or {})
        scope = {f"inputs.parameters.{name}": text for name, text in given.items()}
        done, waiting = {}, {task["name"]: task for task in templates[spec["entrypoint"]]["dag"]["tasks"]}
        while waiting:
            name = next(name for name, task in waiting.items() if not set(task.get("dependencies", [])) & set(waiting))
            task = waiting.pop(name)
            done[name] = self.run_task(name, templates[task["template"]], task.get("arguments", {}), scope)
            scope |= {f"tasks.{name}.outputs.parameters.{key}": text for key, text in done[name].parameters.items()}
            scope |= {f"tasks.{name}.outputs.artifacts.{key}": path for key, path in done[name].artifacts.items()}
        return done

    def run_template(self, holder: dict, given: dict) -> Task:
        """A Workflow of nothing but a WorkflowTemplate's entry point."""
        spec = holder["spec"]
        (template,) = [template for template in spec["templates"] if template["name"] == spec["entrypoint"]]
        values = {p["name"]: p["value"] for p in spec["arguments"]["parameters"] if "value" in p} | given
        scope = {f"inputs.parameters.{name}": text for name, text in values.items()}
        passed = [{"name": name, "value": "{{inputs.parameters." + name + "}}"} for name in values]
        return self.run_task(spec["entrypoint"], template, {"parameters": passed}, scope)

    def run_task(self, name, template, arguments, scope) -> Task:
        pod = self.folder / name
        pod.mkdir(parents=True)
        declared = template.get("inputs", {}).get("parameters", [])
        inputs = {f"inputs.parameters.{p['name']}": p["default"] for p in declared if "default" in p}
        inputs |= {f"inputs.parameters.{p['name']}": replaced(p["value"], scope) for p in arguments.get("parameters", [])}
        sources = {a["name"]: pathlib.Path(scope[_KNOWN.fullmatch(a["from"])[1]]) for a in arguments.get("artifacts", [])}
        names = [artifact["name"] for artifact in template.get("inputs", {}).get("artifacts", [])]
        assert len(set(names)) == len(names), f"{name}: Argo refuses inputs of the same name: {names}"
        for artifact in template.get("inputs", {}).get("artifacts", []):
            self.put(artifact, sources, inputs, pod)
        container = template["container"]
        words = [inside(expanded(replaced(word, inputs)), pod) for word in [*container["command"], *container.get("args", [])]]
        done = subprocess.run(
            [*self.images.get(words[0], [words[0]]), *words[1:]], cwd=pod, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
        )
        if done.returncode != 0:
            raise StepFailed(name, done.returncode, done.stdout)
        return Task(done.stdout, *self.collect(name, template.get("outputs", {}), pod, done.stdout))

    def put(self, artifact, sources, inputs, pod):
        place = pathlib.Path(inside(artifact["path"], pod))
        place.parent.mkdir(parents=True, exist_ok=True)
        if artifact["name"] in sources:
            source = sources[artifact["name"]]
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, place)
        else:
            place.write_text(replaced(artifact["raw"]["data"], inputs), encoding="utf-8")

    def collect(self, name, outputs, pod, log):
        parameters, artifacts = {}, {}
        for parameter in outputs.get("parameters", []):
            file = pathlib.Path(inside(parameter["valueFrom"]["path"], pod))
            if not file.is_file() and "default" in parameter["valueFrom"]:
                parameters[parameter["name"]] = parameter["valueFrom"]["default"]
                continue
            if not file.is_file():
                raise StepFailed(f"{name} lacks its output {parameter['name']}", 0, log)
            parameters[parameter["name"]] = file.read_text(encoding="utf-8").removesuffix("\n")
        for artifact in outputs.get("artifacts", []):
            path = pathlib.Path(inside(artifact["path"], pod))
            if path.exists():
                artifacts[artifact["name"]] = path
            elif not artifact.get("optional"):
                raise StepFailed(f"{name} lacks its output {artifact['name']}", 0, log)
        return parameters, artifacts


def replaced(text: str, scope: dict) -> str:
    return _KNOWN.sub(lambda found: str(scope[found[1]]), text)


def inside(text: str, pod: pathlib.Path) -> str:
    """The container's folders of inputs and outputs are the pod's here."""
    return re.sub(r"(?<![\w./])(?:/tmp)?/(inputs|outputs)/", lambda found: f"{pod}/{found[1]}/", text)


def tags(text: str) -> set:
    """The names in all tags that Argo would replace."""
    return set(_KNOWN.findall(text))
