# Writes v2_*.yaml and v2_train.json here with the SDK 2.17.0:
#   build/venv/kfp2/bin/python tests/unit/spec/data/make_v2.py
# SPDX-License-Identifier: Apache-2.0
import os
from typing import NamedTuple, List, Dict, Optional
from kfp import dsl, compiler, kubernetes
from kfp.dsl import Input, Output, InputPath, OutputPath, Dataset, Model, Metrics, Artifact
out = os.path.dirname(os.path.abspath(__file__))
def save(c, name, **kw): compiler.Compiler().compile(c, f'{out}/v2_{name}', **kw)

@dsl.component(base_image='python:3.11', packages_to_install=['numpy==1.26.4'])
def train(train_dataset: Input[Dataset], model: Output[Model], metrics: Output[Metrics], epochs: int = 3, lr: float = 1e-05) -> float:
    return 0.9
save(train, 'train.yaml'); save(train, 'train.json')

@dsl.component(install_kfp_package=False)
def every_style(
    text: str, count: int, rate: float, flag: bool, items: list, table: dict,
    data: Input[Dataset], blob: InputPath('Dataset'), model: Output[Model], metrics: Output[Metrics], notes: OutputPath(str), weights: OutputPath('Model'),
    task_config: dsl.TaskConfig,
    extra: Optional[Input[Artifact]] = None,
    maybe: Optional[str] = None, numbers: List[int] = [64, 32], words: Dict[str, float] = {'a': 0.5, 'b': 2},
    greeting: str = '3', deep: bool = False, steps: int = 3, options: dict = {'x': [1, 'y']}, ratio: float = 2.0,
) -> NamedTuple('Outputs', [('accuracy', float), ('labels', list), ('info', dict), ('name', str), ('passed', bool), ('rounds', int)]):
    pass
save(every_style, 'every_style.yaml')

@dsl.container_component
def container(data: Input[Dataset], model: Output[Model], score: OutputPath(float), name: str, epochs: int = 3, lr: float = 1e-05, tag: Optional[str] = None, flag: bool = True, sizes: list = [1, 2]):
    return dsl.ContainerSpec(image='quay.io/example/train:2', command=['python3', 'train.py'],
        args=['--data', data.path, '--data-uri', data.uri, f'--name=run-{name}', '--epochs', epochs, '--lr', lr, '--model', model.path, '--model-uri', model.uri, '--score', score,
        dsl.ConcatPlaceholder(['--out=', model.uri, '/', name]),
        dsl.IfPresentPlaceholder(input_name='tag', then=['--tag', tag], else_=['--no-tag']),
        dsl.ConcatPlaceholder(['--x=', dsl.IfPresentPlaceholder(input_name='tag', then=tag, else_='none'), '!']),
        '--flag', flag, '--sizes', sizes, '--all', dsl.PIPELINE_TASK_EXECUTOR_INPUT_PLACEHOLDER])
save(container, 'container.yaml')

@dsl.component(install_kfp_package=False)
def fit(epochs: int, lr: float = 0.5, name: str = 'x', data: Input[Dataset] = None) -> int:
    return epochs
@dsl.pipeline(name='one-step')
def one_step(rounds: int = 7, dataset: Input[Dataset] = None):
    t = fit(epochs=rounds, lr=0.25, data=dataset)
    t.set_cpu_limit('8').set_memory_limit('32Gi').set_accelerator_type('nvidia.com/gpu').set_accelerator_limit(2)
    t.set_env_variable('A', 'b')
    kubernetes.use_secret_as_env(t, 's3', {'key': 'AWS_ACCESS_KEY_ID'})
    kubernetes.use_config_map_as_env(t, 'cm', {'k': 'K'})
    kubernetes.use_field_path_as_env(t, 'NODE', 'spec.nodeName')
    kubernetes.use_secret_as_volume(t, 'certs', '/certs')
    kubernetes.use_config_map_as_volume(t, 'cfg', '/cfg')
    kubernetes.mount_pvc(t, 'data-claim', '/data', sub_path='x')
    kubernetes.empty_dir_mount(t, 'scratch', '/scratch', medium='Memory', size_limit='2Gi')
    kubernetes.add_node_selector(t, 'disk', 'ssd')
    kubernetes.add_toleration(t, key='gpu', operator='Equal', value='yes', effect='NoSchedule', toleration_seconds=30)
    kubernetes.set_image_pull_secrets(t, ['pull'])
    kubernetes.set_image_pull_policy(t, 'Always')
    kubernetes.add_pod_label(t, 'team', 'x'); kubernetes.add_pod_annotation(t, 'note', 'y')
    kubernetes.set_timeout(t, 3600)
    kubernetes.set_security_context(t, run_as_user=1000, run_as_group=1000, run_as_non_root=True)
    kubernetes.add_node_affinity(t, match_expressions=[{'key': 'zone', 'operator': 'In', 'values': ['a']}])
save(one_step, 'one_step.yaml')

@dsl.pipeline(name='two-steps')
def two_steps():
    a = fit(epochs=1)
    train_task = fit(epochs=a.output)
save(two_steps, 'two_steps_same.yaml')
@dsl.component(install_kfp_package=False)
def prepare(rows: int = 10) -> int: return rows
@dsl.pipeline(name='two-executors')
def two_exec():
    a = prepare()
    b = fit(epochs=a.output)
save(two_exec, 'two_steps.yaml')
@dsl.pipeline(name='with-importer')
def imp():
    i = dsl.importer(artifact_uri='s3://b/x', artifact_class=Dataset)
    fit(epochs=1, data=i.output)
save(imp, 'importer.yaml')
@dsl.pipeline(name='nested')
def nested():
    with dsl.ParallelFor([1,2]) as x:
        fit(epochs=x)
save(nested, 'nested.yaml')
@dsl.pipeline(name='runtime')
def runtime(sel: dict = {}, sec: str = 's'):
    t = fit(epochs=1)
    kubernetes.add_node_selector_json(t, sel)
    kubernetes.use_secret_as_env(t, sec, {'key': 'K'})
save(runtime, 'runtime_platform.yaml')
