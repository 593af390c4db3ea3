# SPDX-License-Identifier: Apache-2.0
"""The calls: which specification with which train parameters. The oracles run them with the SDKs, the test with trainstep."""
import dataclasses
import pathlib

DATA = pathlib.Path(__file__).resolve().parent / "data"
FOLDER, WORDS = "folder", "words.txt"  # in data/


@dataclasses.dataclass
class Case:
    name: str
    spec: str
    values: dict = dataclasses.field(default_factory=dict)  # formal → value
    inputs: dict = dataclasses.field(default_factory=dict)  # formal → (path of the step, what of data/ it is)
    outputs: dict = dataclasses.field(default_factory=dict)  # formal → path of the step
    returned: tuple = ()  # outputs that are returned values (version 1 only, version 2 knows)

    @property
    def sdk(self):
        return self.spec.split(".")[1]

    @property
    def data(self):
        return {formal: DATA / what for formal, (_, what) in self.inputs.items()}

    @property
    def train_parameters(self):
        return {**self.values, **{formal: path for formal, (path, _) in self.inputs.items()}, **self.outputs}


VALUES = {
    "count": 3,
    "rate": 0.25,
    "text": "plain",
    "flag": True,
    "items": [64, 0.5, "a b", True, [1]],
    "options": {"optimizer": "adam", "nested": {"rate": 1, "on": False}},
}
NULLS = {"items": [None, 1], "options": {"none": None}}  # version 2 of the SDK refuses these
OTHERS = {"count": -7, "rate": 1e-05, "text": "", "flag": False, "items": [], "options": {}}
AS_TEXT = {"count": "3", "rate": "0.25", "text": "3", "flag": "True", "items": '[64, "a"]', "options": '{"a": [1]}'}
WHOLE = {"count": 2.0, "rate": 2, "text": "2.0", "flag": True, "items": [1.0, 2], "options": {"n": 2.0}}
ODD = {
    "quotes": "say \"hi\", it's 'quoted'",
    "unicode": "Größe 猫 🐈 \u00a0",
    "lines": "first\n  second\r\n\n",
    "dollar": "$HOME ${HOME} $$ `id` $(HOME) $$(HOME)",
    "braces": "{{workflow.name}} {{inputs.parameters.x}} {{$ {{",
    "backslash": "C:\\new \\\\",
    "glob": "* ? [a-z] ~ ; | & > #",
    "json": '{"a": [1, 2]}',
    "name_of_a_path": "model",
    "long": "0123456789" * 1000,
}
RETURNED = ("twice", "half", "text", "flag", "items", "options")
BOTH = {"train_dataset": ("train_dataset_dir", FOLDER), "validation_dataset": ("validation_dataset_dir", WORDS)}
BOTH_SWAPPED = {"train_dataset": ("validation_dataset_dir", WORDS), "validation_dataset": ("train_dataset_dir", FOLDER)}
CONTAINER = {"epochs": 3, "rate": 0.5, "flag": True, "items": [1, "two", 0.5], "options": {"a": {"b": [1]}}}


def odd(version):
    return [Case(f"{version}_odd_{name}", f"values.{version}.yaml", {**VALUES, "text": text}) for name, text in ODD.items()]


