# Writes v1_*.yaml here with the SDK 1.8.22, and the command lines that the SDK itself generates from them:
#   build/venv/kfp1/bin/python tests/unit/spec/data/make_v1.py
# SPDX-License-Identifier: Apache-2.0
import json
import os
from typing import Dict, List, NamedTuple, Optional

from kfp.components import (InputBinaryFile, InputPath, InputTextFile, OutputBinaryFile, OutputPath, OutputTextFile,
                            func_to_component_text, load_component_from_text)
from kfp.components._components import _resolve_command_line_and_paths

HERE = os.path.dirname(os.path.abspath(__file__))


def train_model(
    train_dataset_dir: InputPath(str),
    validation_dataset_dir: InputPath(str),
    model_dir: OutputPath(str),
    epochs: int = 100,
    batch_size: int = 32,
):
    """Trains a model."""
    import os
    os.makedirs(model_dir)


def every_style(
    text: str, count: int, rate: float, flag: bool, items: list, table: dict, anything,
    data_path: InputPath('Dataset'), notes: InputTextFile(str), blob: InputBinaryFile(),
    model_path: OutputPath('Model'), log_file: OutputTextFile(str), raw: OutputBinaryFile(), note_path: OutputPath(str),
    numbers: List[int] = [64, 32], words: Dict[str, float] = {'a': 0.5},
    maybe: Optional[str] = None, extra_path: InputPath() = None,
    greeting: str = '3', lr: float = 1e-05, deep: bool = False, steps: int = 3, options: dict = {'x': [1, 'y']},
    sizes: list = [64], untyped=7,
) -> NamedTuple('Outputs', [('accuracy', float), ('labels', list), ('info', dict), ('name', str), ('passed', bool),
                            ('rounds', int)]):
    """Every style of parameter."""
    from collections import namedtuple
    return namedtuple('O', 'accuracy labels info name passed rounds')(0.9, ['a'], {'b': 1}, 'n', True, 3)


def add(a: float, b: float = 2.0) -> float:
    return a + b


GIVEN = {'text': 'x y', 'count': 3, 'rate': 0.1, 'flag': True, 'items': [1, 2.5, 'é', None, True],
         'table': {'b': 1e-05, 'a': {'y': [2.0]}}, 'anything': 'any', 'data': '', 'notes': '', 'blob': ''}


def command_line(text, given):
    spec = load_component_from_text(text).component_spec
    values = {i.name: i.default for i in spec.inputs if i.default is not None}
    values.update(given)
    return _resolve_command_line_and_paths(spec, values, lambda name: '/in/' + name, lambda name: '/out/' + name).args


def write(name, content):
    with open(os.path.join(HERE, name), 'w') as file:
        file.write(content)


write('v1_train_model.yaml', func_to_component_text(train_model, base_image='quay.io/example/train:1'))
write('v1_add.yaml', func_to_component_text(add))
styles = func_to_component_text(every_style, packages_to_install=['numpy==1.26.4', 'pandas'])
write('v1_every_style.yaml', styles)
write('v1_every_style.json', json.dumps({'given': GIVEN, 'args': command_line(styles, GIVEN)}, indent=1) + '\n')
