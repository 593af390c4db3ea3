# SPDX-License-Identifier: Apache-2.0
"""A minimal Kubeflow Pipelines 2 backend: runs compiled IR as its driver and launcher do, with local processes for containers.

    run = v2.Backend(folder, "2.17.0", {"/usr/local/bin/trainstep": [program]}).run(ir, {"epochs": 3})
    run.tasks["train"].parameters["job_name"], run.tasks["train"].artifacts["metrics"]["metadata"]

Backends differ in how they replace placeholders on a container's command line, and so do GENERATIONS. In common they have strict parsing of what a
container leaves behind, and an object store: after a success the contents of the outputs' paths are uploaded over what is there; after a failure nothing
is; inputs are downloaded from it. A task whose container or outputs the launcher would not accept raises StepFailed.
"""
import dataclasses
import json
import pathlib
import random
import subprocess

import v2_task_config
import v2_words
import yaml
from kubelet import expanded
from surroundings import clean_environment
from v2_outputs import download, read_outputs, upload

GENERATIONS = v2_words.GENERATIONS
RUN_ID = "5f1c2e0a-run"


class StepFailed(Exception):
    """A task failed; `log` is what its container printed."""

    def __init__(self, what, log=""):
        super().__init__(f"{what}\n{log}")
        self.log = log


@dataclasses.dataclass
class Task:
    """One that has succeeded."""

    log: str  # of the container, then the launcher's warnings
    executor_input: dict
    parameters: dict  # output parameters, parsed
    artifacts: dict  # output artifacts: {"uri", "metadata", "customPath", …}


@dataclasses.dataclass
class Run:
    tasks: dict


class Backend:
    def __init__(self, folder: pathlib.Path, generation: str, images: dict, environment=None, seed=0):
        """`images`: a container's first word → the words that stand for it here."""
        assert generation in GENERATIONS
        self.folder, self.generation, self.images, self.environment = folder, generation, images, environment or clean_environment()
        self.random = random.Random(seed)
        self.store: dict[str, bytes] = {}  # "bucket/key" → content
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, ir: dict, arguments: dict | None = None) -> Run:
        root = ir["root"]
        given = {name: p["defaultValue"] for name, p in root.get("inputDefinitions", {}).get("parameters", {}).items() if "defaultValue" in p}
        given |= arguments or {}
        run, waiting = Run({}), dict(root["dag"]["tasks"])
        while waiting:
            name = next(name for name, task in waiting.items() if not set(task.get("dependentTasks", [])) & set(waiting))
            run.tasks[name] = self.run_task(ir, name, waiting.pop(name), given, run)
        return run

    def run_task(self, ir, name, task, given, run) -> Task:
        words, executor_input, component = self.prepare(ir, name, task, given, run)
        for entry in executor_input["inputs"]["artifacts"].values():
            download(entry["artifacts"][0], self.store)
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=300, check=False,
        )
        if done.returncode != 0:  # the launcher's own code is 1, whatever the program's was, and nothing is read
            raise StepFailed(f"{name}: exit status {done.returncode}", done.stdout)
        try:
            parameters, artifacts = read_outputs(component.get("outputDefinitions", {}), executor_input["outputs"], RUN_ID)
        except ValueError as error:
            raise StepFailed(f"{name}: {error}", done.stdout) from error
        wanted = executor_input["outputs"]["artifacts"]
        warnings = [line for output in artifacts for line in upload(wanted[output]["artifacts"][0], self.store)]
        return Task("\n".join([done.stdout, *warnings]), executor_input, parameters, artifacts)

    def prepare(self, ir, name, task, given, run):
        """What the driver and the launcher do before the container starts: (its words, the executor input, the component)."""
        component = ir["components"][task["componentRef"]["name"]]
        container = ir["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        inputs = self.driver_inputs(task, given, run)
        inputs["parameterValues"] |= v2_task_config.inputs(component, container)
        defaults = {
            key: definition["defaultValue"]
            for key, definition in component.get("inputDefinitions", {}).get("parameters", {}).items()
            if "defaultValue" in definition
        }
        executor_input = {"inputs": inputs, "outputs": self.outputs(ir, name, component)}
        arguments = [*container.get("command", []), *container.get("args", [])]
        arguments = v2_words.by_driver(self.generation, arguments, inputs, defaults)
        # Both are words of the launcher's own container.
        arguments, executor_input = [expanded(word) for word in arguments], json.loads(expanded(json.dumps(executor_input)))
        given = executor_input["inputs"]
        given["parameterValues"] = {**defaults, **given["parameterValues"]}  # by the launcher
        words = v2_words.by_launcher(self.generation, arguments, executor_input, self.random)
        return [*self.images.get(words[0], [words[0]]), *words[1:]], executor_input, component

    def driver_inputs(self, task, given, run) -> dict:
        values, artifacts = {}, {}
        for name, source in task.get("inputs", {}).get("parameters", {}).items():
            if "runtimeValue" in source:
                values[name] = v2_words.whole_numbers(source["runtimeValue"]["constant"])
            elif "componentInputParameter" in source:
                if source["componentInputParameter"] in given:
                    values[name] = v2_words.whole_numbers(given[source["componentInputParameter"]])
            else:
                producer = source["taskOutputParameter"]
                values[name] = run.tasks[producer["producerTask"]].parameters[producer["outputParameterKey"]]
        for name, source in task.get("inputs", {}).get("artifacts", {}).items():
            producer = source["taskOutputArtifact"]
            artifacts[name] = {"artifacts": [run.tasks[producer["producerTask"]].artifacts[producer["outputArtifactKey"]]]}
        return {"parameterValues": values, "artifacts": artifacts}

    def outputs(self, ir, task, component) -> dict:
        """Where outputs are wanted. Parents exist, the paths themselves do not."""
        place = f"{ir['pipelineInfo']['name']}/{RUN_ID}/{task}/0e2cbb5d-5a1c"
        local = self.folder / "minio/mlpipeline/v2/artifacts" / place
        definitions = component.get("outputDefinitions", {})
        parameters = {name: {"outputFile": str(self.folder / "outputs" / task / name)} for name in definitions.get("parameters", {})}
        artifacts = {}
        for name, definition in {**definitions.get("artifacts", {}), "executor-logs": {"artifactType": {"schemaTitle": "system.Artifact"}}}.items():
            # customPath: the launcher's own /minio is not for a test to make.
            artifact = {"name": name, "type": definition["artifactType"], "metadata": {}, "customPath": str(local / name)}
            artifacts[name] = {"artifacts": [artifact | {"uri": f"minio://mlpipeline/v2/artifacts/{place}/{name}"}]}
        old = self.generation in v2_words.BEFORE_2_15
        metadata = (self.folder / "outputs" / task if old else local) / "output_metadata.json"
        for path in [*(p["outputFile"] for p in parameters.values()), *(a["artifacts"][0]["customPath"] for a in artifacts.values()), metadata]:
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        return {"parameters": parameters, "artifacts": artifacts, "outputFile": str(metadata)}


def load(path: pathlib.Path) -> dict:
    """The IR, without the platform's document."""
    return next(yaml.safe_load_all(path.read_text(encoding="utf-8")))
