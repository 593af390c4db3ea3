# SPDX-License-Identifier: Apache-2.0
"""One function for every way to declare a parameter in the Kubeflow Pipelines SDK 2, and containers and pipelines."""
from typing import Any, Dict, List, NamedTuple, Optional

from describe import describe, echo_into
from kfp import dsl, kubernetes
from kfp.dsl import (
    HTML,
    Artifact,
    ClassificationMetrics,
    ConcatPlaceholder,
    ContainerSpec,
    Dataset,
    IfPresentPlaceholder,
    Input,
    InputPath,
    Markdown,
    Metrics,
    Model,
    Output,
    OutputPath,
)

PACKAGES = {"packages": ["PyYAML==6.0.3", "urllib3<3"]}  # function → packages_to_install
BARE = {"without_kfp"}  # functions whose command must not install the SDK


def values(count: int, rate: float, text: str, flag: bool, items: list, options: dict, echo: OutputPath(str)):
    echo_into(echo, count=count, rate=rate, text=text, flag=flag, items=items, options=options)


def defaults(
    echo: OutputPath(str),
    count: int = 3,
    negative: int = -5,
    rate: float = 0.5,
    tiny: float = 1e-05,
    whole: float = 2.0,
    text: str = "plain",
    yes: bool = True,
    no: bool = False,
    items: list = [64, 0.5, "a b", True, [1]],
    options: dict = {"nested": {"rates": [1, 0.5, False, "x"]}},  # one key: the SDK's comment on top has them in random order
):
    echo_into(
        echo,
        count=count,
        negative=negative,
        rate=rate,
        tiny=tiny,
        whole=whole,
        text=text,
        yes=yes,
        no=no,
        items=items,
        options=options,
    )


def odd_texts(
    echo: OutputPath(str),
    double_quotes: str = 'say "hi"',
    single_quotes: str = "it's",
    unicode: str = "Größe 猫 🐈",
    tab: str = "a\tb",
    dollar: str = "$HOME ${HOME} $$ `id`",
    kubernetes: str = "$(HOME) $$(HOME)",
    argo: str = "{{workflow.name}} {{",
    backslash: str = "C:\\new \\\\",
    empty: str = "",
    dash: str = "-dash",
    number: str = "007",
    boolean: str = "true",
    null: str = "null",
    yaml: str = "a: [b, c] # d",
):
    echo_into(
        echo,
        double_quotes=double_quotes,
        single_quotes=single_quotes,
        unicode=unicode,
        tab=tab,
        dollar=dollar,
        kubernetes=kubernetes,
        argo=argo,
        backslash=backslash,
        empty=empty,
        dash=dash,
        number=number,
        boolean=boolean,
        null=null,
        yaml=yaml,
    )


def lines(echo: OutputPath(str), text: str = "first\n  second\n"):
    """The SDK writes such a default into the comment on top of its YAML, and so breaks it; its JSON is sound."""
    echo_into(echo, text=text)


def optionals(
    echo: OutputPath(str),
    count: Optional[int] = None,
    rate: Optional[float] = None,
    text: Optional[str] = None,
    flag: Optional[bool] = None,
    items: Optional[list] = None,
    options: Optional[dict] = None,
    data: Optional[Input[Dataset]] = None,
):
    echo_into(echo, count=count, rate=rate, text=text, flag=flag, items=items, options=options, data=data)


def generics(items: List[int], options: Dict[str, float], echo: OutputPath(str), more: List[Dict[str, Any]] = [{"a": 1}]):
    echo_into(echo, items=items, options=options, more=more)


def artifacts(
    train_dataset: Input[Dataset],
    anything: Input[Artifact],
    model_dir: Output[Model],
    metrics: Output[Metrics],
    curve: Output[ClassificationMetrics],
    page: Output[HTML],
    notes: Output[Markdown],
    other: Output[Artifact],
    echo: OutputPath(str),
    batch_size: int = 32,
):
    import os

    echo_into(
        echo,
        train_dataset=train_dataset,
        anything=anything,
        model_dir=model_dir,
        metrics=metrics,
        curve=curve,
        page=page,
        notes=notes,
        other=other,
        batch_size=batch_size,
    )
    os.makedirs(os.path.join(model_dir.path, "variables"))
    for name in ("model.txt", "variables/weights.txt"):
        with open(os.path.join(model_dir.path, name), "w") as file:
            file.write(f"This is {name}")
    model_dir.metadata["framework"] = "none"
    metrics.log_metric("accuracy", 0.9375)
    metrics.log_metric("loss", 0.25)
    curve.log_confusion_matrix(["cat", "dog"], [[9, 1], [2, 8]])
    for artifact in (page, notes, other):
        with open(artifact.path, "w") as file:
            file.write(f"This is {artifact.name}")


def paths(
    train_dataset: InputPath("Dataset"),
    validation_dataset: InputPath(),
    model_dir: OutputPath("Model"),
    notes: OutputPath(),
    text: OutputPath(str),
    count: OutputPath(int),
    rate: OutputPath(float),
    flag: OutputPath(bool),
    items: OutputPath(list),
    options: OutputPath(dict),
    echo: OutputPath(str),
):
    echo_into(
        echo,
        train_dataset=train_dataset,
        validation_dataset=validation_dataset,
        model_dir=model_dir,
        notes=notes,
        text=text,
        count=count,
    )
    contents = {model_dir: "a model of one file", notes: "notes", text: "text: Ä\n", count: "7", rate: "0.125", flag: "True"}
    contents.update({items: '[1, "a", 0.5]', options: '{"a": {"b": 1.5}}'})
    for path, content in contents.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)


