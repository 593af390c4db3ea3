# SPDX-License-Identifier: Apache-2.0
"""One function for every way to declare a parameter in the Kubeflow Pipelines SDK 1.8."""
from typing import Dict, List, NamedTuple, Optional

from describe import describe, echo_into
from kfp.components import InputBinaryFile, InputPath, InputTextFile, OutputBinaryFile, OutputPath, OutputTextFile

PACKAGES = {"packages": ["PyYAML==6.0.3", "urllib3<3"], "missing_package": ["styles-probe==1.0"]}  # function → packages_to_install


def values(count: int, rate: float, text: str, flag: bool, items: list, options: dict, echo: OutputPath(str)):
    echo_into(echo, count=count, rate=rate, text=text, flag=flag, items=items, options=options)


def defaults(
    echo: OutputPath(str),
    count: int = 3,
    negative: int = -5,
    rate: float = 0.5,
    tiny: float = 1e-05,
    text: str = "plain",
    yes: bool = True,
    no: bool = False,
    items: list = [64, 0.5, "a b", None, True, [1]],
    options: dict = {"optimizer": "adam", "nested": {"rate": 1, "on": False}},
):
    echo_into(
        echo, count=count, negative=negative, rate=rate, tiny=tiny, text=text, yes=yes, no=no, items=items, options=options
    )


def not_finite(echo: OutputPath(str), best: float = float("inf"), missing: float = float("nan")):
    echo_into(echo, best=best, missing=str(missing))


def odd_texts(
    echo: OutputPath(str),
    double_quotes: str = 'say "hi"',
    single_quotes: str = "it's",
    unicode: str = "Größe 猫 🐈",
    lines: str = "first\n  second\n",
    tab: str = "a\tb",
    dollar: str = "$HOME ${HOME} $$ `id`",
    kubernetes: str = "$(HOME) $$(HOME)",
    argo: str = "{{workflow.name}} {{",
    executor_input: str = "{{$}} {{$.inputs.parameters['count']}}",
    backslash: str = "C:\\new \\\\",
    empty: str = "",
    dash_and_blank: str = "- a b",
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
        lines=lines,
        tab=tab,
        dollar=dollar,
        kubernetes=kubernetes,
        argo=argo,
        executor_input=executor_input,
        backslash=backslash,
        empty=empty,
        dash_and_blank=dash_and_blank,
        number=number,
        boolean=boolean,
        null=null,
        yaml=yaml,
    )


def leading_dash(echo: OutputPath(str), text: str = "-dash"):
    """The SDK's own command line cannot carry such a text: argparse takes it for a flag."""
    echo_into(echo, text=text)


def optionals(
    echo: OutputPath(str),
    count: int = None,
    rate: Optional[float] = None,
    text: str = None,
    flag: bool = None,
    items: list = None,
    options: dict = None,
    data_path: InputPath() = None,
):
    echo_into(echo, count=count, rate=rate, text=text, flag=flag, items=items, options=options, data=data_path)


def untyped(echo: OutputPath(), plain, number=3, text="x"):
    echo_into(echo, plain=plain, number=number, text=text)


def generics(echo: OutputPath(str), items: List[int], options: Dict[str, float], more: List[str] = ["a"]):
    echo_into(echo, items=items, options=options, more=more)


def paths(
    train_dataset_path: InputPath("Dataset"),
    validation_dataset_path: InputPath(),
    model_path: OutputPath("Model"),
    notes_path: OutputPath(),
    echo_path: OutputPath(str),
    learning_rate_schedule: str = "cosine",
):
    import os

    echo_into(
        echo_path,
        train_dataset=train_dataset_path,
        validation_dataset=validation_dataset_path,
        model=model_path,
        notes=notes_path,
        learning_rate_schedule=learning_rate_schedule,
    )
    os.makedirs(os.path.join(model_path, "variables"))
    for name in ("model.txt", "variables/weights.txt"):
        with open(os.path.join(model_path, name), "w") as file:
            file.write(f"This is {name}")
    with open(notes_path, "w") as file:
        file.write("one file")


def files(
    words_file: InputTextFile(str),
    raw_file: InputBinaryFile(),
    upper_file: OutputTextFile(str),
    copy_file: OutputBinaryFile("Blob"),
    echo_file: OutputTextFile(str),
):
    import json

    echo = {"words": describe(words_file), "raw": describe(raw_file), "upper": describe(upper_file), "copy": describe(copy_file)}
    json.dump(echo, echo_file, indent=1, sort_keys=True, ensure_ascii=False)
    upper_file.write("UPPER Ä\n")
    copy_file.write("bytes: ü".encode())


def suffixes(
    data_path: InputPath(),
    notes_file: InputTextFile(),
    model_dir: OutputPath("Model"),
    echo_file_path: OutputPath(str),
    log_path: str = "logs",
    words_file: str = "words",
    a_long_name_with_many_words: int = 1,
):
    echo_into(
        echo_file_path,
        data=data_path,
        notes=notes_file,
        model_dir=model_dir,
        log_path=log_path,
        words_file=words_file,
        a_long_name_with_many_words=a_long_name_with_many_words,
    )
    with open(model_dir, "w") as file:
        file.write("a model of one file")


def clash(data_path: InputPath(), data: str, echo: OutputPath(str)):
    """Both are called `data` once the suffix is gone, so the SDK calls the second one `data_2`."""
    echo_into(echo, path=data_path, text=data)


def returns(
    count: int, echo: OutputPath(str)
) -> NamedTuple(
    "Outputs", [("twice", int), ("half", float), ("text", str), ("flag", bool), ("items", list), ("options", dict)]
):
    echo_into(echo, count=count)
    return (count * 2, count / 2, f"{count}: Ä\n", count > 1, [count, str(count)], {"count": count, "nested": {"n": None}})


def one_return(text: str) -> str:
    return text + "!"


def one_number(rate: float) -> float:
    return rate * 2


def packages(echo: OutputPath(str), text: str = "a: [1, 2]"):
    import yaml

    echo_into(echo, parsed=yaml.safe_load(text), version=yaml.__version__)


def missing_package(echo: OutputPath(str)):
    import styles_probe

    echo_into(echo, version=styles_probe.__version__)
