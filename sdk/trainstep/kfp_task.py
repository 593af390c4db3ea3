# SPDX-License-Identifier: Apache-2.0
"""The step as a task of a Kubeflow Pipelines pipeline, with SDK 2 or 1.8, whichever is installed."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ._kfp import sdk_version
from ._values import for_struct, is_exact, plain_value, refused
from .inputs import check_names, path_text
from .specification import Function, Specification, refuse_lost_none, specification_text

# Text that a pipeline would change (docs/pipelines.md); $(mktemp) is ours, and not a variable reference. KFP's database may accept
# only ASCII.
_CHANGED = re.compile(r"\$\$|\{\{|\$\((?!mktemp\))\w+\)")
_TEXTS = ("train_mount", "model_name", "base_image", "node_selector", "pvc_name", "pvc_size", "cpus", "memory")


def component(*, image: Optional[str] = None, task_config: bool = False) -> Any:
    """The component of this package's version, loaded by the installed SDK: call it inside a pipeline. docs/reference.md lists inputs and outputs.

    image: image of the step; default: trainstep:VERSION. task_config (SDK and backend 2.15 or later): the settings of the task (CPU, memory
    and GPUs, variables, node selector, tolerations, affinity, volumes) apply to the training pods; without it, to the step's own pod, which only
    waits. The variables apply to both.
    """
    text = pathlib.Path(__file__).with_name("component.yaml").read_text(encoding="utf-8")
    if image:
        text, count = re.subn(r"(?m)^(    image: ).*$", lambda found: str(found[1]) + json.dumps(image), text)
        assert count == 1, "component.yaml has no image"
    from kfp import components

    loaded = components.load_component_from_text(text)
    if task_config:
        _pass_task_config(loaded)
    return loaded


def _pass_task_config(loaded: Any) -> None:
    """Adds task_config to the loaded component: component.yaml cannot express it, and loading IR drops it."""
    if sdk_version() < 2:
        raise ValueError("task_config: not supported by the SDK 1.8; pass resources etc. as inputs of the step")
    try:
        from kfp.dsl import TaskConfigField, TaskConfigPassthrough
    except ImportError:
        raise ValueError("task_config: requires KFP SDK 2.15 or later") from None
    from kfp.dsl.structures import InputSpec

    loaded.component_spec.inputs["task_config"] = InputSpec(type="TaskConfig", optional=True)
    loaded.component_spec.task_config_passthroughs = [
        TaskConfigPassthrough(field=field, apply_to_task=field == TaskConfigField.ENV) for field in TaskConfigField
    ]


def train_task(
    train_specification: Specification,
    train_parameters: Optional[Mapping[str, Any]] = None,
    distribution_specification: Optional[Mapping[str, Any]] = None,
    *,
    image: Optional[str] = None,
    caching: bool = False,
    retries: int = 0,
    task_config: bool = False,
    packages_to_install: Sequence[str] = (),
    additional_funcs: Sequence[Function] = (),
    **inputs: Any,
) -> Any:
    """Creates a training task, in a function decorated with @dsl.pipeline. Returns the SDK's task: `.outputs["model_dir"]`, …

    Arguments are those of `trainstep.run`, and their values may be outputs of other tasks or pipeline parameters; image and task_config
    are those of `component`.

    caching: off by default, because Kubeflow Pipelines skips a task with unchanged inputs even if the data they refer to has changed.
    retries: 0. The step itself survives errors of the cluster; a retry helps if its own pod is lost: it adopts the job that is still running, but also
    repeats a failed training.
    """
    check_names(inputs)
    refuse_lost_none(train_specification, train_parameters)
    text = specification_text(train_specification, inputs.get("base_image"), packages_to_install, additional_funcs)
    given = {
        "train_specification": "base64:" + base64.b64encode(text.encode()).decode() if _is_changed(text) else text,
        "train_parameters": _parameters(train_parameters or {}),
        "distribution_specification": _argument("distribution_specification", distribution_specification or {}),
        **{name: _argument(name, value) for name, value in inputs.items() if value is not None},
    }
    task = component(image=image, task_config=task_config)(**given)
    if sdk_version() >= 2:
        task.set_caching_options(caching)
        if retries:
            task.set_retry(num_retries=retries)
        return task
    if not caching:
        task.execution_options.caching_strategy.max_cache_staleness = "P0D"
    if retries:
        task.set_retry(retries, policy="Always")
    return task


def _is_changed(text: str) -> bool:
    return not text.isascii() or _CHANGED.search(text) is not None


def _parameters(given: Mapping[str, Any]) -> Any:
    """Converts train_parameters: numbers that a dictionary of SDK 2 would change are passed as strings, from which the program reads them, too."""
    parameters = plain_value("train_parameters", given, _is_of_kfp)
    if sdk_version() < 2 or not isinstance(parameters, dict):
        return parameters
    sent = {name: value if is_exact(value) else str(value) for name, value in parameters.items()}
    for_struct("train_parameters", sent)
    return sent


def _argument(name: str, value: Any) -> Any:
    """Converts the value to the component's type: the SDKs reject 8 for a string and "2" for a number. Placeholders are kept unchanged."""
    if _is_of_kfp(value):
        return value
    plain = plain_value(name, path_text(name, value) if isinstance(value, os.PathLike) else value, _is_of_kfp)
    if name == "gpus" and isinstance(plain, str):
        return _number(name, plain)
    if name in _TEXTS:
        return plain if isinstance(plain, str) else json.dumps(plain, default=str) if isinstance(plain, dict) else str(plain)
    if sdk_version() >= 2:
        for_struct(name, plain)
    return plain


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise refused(name, f"expected an integer, got {text!r}") from None


def _is_of_kfp(value: Any) -> bool:
    """Whether it is a placeholder of the SDK: an output of another task, a pipeline parameter."""
    return any(kind.__module__.partition(".")[0] == "kfp" for kind in type(value).__mro__)