def returns(
    count: int, echo: OutputPath(str)
) -> NamedTuple("Outputs", twice=int, half=float, text=str, flag=bool, items=list, options=dict):
    echo_into(echo, count=count)
    outputs = NamedTuple("Outputs", twice=int, half=float, text=str, flag=bool, items=list, options=dict)
    return outputs(count * 2, count / 2, f"{count}: Ä\n", count > 1, [count, str(count)], {"count": count, "nested": {"n": 1.5}})


def one_return(text: str) -> str:
    return text + "!"


def one_dict(count: int = 2) -> dict:
    return {"count": count}


def packages(echo: OutputPath(str), text: str = "a: [1, 2]"):
    import yaml

    echo_into(echo, parsed=yaml.safe_load(text), version=yaml.__version__)


def without_kfp(echo: OutputPath(str), text: str = "no installation at all"):
    echo_into(echo, text=text)


FUNCTIONS = [
    *(values, defaults, odd_texts, lines, optionals, generics, artifacts, paths),
    *(returns, one_return, one_dict, packages, without_kfp),
]

SCRIPT = """
import json, os, sys
arguments, model, count, echo = sys.argv[1:-3], *sys.argv[-3:]
os.makedirs(model)
with open(os.path.join(model, "model.txt"), "w") as file:
    file.write("This is model.txt")
with open(count, "w") as file:
    file.write("12")
got = {"arguments": arguments, "data": "none"}
if os.path.isdir(arguments[-1]):
    got["data"] = sorted(os.listdir(arguments.pop()))
with open(echo, "w") as file:
    json.dump(got, file, indent=1, sort_keys=True, ensure_ascii=False)
"""


@dsl.container_component
def container(
    epochs: int,
    rate: float,
    flag: bool,
    items: list,
    options: dict,
    model_dir: Output[Model],
    count: OutputPath(int),
    echo: OutputPath(str),
    text: str = '$(HOME) "quoted" {{argo}}',
    mode: Optional[str] = None,
    steps: Optional[int] = None,
    data: Optional[Input[Dataset]] = None,
):
    return ContainerSpec(
        image="python:3.11",
        command=["python3", "-c", SCRIPT],
        args=[
            *("--epochs", epochs, "--rate", rate, "--flag", flag, "--items", items, "--options", options, "--text", text),
            ConcatPlaceholder(["--both=", epochs, "/", flag]),
            IfPresentPlaceholder("mode", then=["--mode", mode], else_=["--no-mode"]),
            IfPresentPlaceholder("steps", then=[ConcatPlaceholder(["--steps=", steps])]),
            ConcatPlaceholder(["mode:", IfPresentPlaceholder("mode", then=ConcatPlaceholder(["<", mode, ">"]), else_="none")]),
            IfPresentPlaceholder("data", then=[data.path]),
            *(model_dir.path, count, echo),
        ],
    )


@dsl.container_component
def container_plain(echo: OutputPath(str), first: str = "a", second: int = 2):
    """No artifacts and no executor input: shell, flags and a default of each type."""
    return ContainerSpec(
        image="debian:12",
        command=["sh", "-ec", 'mkdir -p "$(dirname "$1")"; printf "[\\"%s\\", %s, \\"%s\\"]" "$2" "$3" "$4" > "$1"', "sh"],
        args=[echo, first, second, "$(HOME) $$ {{x}}"],
    )


def component(function):
    return dsl.component(
        function,
        base_image="python:3.11",
        packages_to_install=PACKAGES.get(function.__name__),
        install_kfp_package=function.__name__ not in BARE,
        additional_funcs=HELPERS,
    )


def one_step(function):
    """A pipeline of one step: some inputs are constants there, one is the pipeline's own with another default."""
    step = component(function)

    @dsl.pipeline(name="one-step")
    def one_step_pipeline(count: int = 7, text: str = "from the pipeline"):
        step(count=count, text=text, rate=0.125, items=[1, "two"], options={"constant": True, "n": 1})

    return one_step_pipeline


def on_kubernetes(function):
    """The same with settings for Kubernetes and resources: a second document."""
    step = component(function)

    @dsl.pipeline(name="on-kubernetes")
    def on_kubernetes_pipeline():
        task = step(count=11).set_cpu_limit("1").set_memory_limit("2G").set_env_variable("GREETING", "hello $(HOME)")
        kubernetes.add_node_selector(task, "disk", "fast")
        kubernetes.add_toleration(task, key="gpu", operator="Exists", effect="NoSchedule")
        kubernetes.use_secret_as_env(task, secret_name="keys", secret_key_to_env={"key": "KEY"})
        kubernetes.set_image_pull_policy(task, "Always")
        kubernetes.set_timeout(task, 3600)

    return on_kubernetes_pipeline


HELPERS = [describe, echo_into]


def specifications():
    """File name → what is compiled into it."""
    made = {f"{function.__name__}.v2.yaml": component(function) for function in FUNCTIONS}
    made["lines.v2.json"] = component(lines)
    made["values.v2.json"] = component(values)
    made["container.v2.yaml"] = container
    made["container.v2.json"] = container
    made["container_plain.v2.yaml"] = container_plain
    made["one_step.v2.yaml"] = one_step(defaults)
    made["on_kubernetes.v2.yaml"] = on_kubernetes(defaults)
    return made
