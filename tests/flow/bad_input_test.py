# SPDX-License-Identifier: Apache-2.0
"""Bad input ends at once: exit code 2, one message with place and remedy, nothing started, little memory.

Every case runs with this build's sanitizers and with the release file, whose time and memory are limited.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import time

import pytest
from conftest import PROGRAM, ROOT
from surroundings import clean_environment

RELEASE = ROOT / "build/release/trainstep"
PLAIN = json.dumps({"image": "none", "command": ["true"]})
PLAIN_MODEL = json.dumps({"image": "none", "command": ["true", {"outputPath": "model_dir"}]})
COMPONENT = json.dumps(
    {
        "name": "train",
        "inputs": [{"name": "epochs", "type": "Integer", "default": "3"}, {"name": "batch_size", "type": "Integer"}, {"name": "data", "type": "Dataset"}],
        "outputs": [{"name": "model", "type": "Model"}],
        "implementation": {
            "container": {"image": "none", "command": ["true", {"inputValue": "epochs"}, {"inputValue": "batch_size"}, {"inputPath": "data"}, {"outputPath": "model"}]}
        },
    }
)
SEVERAL = (ROOT / "tests/unit/spec/data/v2_two_steps.yaml").read_text(encoding="utf-8")
DEPTH = 100_000
MEGABYTE = 1 << 20


def bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    return "\n".join(lines)


def specification(text, *others):
    return ["--train-specification", text, *others]


def with_plain(flag, value):
    return specification(PLAIN, flag, value if isinstance(value, (str, bytes)) or callable(value) else json.dumps(value))


def distribution(**keys):
    return with_plain("--distribution-specification", keys)


def options(**keys):
    return with_plain("--job-options", keys)


def parameters(**keys):
    return specification(COMPONENT, "--train-dataset-dir", ".", "--train-parameters", json.dumps(keys))


def workers(value):
    return distribution(distribution_type="PyTorch", number_of_workers=value)


BAD_WORKERS = "distribution_specification.number_of_workers: expected an integer from 1 to 10000, got"
NO_QUANTITY = "is not a valid quantity"
FORMALS = "epochs (Integer, optional), batch_size (Integer, required), data (path, required)"
DEEP = "nested deeper than 200 levels"

# name → (words of the command line, what the message must hold). Functions make long texts: the kernel counts this process's peak for its children, too.
CASES = {
    "unknown key of the distribution": (distribution(number_of_wokers=2), ['distribution_specification: unknown key "number_of_wokers"', '"number_of_workers"']),
    "unknown key of the options": (options(enviroment={}), ['job_options: unknown key "enviroment"', '"environment"']),
    "unknown key of a policy": (options(run_policy={"backofflimit": 1}), ['job_options.run_policy: unknown key "backofflimit"', '"backoff_limit"']),
    "no workers": (workers(0), [BAD_WORKERS, "0"]),
    "negative workers": (workers(-1), [BAD_WORKERS, "-1"]),
    "half a worker": (workers(2.5), [BAD_WORKERS, "2.5"]),
    "workers in words": (workers("abc"), [BAD_WORKERS, '"abc"']),
    "a thousand million workers": (workers(10**9), [BAD_WORKERS, "1000000000"]),
    "true workers": (workers(True), [BAD_WORKERS, "true"]),
    "too many digits": (workers("9" * 30), [BAD_WORKERS]),
    "several workers of one pod": (distribution(number_of_workers=2), ["got 2, but a Job is one pod", "PyTorch, MPI, TF", '"indexed": true']),
    "unknown type": (distribution(distribution_type="Torch"), ['distribution_type: unknown value "Torch"', "Job, PyTorch, MPI, TF"]),
    "key of another type": (distribution(launcher_cpus=1), ["launcher_cpus: not supported with distribution_type", "only with MPI"]),
    "GB for a step": (with_plain("--memory", "1GB"), ['memory: "1GB"', NO_QUANTITY, "1Gi", "1G "]),
    "GB for workers": (distribution(worker_memory="1GB"), ['distribution_specification.worker_memory: "1GB"', "1Gi", "1G "]),
    "no quantity": (with_plain("--cpus", "many"), ['cpus: "many"', NO_QUANTITY, "500m"]),
    "negative quantity": (with_plain("--cpus", "-1"), ['cpus: "-1" is negative', "0 or more"]),
    "half a GPU": (with_plain("--gpus", "0.5"), ['gpus: "0.5"', "not an integer"]),
    "pattern of a metric": (options(metrics=[{"name": "loss", "regex": "loss is ([0-9.]+"}]), ['job_options.metrics[0].regex: missing ): "loss is ([0-9.]+"']),
    "look-around": (options(metrics=[{"name": "a", "regex": "(?<=x)([0-9])"}]), ["job_options.metrics[0].regex: invalid perl operator", "look-around is not supported"]),
    "pattern of a secret": (options(metrics=[{"name": "a", "regex": "password=hunter2-9xQ ("}]), ["job_options.metrics[0].regex: missing ): a string (not shown)"]),
    "size of a claim": (with_plain("--pvc-size", "10GB"), ['pvc_size: "10GB"', "10Gi"]),
    "unknown parameter": (parameters(batch_size=1, data="train_dataset_dir", epoch=2), ["no parameter 'epoch'", "'epochs'", FORMALS]),
    "missing parameter": (parameters(data="train_dataset_dir"), ["train_parameters.batch_size: is missing", FORMALS]),
    "parameter that does not fit": (parameters(batch_size="x", data="train_dataset_dir"), ['train_parameters.batch_size: expected an integer, got "x"']),
    "path that is none": (parameters(batch_size=1, data="/data"), ["train_parameters.data: expected the name", "'/data'", "train_dataset_dir"]),
    "path that is not given": (parameters(batch_size=1, data="validation_dataset_dir"), ["train_parameters.data", "this step has: train_dataset_dir"]),
    "no path at all": (specification(COMPONENT, "--train-parameters", '{"batch_size": 1}'), ["train_parameters.data: is missing", "set train_dataset_dir"]),
    "several executors": (specification(SEVERAL), ["has several steps", "job_options.component", "fit, prepare"]),
    "executor that is none": (specification(SEVERAL, "--job-options", '{"component": "fits"}'), ["job_options.component", '"fits"', "fit, prepare"]),
    "YAML that is not closed": (specification('image: a\ncommand: [a, "b'), ["train_specification: line 2, column", "unterminated string"]),
    "YAML with a tab": (specification("image: a\ncommand:\n\t- a"), ["train_specification: line 3, column 2", "spaces"]),
    "JSON that is not closed": (specification('{"image": "a", "command": ["x"}'), ["train_specification: line 1, column 31", "cannot be closed"]),
    "JSON with a comma too many": (with_plain("--train-parameters", '{"a": 1,}'), ["train_parameters: line 1, column 9", "comma"]),
    "Python instead of JSON": (with_plain("--train-parameters", "{'a': True}"), ["train_parameters: line 1, column 2", "json.dumps"]),
    "list instead of an object": (with_plain("--train-parameters", "[1]"), ["train_parameters: expected an object, got a list"]),
    "bomb of aliases": (specification(bomb()), ["train_specification: line 6, column", "more than 1000000 values"]),
    "alias within itself": (specification("image: &a [*a]"), ["line 1, column 12", "alias"]),
    "deep YAML lists": (specification("a: " + "[" * DEPTH + "]" * DEPTH), ["train_specification: line 1, column 203", DEEP]),
    "deep YAML maps": (specification("a: " + "{a: " * DEPTH + "}" * DEPTH), ["train_specification: line 1, column", DEEP]),
    "deep YAML blocks": (specification("\n".join(" " * depth + "a:" for depth in range(3000))), ["train_specification: line 201, column 201", DEEP]),
    "deep YAML items": (specification("- " * DEPTH + "x"), ["train_specification: line 1, column 401", DEEP]),
    "deep JSON lists": (specification('{"a": ' + "[" * DEPTH + "]" * DEPTH + "}"), ["train_specification: line 1, column", DEEP]),
    "deep JSON objects": (specification('{"a":' * DEPTH + "1" + "}" * DEPTH), ["train_specification: line 1, column 1001", DEEP]),
    "deep parameters": (with_plain("--train-parameters", '{"a":' * DEPTH + "1" + "}" * DEPTH), ["train_parameters: line 1, column 1001", DEEP]),
    "deep lists in parameters": (with_plain("--train-parameters", '{"a":' + "[" * DEPTH + "]" * DEPTH + "}"), ["train_parameters: line 1, column", DEEP]),
    "deep options": (with_plain("--job-options", '{"a":' * DEPTH + "1" + "}" * DEPTH), ["job_options: line 1, column 1001", DEEP]),
    "50 MB of text": (specification(lambda: b"x" * 50 * MEGABYTE), ["train_specification: ", "larger than 16777216 bytes"]),
    "50 MB of parameters": (specification(PLAIN, "--train-parameters", lambda: b'{"a": "' + b"x" * 50 * MEGABYTE), ["train_parameters: ", "larger than 16777216 bytes"]),
    "16 MB of numbers": (specification(PLAIN, "--train-parameters", lambda: b'{"a": [' + b"1," * 7 * MEGABYTE + b"1]}"), ["train_parameters: line 1", "more than 1000000 values"]),
    "selector of 100,000 labels": (with_plain("--node-selector", "".join(f"a{i}: b\n" for i in range(100_000))), ["node_selector: line 1001", "more than 1000 labels"]),
    "endless file": (specification("@/dev/zero"), ["train_specification: /dev/zero is larger"]),
    "missing file": (specification("@none.yaml"), ["train_specification: cannot read none.yaml", "@@"]),
    "folder as a file": (specification("@."), ["train_specification: . is a folder"]),
    "name of a file": (specification("train.yaml"), ["'train.yaml' is a file name", "@train.yaml"]),
    "no base64": (specification("base64:%%"), ["train_specification: not valid base64", "position 1"]),
    "invalid UTF-8 in JSON": (specification(b'{"image": "\xff"}'), ["train_specification: line 1, column 12", "0xFF", "UTF-8"]),
    "invalid UTF-8 in YAML": (specification(b"image: a\ncommand: [\xc3]"), ["train_specification: line 2, column 11", "0xC3", "UTF-8"]),
    "invalid UTF-8 in parameters": (with_plain("--train-parameters", b'{"a": "\xe2\x82"}'), ["train_parameters: line 1, column 8", "UTF-8"]),
    "integer beyond 64 bits": (with_plain("--train-parameters", '{"a": 100000000000000000000}'), ["train_parameters: line 1, column 7", "exceeds 64 bits", "quotes"]),
    "integer beyond 64 bits in YAML": (specification("image: a\ncommand: [x, 18446744073709551616]"), ["train_specification: line 2, column 14", "exceeds 64 bits"]),
    "integer of 70 bits": (parameters(batch_size="1180591620717411303424", data="train_dataset_dir"), ["train_parameters.batch_size: ", "64 bits"]),
    "number that is too small": (with_plain("--train-parameters", '{"a": 1e-400}'), ["train_parameters: line 1, column 7", "too small"]),
    "chief without servers": (distribution(distribution_type="TF", number_of_parameter_servers=0, chief_cpus=1), ["chief_cpus: requires parameter servers"]),
    "half a character": (specification('{"image": "\\ud800"}'), ["train_specification: line 1, column 12", "unpaired surrogate"]),
    "NUL character": (options(environment={"A": "a\0b"}), ["job_options.environment: the value of A contains a NUL character"]),
    "key twice in JSON": (specification('{"image": "a",\n"image": "b"}'), ["train_specification: line 2, column 1", "duplicate key 'image'"]),
    "key twice in YAML": (specification("image: a\ncommand: [x]\nimage: b"), ["train_specification: line 3, column 1", "duplicate key 'image'"]),
    "key twice in parameters": (with_plain("--train-parameters", '{"a": 1, "a": 2}'), ["train_parameters: line 1, column 10", "duplicate key 'a'"]),
    "model name": (with_plain("--model-name", "My Model!"), ['model_name: "My Model!"', 'did you mean "my-model"?']),
    "long model name": (with_plain("--model-name", "a" * 400), ["model_name: ", "at most 63"]),
    "namespace": (with_plain("--namespace", "A B"), ['namespace: "A B"', "lower-case letters"]),
    "run id": (with_plain("--run-id", "../x"), ['run_id: "../x"', "letters"]),
    "mount": (with_plain("--train-mount", "train"), ['train_mount: "train"', "/train"]),
    "selector": (with_plain("--node-selector", "gpu"), ['node_selector: line 1: "gpu" has no value', 'key: "value"']),
    "limit": (options(limits={"running": "soon"}), ['job_options.limits.running: "soon"', "1h30m"]),
    "logs of nobody": (options(logs="wroker-0"), ['job_options.logs: "wroker-0"', "all, primary, none"]),
    "logs of a replica that is not there": (options(logs=["primary", "main-1"]), ["job_options.logs: unknown replica main-1; expected one of main"]),
    "variable": (options(environment={"A=B": "x"}), ['job_options.environment: "A=B"']),
    "replicas": (options(replicas={"Wrker": {}}), ["job_options.replicas.Wrker", "Worker"]),
    "variable with a line break": (options(environment={"A\nB": "x"}), ['job_options.environment: "A\\nB" is not a valid variable name']),
    "variable of the specification": (specification('{"image": "a", "command": ["x"], "env": {"A=B": "1"}}'), ['train_specification: "A=B" is not a valid variable name']),
    "word that no command line can hold": (specification('{"image": "a", "command": ["echo", "a\\u0000b"]}'), ["'a' in the program's command contains a NUL character"]),
    "claim that is empty": (options(volumes=[{"mount_path": "/d", "claim": ""}]), ["job_options.volumes[0].claim: is empty", "empty_dir"]),
    "Secret that is empty": (options(replicas={"Main": {"volumes": [{"mount_path": "/d", "secret": " "}]}}), ["job_options.replicas.Main.volumes[0].secret: is empty"]),
    "volume of ours": (options(volumes=[{"name": "train", "mount_path": "/d", "claim": "c"}]), ['volumes[0].name: "train" is reserved for a volume of trainstep']),
    "two mounts at one path": (options(volumes=[{"mount_path": "/d", "claim": "c"}, {"mount_path": "/d/", "claim": "e"}]), ["volumes[1].mount_path: /d is already used"]),
    "truth of a volume": (options(volumes=[{"mount_path": "/d", "claim": "c", "read_only": "maybe"}]), ["job_options.volumes[0].read_only: expected true or false"]),
    "thousandths of a byte": (with_plain("--memory", "512m"), ['memory: "512m" is 0.512 bytes', "512Mi or 512M"]),
    "memory without a unit": (distribution(worker_memory=32), ['distribution_specification.worker_memory: "32" is 32 bytes', "32Gi"]),
    "claim without a unit": (with_plain("--pvc-size", "10"), ['pvc_size: "10" is 10 bytes', "10Gi"]),
    "exponent and unit": (with_plain("--memory", "1e3Mi"), ['memory: "1e3Mi"', NO_QUANTITY, "mutually exclusive"]),
    "no quantity in requests": (options(requests={"cpu": "abc"}), ['job_options.requests.cpu: "abc"', NO_QUANTITY]),
    "image with a blank": (specification('{"image": "a b", "command": ["x"]}'), ['train_specification.image: "a b" is not a valid image name']),
    "image of one type": (options(replicas={"Main": {"image": "a\tb"}}), ["job_options.replicas.Main.image", "is not a valid image name"]),
    "word of 200 kB": (specification(lambda: json.dumps({"image": "a", "command": ["x", "y" * 200_000]}).encode()), ["train_specification: an argument", "200000 bytes", "131071"]),
    "parameter of 200 kB": (
        specification(COMPONENT, "--train-dataset-dir", ".", "--train-parameters", lambda: json.dumps({"batch_size": 1, "epochs": "1" * 200_000}).encode()),
        ["train_parameters.epochs: "],
    ),
    "variable of 200 kB": (with_plain("--job-options", lambda: json.dumps({"environment": {"A": "y" * 200_000}}).encode()), ["environment: A has 200002 bytes", "131071"]),
    "placeholder of a pipeline": (with_plain("--model-name", "{{channel:task=a;name=b}}"), ["model_name: {{channel:task=a;name=b}} was not replaced"]),
    "specification that is a placeholder": (specification("{{inputs.parameters.specification}}"), ["train_specification: {{inputs.parameters.specification}} was not replaced"]),
    "placeholder of a template": (
        ["--files-in", "/inputs", *with_plain("--memory", "{{workflow.parameters.memory}}")],
        ["memory: {{workflow.parameters.memory}} was not replaced"],
    ),
    "folder of a template": (["--files-in", "inputs", *specification(PLAIN)], ['files-in: "inputs" is not an absolute path']),
    "file of the step in a pipeline's value": (["--executor-input", "{{$}}", *with_plain("--train-parameters", "@/etc/passwd")], ["train_parameters: ", "is not read as a file", "pass the content"]),
    "task configuration": (with_plain("--task-config", {"volumes": [], "hostAliases": [{"ip": "::1"}]}), ["task_config.hostAliases: not supported"]),
    "empty argument of mpirun": (distribution(distribution_type="MPI", mpirun_arguments=["-x", ""]), ["mpirun_arguments[1]: is empty"]),
    "no specification": ([], ["train_specification: is missing", "image", "a command after --"]),
    "empty specification": (specification(""), ["train_specification: is missing"]),
    "image alone": (specification('{"image": "a"}'), ["train_specification.command: is missing", "python3"]),
    "manifest": (specification("apiVersion: v1\nkind: Pod"), ["Kubernetes manifest", "implementation", "deploymentSpec"]),
    "unknown flag": (with_plain("--modelname", "x"), ["unknown flag --modelname", "--model-name"]),
    "shortened flag": (["--train-spec", PLAIN], ["unknown flag --train-spec", "--train-specification"]),
    "flag twice": (specification(PLAIN, "--train-specification", PLAIN), ["--train-specification is specified twice"]),
    "flag without a value": (["--train-specification"], ["--train-specification requires a value"]),
    "stray word": (specification(PLAIN, "stray"), ['unexpected argument "stray"; quote values']),
    "value that looks like a flag": (with_plain("--model-name", "--report"), ['model_name: "--report"']),
    "executor input": (["--executor-input", "garbage"], ["executor-input: ", "{{$}}"]),
    "executor input of a wrong form": (["--executor-input", '{"inputs": 5}'], ["executor-input: ", "inputs: expected an object, got a number"]),
    "deep executor input": (["--executor-input", '{"a":' * DEPTH + "1" + "}" * DEPTH], ["executor-input: line 1, column 1001", DEEP]),
}
RUN_CASES = {
    "unknown command": (["walk"], ['unknown command "walk"', "run, render, check, list, attach, logs, stop, replay, completion, man"]),
    "command with a typo": (["runn"], ['unknown command "runn"; did you mean run?']),
    "flag of run with a typo": (["run", *with_plain("--log-levl", "debug")], ["unknown flag --log-levl; did you mean --log-level?"]),
    "flag of list with a typo": (["list", "--name_spac=x"], ["list: unknown flag --name-spac; did you mean --namespace?"]),
    "flag of stop with a typo": (["stop", "run-1", "--contxt", "x"], ["stop: unknown flag --contxt; did you mean --context?"]),
    "flag that attach does not have": (["attach", "run-1", "--gpus", "2"], ["attach: unknown flag --gpus; see trainstep --help"]),
    "stray words": (["logs", "run-1", "main", "more", "words"], ['logs: unexpected argument "more"']),
    "nothing": ([], ["expected a command: run, render, check, list, attach, logs, stop, replay, completion or man"]),
    "log format": (["run", *with_plain("--log-format", "xml")], ['--log-format: unknown format "xml"', "text or json"]),
    "cluster": (["run", *with_plain("--cluster", "moon")], ['--cluster: unknown value "moon"', "local"]),
    "explain is for render": (["run", *specification(PLAIN, "--explain")], ["unknown flag --explain"]),
    "run folder that is a file": (["run", *with_plain("--run-dir", "/etc/passwd")], ["run-dir: /etc/passwd is not a folder"]),
    "report that is a folder": (["run", *with_plain("--report", "/tmp")], ["report: /tmp is a folder"]),
    "report below a file": (["run", *with_plain("--report", "/etc/passwd/r.html")], ["report: /etc/passwd is not a folder"]),
    "place that takes no files": (["run", *with_plain("--metrics", "/proc/metrics.json")], ["metrics: ", "/proc"]),
    "name that is too long": (["run", *with_plain("--results", "a" * 250)], ["results: cannot write to ", "a name can have 255 bytes"]),
    "model with a name that is too long": (["run", *with_plain("--model-dir", "a" * 256)], ["model_dir: cannot write to ", "a name can have 255 bytes"]),
    "model whose path is no UTF-8": (["run", *specification(PLAIN_MODEL, "--model-dir", b"bad\xff")], ["model_dir: ", r"bad\xff is not valid UTF-8"]),
    "context for this machine": (["run", *with_plain("--cluster", "local"), "--context", "x"], ["--context: cannot be combined with --cluster local"]),
    "interpreter for a cluster": (["run", *with_plain("--cluster", "kubernetes"), "--python", "/usr/bin/python3"], ["--python: applies only to local runs"]),
    "folder for a cluster": (["run", *with_plain("--cluster", "kubernetes"), "--run-dir", "x"], ["--run-dir: applies only to local runs"]),
    "two outputs in one place": (["run", *specification(PLAIN, "--report", "same", "--metrics", "./same")], ["metrics and report: both name"]),
    "input that is a stream": (["run", *with_plain("--train-dataset-dir", "/dev/stdin")], ["train_dataset_dir: /dev/stdin is a stream", "write its contents to a file"]),
    "input that is a stream, for a cluster": (["run", *with_plain("--cluster", "kubernetes"), "--train-dataset-dir", "/proc/self/cwd"], ["train_dataset_dir: /proc/self/cwd"]),
    "input that is a device": (["run", *with_plain("--validation-dataset-dir", "/dev/zero")], ["validation_dataset_dir: /dev/zero is a device"]),
    "unknown version": (["render", *with_plain("--api-version", "v9")], ['"v9"', "batch/v1"]),
    "record that is not there": (["replay", "/nonexistent"], ["cannot read /nonexistent: No such file or directory"]),
    "record that is a folder": (["replay", "/"], ["/ is a folder; expected a file written by run --record"]),
    "record that is empty": (["replay", "/dev/null"], ["/dev/null is empty"]),
    "record without an end": (["replay", "/dev/zero"], ["/dev/zero, line 1: is longer than"]),
    "record that is none": (["replay", os.fspath(ROOT / "README.md")], ["README.md, line 1: "]),
    "record that cannot be made": (["run", *with_plain("--record", "/none/run.jsonl")], ["--record: cannot write /none/run.jsonl: No such file or directory"]),
    "stop without a run": (["stop"], ["stop: RUN is missing; see trainstep --help"]),
    "replay without a record": (["replay"], ["replay: FILE is missing"]),
    "attach with two files in one place": (["attach", "run-1", "--metrics", "../file", "--exit-code-file", "../file"], ["metrics", "exit-code-file", "file"]),
    "exit code file that cannot be made": (["list", "--exit-code-file", "/none/code"], ["--exit-code-file: cannot write /none/code: No such file or directory"]),
    "exit code file that is a folder": (["run", *with_plain("--exit_code_file", "/")], ["--exit-code-file: cannot write /: Is a directory"]),
    "exit code file that is a device": (["run", *with_plain("--exit-code-file", "/dev/null")], ["cannot write /dev/null: not a regular file"]),
    "no image for pods": (["render", *specification('{"image": "", "command": ["x"]}')], ["train_specification: no image"]),
    "patch of annotations": (["render", *options(patch={"metadata": {"annotations": "x"}})], ['job_options.patch: metadata.annotations: expected an object, but the patch makes it "x"']),
    "manifest for etcd": (
        ["render", *with_plain("--job-options", lambda: json.dumps({"environment": {f"A{i}": "$" * 60_000 for i in range(12)}}).encode())],
        ["the job's manifest has", "from job_options.environment"],
    ),
    "patch": (["render", *options(patch=[{"op": "remove", "path": "/none"}])], ["job_options.patch[0]", "does not apply"]),
}
PROGRAMS = {"this build": PROGRAM} | ({"release": RELEASE} if RELEASE.is_file() and not RELEASE.samefile(PROGRAM) else {})
BOTH = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
SANITIZED = subprocess.run(["grep", "-q", "__asan_init", PROGRAM], check=False).returncode == 0
LONGEST_WORD = 100_000


class Ended:
    def __init__(self, code, out, err, seconds, megabytes):
        self.code, self.out, self.err, self.seconds, self.megabytes = code, out, err, seconds, megabytes


def call(program, folder, words, environment=None):
    """Runs a program in the empty folder `folder`/here. What does not fit into an argument comes from a file."""
    here = folder / "here"
    here.mkdir()
    argv = [os.fspath(program)]
    for number, word in enumerate(words):
        text = word() if callable(word) else word
        if len(text) > LONGEST_WORD:
            file = folder / f"text{number}"
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
            text = f"@{file}"
        argv.append(text)
    environment = clean_environment() | (environment or {})
    begun = time.monotonic()
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(argv, cwd=here, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begun
    text = [(folder / name).read_bytes().decode(errors="replace") for name in ("out", "err")]
    return Ended(process.returncode, *text, seconds, usage.ru_maxrss / 1024)


def check(program, folder, words, parts):
    ended = call(program, folder, words)
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert ended.err.startswith("trainstep: ") and ended.err.count("trainstep: ") == 1, ended.err
    assert ended.err.count("\n") == 1 and ended.err.endswith("\n") and len(ended.err) < 800, ended.err
    for part in parts:
        assert part in ended.err
    assert list((folder / "here").iterdir()) == [], "something was started"
    slow = SANITIZED and program == PROGRAM
    assert ended.seconds < (20 if slow else 2)
    assert ended.megabytes < (2000 if slow else 300)


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_run(program, name, tmp_path):
    check(program, tmp_path, ["run", *CASES[name][0]], CASES[name][1])


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_render(name, tmp_path):
    check(PROGRAM, tmp_path, ["render", *CASES[name][0]], CASES[name][1])


@pytest.mark.parametrize("name", RUN_CASES)
def test_bad_calls_are_refused(name, tmp_path):
    check(PROGRAM, tmp_path, *RUN_CASES[name])


SECRET = "hunter2hunter2"
SECRETS = {
    "parameter": specification(
        '{"image": "a", "command": ["x", {"inputValue": "api_key"}], "inputs": [{"name": "api_key", "type": "Integer"}]}', "--train-parameters", '{"api_key": "%s"}' % SECRET
    ),
    "default": specification('{"image": "a", "command": ["x", {"inputValue": "token"}], "inputs": [{"name": "token", "type": "Integer", "default": "%s"}]}' % SECRET),
    "variable": options(environment={"password": [SECRET]}),
    "text without quotes": with_plain("--train-parameters", '{"password": %s}' % SECRET),
    "text in a file of YAML": specification("image: a\npassword: '%s" % SECRET),
    "address": with_plain("--memory", "https://me:%s@host" % SECRET),
    "signature": with_plain("--cpus", "https://host/x?X-Amz-Signature=%s" % SECRET),
    "address of a path": specification(COMPONENT, "--train-parameters", '{"batch_size": 1, "data": "https://me:%s@host", "model": "s3://me:%s@host"}' % (SECRET, SECRET)),
    "value elsewhere": with_plain("--job-options", {"environment": {"API_KEY": SECRET}, "logs": SECRET}),
}


@pytest.mark.parametrize("command", ["run", "render"])
@pytest.mark.parametrize("name", SECRETS)
def test_a_refusal_quotes_no_secret(command, name, tmp_path):
    ended = call(PROGRAM, tmp_path, [command, *SECRETS[name]])
    assert ended.code == 2 and ended.err.startswith("trainstep: ")
    assert SECRET not in ended.out + ended.err


NOT_HERE = {
    "data that are not there": (
        specification(COMPONENT, "--train-dataset-dir", "/none", "--train-parameters", '{"batch_size": 1, "data": "train_dataset_dir"}'),
        ["train_dataset_dir: /none does not exist"],
    ),
    "program that is not here": (specification('{"image": "a", "command": ["no-such-program"]}'), ["no-such-program not found", "--python"]),
    "interpreter that is not here": (with_plain("--python", "/none"), ["--python: /none is not a program"]),
}


@pytest.mark.parametrize("name", NOT_HERE)
def test_a_run_that_cannot_start_here_reports_why_and_leaves_nothing(name, tmp_path):
    words, parts = NOT_HERE[name]
    ended = call(PROGRAM, tmp_path, ["run", *words])
    assert ended.code == 2
    assert "failed (input): " in ended.out
    for part in parts:
        assert part in ended.out
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("written, canonical", [("pytorch", "PyTorchJob"), ("PYTORCH", "PyTorchJob"), ("mpi", "MPIJob"), ("tf", "TFJob"), ("job", "Job")])
def test_the_type_is_accepted_in_any_case_and_made_canonical(written, canonical, tmp_path):
    ended = call(PROGRAM, tmp_path, ["render", *distribution(distribution_type=written)])
    assert ended.code == 0, ended.err
    assert f"kind: {canonical}\n" in ended.out


WRONG = {
    "input": ["run", "--log-format", "json", *with_plain("--memory", "1GB")],
    "usage": ["run", "--log-format=json", *specification(PLAIN), "stray"],
    "flag": ["run", *specification(PLAIN), "--record", "--log_format", "json"],
    "place": ["run", "--log-format", "json", *with_plain("--cluster", "moon")],
    "record": ["replay", "--log-format", "json", "/nonexistent"],
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_lines_of_json_where_the_log_is(name, tmp_path):
    ended = call(PROGRAM, tmp_path, WRONG[name])
    assert ended.code == 2 and ended.out == "" and ended.err.count("\n") == 1
    line = json.loads(ended.err)
    assert set(line) == {"time", "source", "level", "message"} and line["source"] == "trainstep" and line["level"] == "error" and line["message"]


def test_an_unwritable_record_is_reported_and_does_not_end_the_training(tmp_path):
    ended = call(PROGRAM, tmp_path, ["run", "--record", "/dev/full", *specification('{"image": "none", "command": ["echo", "loss=1"]}')])
    assert ended.code == 0, ended.err
    assert ended.out.count("--record: cannot write /dev/full: No space left on device; the record is incomplete") == 1


def test_secrets_and_file_names_are_not_passed_on_and_this_is_reported(tmp_path):
    around = {
        "HTTPS_PROXY": "http://me:hunter22@proxy:3128", "REQUESTS_CA_BUNDLE": "/home/me/corp.pem",
        "PIP_INDEX_URL": "https://pypi.example.com/simple",
    }  # fmt: skip
    ended = call(PROGRAM, tmp_path, ["render", *options(environment={"HF_TOKEN": "hf-12345678"})], around)
    assert ended.code == 0
    assert "hunter22" not in ended.out + ended.err and "corp.pem" not in ended.out and "pypi.example.com" in ended.out
    assert "trainstep: HTTPS_PROXY is not passed on: it is a secret" in ended.err
    assert "trainstep: REQUESTS_CA_BUNDLE is not passed on: it names a file on this machine" in ended.err
    assert "trainstep: job_options.environment: the value of HF_TOKEN is part of the job" in ended.err and "hf-12345678" not in ended.err


def test_report_and_record_show_no_secret_and_are_the_owners(tmp_path):
    (tmp_path / "run.jsonl").touch(mode=0o666)
    program = 'echo "token is $HF_TOKEN" >&2; echo "clone https://gitlab-ci-token@host/x" >&2; echo "$1 $2" >&2; exit 1'
    component = {
        "name": "train",
        "inputs": [{"name": "api_key", "type": "String"}, {"name": "where", "type": "String"}],
        "implementation": {"container": {"image": "none", "command": ["sh", "-c", program, "sh", {"inputValue": "api_key"}, {"inputValue": "where"}]}},
    }
    parameters = {"api_key": "key-12345678", "where": "https://user:pass-12345678@host/"}
    words = ["--record", tmp_path / "run.jsonl", "--report", tmp_path / "report.html", "--train-parameters", json.dumps(parameters)]
    ended = call(PROGRAM, tmp_path, ["run", *specification(json.dumps(component)), "--job-options", '{"environment": {"HF_TOKEN": "hf-12345678"}}', *map(str, words)])
    assert ended.code == 1, ended.out + ended.err
    assert (tmp_path / "run.jsonl").stat().st_mode & 0o777 == 0o600
    for file in ("run.jsonl", "report.html"):
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert "token is [redacted]" in text, file
        for secret in ("hf-12345678", "key-12345678", "pass-12345678", "gitlab-ci-token"):
            assert secret not in text, f"{secret} in {file}"
    verdict = ended.out[ended.out.index("failed") :]
    assert "hf-12345678" not in verdict and "gitlab-ci-token" not in verdict


def test_report_and_record_show_no_part_of_a_secret(tmp_path):
    secret = "Corr3ctHorseBatteryStaple99"
    program = 'echo "$DB_PASSWORD" | cut -c1-16; echo "$DB_PASSWORD" | cut -c17-; echo "x $(echo "$DB_PASSWORD" | cut -c1-20)"; exit 1'
    words = ["--record", tmp_path / "run.jsonl", "--report", tmp_path / "report.html", "--job-options", json.dumps({"environment": {"DB_PASSWORD": secret}})]
    ended = call(PROGRAM, tmp_path, ["run", *specification(json.dumps({"image": "none", "command": ["sh", "-c", program]})), *map(str, words)])
    assert ended.code == 1, ended.out + ended.err
    events = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "".join(event["lines"] for event in events if event.get("event") == "output") == "[redacted]\n[redacted]\nx [redacted]\n"
    assert "Corr3ct" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_that_a_program_wrote_as_its_metrics_does_not_become_the_file(tmp_path):
    script = 'mkdir "$0"; echo \'{"loss": 5}\' >"$0/metrics.json"; echo loss=0.25'
    component = {"image": "none", "command": ["sh", "-c", script, {"outputPath": "metrics"}], "outputs": [{"name": "metrics", "type": "Metrics"}]}
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        ended = call(PROGRAM, folder, ["run", *specification(json.dumps(component)), "--metrics", str(tmp_path / "metrics.json")])
        assert ended.code == 0, ended.out + ended.err
        assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8")) == {"loss": 0.25}
        assert "is a folder, expected a file; ignoring its metrics" in ended.out
        kept = re.search(r"the folder that the program wrote there is not delivered; it is kept in (\S+) until the next run", ended.out)
        assert kept and json.loads(pathlib.Path(kept[1], "metrics.json").read_text(encoding="utf-8")) == {"loss": 5}


def test_many_metrics_take_no_quadratic_time(tmp_path):
    values = {f"m{i}": i for i in range(60_000)}
    (tmp_path / "values").write_text(json.dumps(values))
    component = {
        "image": "none", "command": ["sh", "-c", 'cp "$1" "$0"; cp "$1" "$2"', {"outputPath": "metrics"}, str(tmp_path / "values"), {"outputPath": "all"}],
        "outputs": [{"name": "metrics", "type": "Metrics"}, {"name": "all", "type": "JsonObject"}],
    }
    files = {"--metrics": "metrics.json", "--results": "results.json", "--report": "report.html", "--mlpipeline-metrics": "v1"}
    began = time.monotonic()
    ended = call(PROGRAM, tmp_path, ["run", *specification(json.dumps(component)), *(str(word) for flag, file in files.items() for word in (flag, tmp_path / file))])
    assert ended.code == 0, ended.out + ended.err
    assert time.monotonic() - began < 20  # with sanitizers; it was minutes
    assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8")) == values
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["all"] == values


def test_a_secret_number_is_not_a_metric(tmp_path):
    component = {
        "name": "train",
        "outputs": [{"name": "metrics", "type": "Metrics"}],
        "implementation": {
            "container": {
                "image": "none",
                "command": ["sh", "-c", """echo "pin=$PASSWORD hf_token=55512345 loss=0.25"; echo '{"code": 123456789, "loss_per_token": 0.5}' >"$0" """, {"outputPath": "metrics"}],
            }
        },
    }
    files = {name: tmp_path / name for name in ("report", "metrics", "record", "mlpipeline-metrics", "mlpipeline-ui-metadata")}
    ended = call(
        PROGRAM, tmp_path,
        ["run", *specification(json.dumps(component)), "--job-options", '{"environment": {"PASSWORD": "123456789"}}',
         *(word for name, file in files.items() for word in (f"--{name}", str(file)))],
    )
    assert ended.code == 0, ended.out + ended.err
    assert json.loads(files["metrics"].read_text(encoding="utf-8")) == {"loss": 0.25, "loss_per_token": 0.5}
    for name, file in files.items():
        text = file.read_text(encoding="utf-8")
        assert "123456789" not in text and "55512345" not in text, name


LAST_WORDS = {
    "a default": ('echo "$1"', [{"name": "api_key", "type": "String", "default": "hunter2-9xQ"}], {}),
    "a name": ('echo "$1"', [{"name": "github_pat", "type": "String"}], {"github_pat": "hunter2-9xQ"}),
    "JSON text": ('echo "$1"', [{"name": "cfg", "type": "String"}], {"cfg": '{"password": "hunter2-9xQ"}'}),
    "JSON text, its password": ('echo "$1" | cut -d\\" -f4', [{"name": "cfg", "type": "String"}], {"cfg": '{"password": "hunter2-9xQ"}'}),
    "a metric of its name": ('echo "token-$1=0.5"', [{"name": "api_key", "type": "String"}], {"api_key": "hunter2-9xQ"}),
    "a header": ('echo "ValueError: x-api-key: hunter2-9xQ"', [], {}),
    "a connection string": ('echo "ValueError: AccountKey=hunter2-9xQ;Suffix=x"', [], {}),
    "the shell's trace": ("set -x; export MY_TOKEN=hunter2-9xQ", [], {}),
}


@pytest.mark.parametrize("name", LAST_WORDS)
def test_the_last_lines_of_a_program_are_shown_without_secrets(tmp_path, name):
    script, inputs, parameters = LAST_WORDS[name]
    words = [{"inputValue": one["name"]} for one in inputs]
    component = {"image": "none", "command": ["sh", "-c", f"({script}) >&2; exit 1", "sh", *words], "inputs": inputs}
    files = {"--report": "report.html", "--record": "run.jsonl", "--mlpipeline-ui-metadata": "ui.json"}
    places = [str(word) for flag, file in files.items() for word in (flag, tmp_path / file)]
    ended = call(PROGRAM, tmp_path, ["run", *specification(json.dumps(component)), "--train-parameters", json.dumps(parameters), *places])
    assert ended.code == 1, ended.out + ended.err
    for file in files.values():
        assert "hunter2" not in (tmp_path / file).read_text(encoding="utf-8"), file
    assert not [line for line in ended.out.splitlines() if "hunter2" in line and not line.startswith("[main]")]


def test_an_exit_code_is_written_over_nothing_but_an_exit_code(tmp_path):
    (tmp_path / "data").write_text("1,2\n")
    words = ["run", *specification(json.dumps({"image": "none", "command": ["true"]})), "--exit-code-file"]
    refused = call(PROGRAM, tmp_path, [*words, str(tmp_path / "data")])
    assert refused.code == 2 and "data already has other contents; choose a new file" in refused.err
    assert (tmp_path / "data").read_text() == "1,2\n"
    (tmp_path / "code").write_text("143\n")
    (tmp_path / "again").mkdir()
    assert call(PROGRAM, tmp_path / "again", [*words, str(tmp_path / "code")]).code == 0
    assert (tmp_path / "code").read_text() == "0\n"


def test_a_model_keeps_its_place_when_something_else_cannot_be_written(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/older").write_text("older")
    component = {"image": "none", "command": ["sh", "-c", 'mkdir "$0"; echo new >"$0/new"', {"outputPath": "model_dir"}]}
    words = ["run", *specification(json.dumps(component)), "--model-dir", str(tmp_path / "model"), "--report", "/dev/full"]
    ended = call(PROGRAM, tmp_path, words)
    assert ended.code == 3 and "/dev/full" in ended.out + ended.err
    assert [entry.name for entry in (tmp_path / "model").iterdir()] == ["older"]


def test_results_hold_nan_in_one_way(tmp_path):
    component = {
        "name": "train",
        "outputs": [{"name": "best", "type": "Float"}, {"name": "all", "type": "JsonArray"}],
        "implementation": {
            "container": {"image": "none", "command": ["sh", "-c", 'echo nan >"$1"; echo "[1, Infinity, -Infinity, NaN]" >"$2"', "sh", {"outputPath": "best"}, {"outputPath": "all"}]}
        },
    }
    outputs = {
        "parameters": {"best": {"outputFile": str(tmp_path / "best")}, "results": {"outputFile": str(tmp_path / "results")}},
        "outputFile": str(tmp_path / "output.json"),
    }
    executor_input = {"inputs": {"parameterValues": {"train_specification": json.dumps(component)}}, "outputs": outputs}
    ended = call(PROGRAM, tmp_path, ["run", "--cluster", "local", "--executor-input", json.dumps(executor_input)])
    assert ended.code == 0, ended.out + ended.err
    wanted = {"best": "NaN", "all": [1, "Infinity", "-Infinity", "NaN"]}
    assert json.loads((tmp_path / "results").read_text()) == wanted
    values = json.loads((tmp_path / "output.json").read_text())["parameterValues"]
    assert values == {"best": "NaN", "results": wanted} and (tmp_path / "best").read_text() == "NaN"


@pytest.mark.parametrize("words, values", [([], ["NaN", "NaN"]), (["--python-json"], [math.nan, "NaN"])], ids=["texts", "numbers"])
def test_results_for_python_hold_nan_as_a_number(tmp_path, words, values):
    component = {
        "outputs": [{"name": "best", "type": "Float"}, {"name": "all", "type": "JsonArray"}],
        "implementation": {
            "container": {"image": "none", "command": ["sh", "-c", 'echo nan >"$1"; echo \'[NaN, "NaN"]\' >"$2"', "sh", {"outputPath": "best"}, {"outputPath": "all"}]}
        },
    }
    words = ["run", "--cluster", "local", *words, *specification(json.dumps(component)), "--results", str(tmp_path / "results")]
    ended = call(PROGRAM, tmp_path, words)
    assert ended.code == 0, ended.out + ended.err
    assert repr(json.loads((tmp_path / "results").read_text())) == repr({"best": values[0], "all": values})


OPTIONAL = {
    "outputs": [{"name": "best", "type": "Float", "annotations": {"optional": True}}],
    "implementation": {"container": {"image": "none", "command": ["sh", "-c", "echo trains", {"outputPath": "best"}]}},
}


def test_an_optional_value_may_be_omitted(tmp_path):
    words = ["--results", str(tmp_path / "results"), "--report", str(tmp_path / "report")]
    ended = call(PROGRAM, tmp_path, ["run", "--cluster", "local", *specification(json.dumps(OPTIONAL)), *words])
    assert ended.code == 0, ended.out + ended.err
    assert json.loads((tmp_path / "results").read_text()) == {"best": None} and "no value" in (tmp_path / "report").read_text()


def test_an_optional_value_is_rejected_as_a_parameter_before_the_training(tmp_path):
    outputs = {"parameters": {"best": {"outputFile": str(tmp_path / "best")}}, "outputFile": str(tmp_path / "output.json")}
    executor_input = {"inputs": {"parameterValues": {"train_specification": json.dumps(OPTIONAL)}}, "outputs": outputs}
    ended = call(PROGRAM, tmp_path, ["run", "--cluster", "local", "--executor-input", json.dumps(executor_input)])
    assert ended.code == 2 and "output best: the program may return None for it" in ended.err and "trains" not in ended.out