V1 = [
    Case("v1_values", "values.v1.yaml", VALUES),
    Case("v1_values_null", "values.v1.yaml", {**VALUES, **NULLS}),
    Case("v1_values_others", "values.v1.yaml", OTHERS),
    Case("v1_values_as_text", "values.v1.yaml", AS_TEXT),
    *odd("v1"),
    Case("v1_odd_dash_and_blank", "values.v1.yaml", {**VALUES, "text": "- a b"}),
    Case("v1_odd_dash", "values.v1.yaml", {**VALUES, "text": "-dash"}),
    Case("v1_defaults", "defaults.v1.yaml"),
    Case("v1_defaults_some_given", "defaults.v1.yaml", {"count": 12, "yes": False, "no": True, "items": ["x"], "options": {"y": 1}}),
    Case("v1_not_finite", "not_finite.v1.yaml"),
    Case("v1_not_finite_given", "not_finite.v1.yaml", {"best": "0.5", "missing": "Infinity"}),
    Case("v1_odd_texts", "odd_texts.v1.yaml"),
    Case("v1_leading_dash", "leading_dash.v1.yaml"),
    Case("v1_leading_dash_replaced", "leading_dash.v1.yaml", {"text": "no dash"}),
    Case("v1_optionals", "optionals.v1.yaml"),
    Case("v1_optionals_null", "optionals.v1.yaml", {"count": None, "text": None, "options": None}),
    Case("v1_optionals_given", "optionals.v1.yaml", VALUES, {"data": ("train_dataset_dir", FOLDER)}),
    Case("v1_untyped", "untyped.v1.yaml", {"plain": "text"}),
    Case("v1_untyped_number", "untyped.v1.yaml", {"plain": "5", "number": 4, "text": "given"}),
    Case("v1_generics", "generics.v1.yaml", {"items": [1, 2], "options": {"a": 0.5}}),
    Case("v1_paths", "paths.v1.yaml", {}, BOTH, {"model": "model_dir"}),
    Case("v1_paths_swapped", "paths.v1.yaml", {"learning_rate_schedule": "step"}, BOTH_SWAPPED),
    Case("v1_files", "files.v1.yaml", {}, {"words": ("train_dataset_dir", WORDS), "raw": ("validation_dataset_dir", WORDS)}),
    Case("v1_suffixes", "suffixes.v1.yaml", {}, {"data": BOTH["train_dataset"], "notes": BOTH["validation_dataset"]}, {"model_dir": "model_dir"}),
    Case(
        "v1_suffixes_values",
        "suffixes.v1.yaml",
        {"log_path": "other logs", "words_file": "w", "a_long_name_with_many_words": 9},
        {"data": BOTH["train_dataset"], "notes": BOTH["validation_dataset"]},
    ),
    Case("v1_clash", "clash.v1.yaml", {"data_2": "the text"}, {"data": BOTH["train_dataset"]}),
    Case("v1_returns", "returns.v1.yaml", {"count": 3}, returned=RETURNED),
    Case("v1_returns_others", "returns.v1.yaml", {"count": -1}, returned=RETURNED),
    Case("v1_one_return", "one_return.v1.yaml", {"text": "hello"}, returned=("Output",)),
    Case("v1_one_number", "one_number.v1.yaml", {"rate": 0.125}, returned=("Output",)),
    Case("v1_packages", "packages.v1.yaml"),
    Case("v1_handwritten", "handwritten.v1.yaml", {"rate": 0.5}),
    Case("v1_handwritten_all", "handwritten.v1.yaml", {"rate": 1e-07, "mode": "fast", "verbose": True, "epochs": 12, "options": {"x": [None]}}),
    Case("v1_handwritten_data", "handwritten.v1.yaml", {"rate": 2}, {"Train Data": ("train_dataset_dir", FOLDER)}, {"model": "model_dir"}),
]

V2 = [
    Case("v2_values", "values.v2.yaml", VALUES),
    Case("v2_values_json", "values.v2.json", VALUES),
    Case("v2_values_others", "values.v2.yaml", OTHERS),
    Case("v2_values_whole", "values.v2.yaml", WHOLE),
    *odd("v2"),
    Case("v2_odd_dash", "values.v2.yaml", {**VALUES, "text": "-dash"}),
    Case("v2_defaults", "defaults.v2.yaml"),
    Case("v2_defaults_some_given", "defaults.v2.yaml", {"count": 12, "yes": False, "no": True, "items": ["x"], "options": {"y": 1}}),
    Case("v2_odd_texts", "odd_texts.v2.yaml"),
    Case("v2_lines", "lines.v2.json"),
    Case("v2_lines_broken", "lines.v2.yaml"),
    Case("v2_optionals", "optionals.v2.yaml"),
    Case("v2_optionals_given", "optionals.v2.yaml", VALUES, {"data": ("train_dataset_dir", FOLDER)}),
    Case("v2_generics", "generics.v2.yaml", {"items": [1, 2], "options": {"a": 0.5}}),
    Case("v2_artifacts", "artifacts.v2.yaml", {}, {"train_dataset": BOTH["train_dataset"], "anything": BOTH["validation_dataset"]}, {"model_dir": "model_dir", "metrics": "metrics"}),
    Case("v2_artifacts_unmapped", "artifacts.v2.yaml", {"batch_size": 8}, {"train_dataset": BOTH["train_dataset"], "anything": BOTH["validation_dataset"]}),
    Case("v2_paths", "paths.v2.yaml", {}, BOTH, {"model_dir": "model_dir"}),
    Case("v2_paths_swapped", "paths.v2.yaml", {}, BOTH_SWAPPED),
    Case("v2_returns", "returns.v2.yaml", {"count": 3}),
    Case("v2_returns_others", "returns.v2.yaml", {"count": -1}),
    Case("v2_one_return", "one_return.v2.yaml", {"text": "hello"}),
    Case("v2_one_dict", "one_dict.v2.yaml"),
    Case("v2_packages", "packages.v2.yaml"),
    Case("v2_without_kfp", "without_kfp.v2.yaml"),
    Case("v2_container", "container.v2.yaml", CONTAINER),
    Case("v2_container_json", "container.v2.json", {**CONTAINER, "mode": "fast", "steps": 7}),
    Case("v2_container_given", "container.v2.yaml", {**CONTAINER, "mode": "a b", "text": "-x $$", "flag": False, "rate": 3}, {"data": BOTH["train_dataset"]}, {"model_dir": "model_dir"}),
    Case("v2_container_plain", "container_plain.v2.yaml", {"first": "it's"}),
    Case("v2_one_step", "one_step.v2.yaml"),
    Case("v2_one_step_given", "one_step.v2.yaml", {"count": 9, "text": "given"}),
    Case("v2_on_kubernetes", "on_kubernetes.v2.yaml"),
]


def of(sdk):
    return [case for case in V1 + V2 if case.sdk == sdk]
