# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of a pod on a fake node, as kwok's stages. A test controls it with annotations of the pod, before or while it runs; README.md lists them.

`fate/NAME` applies to every pod, `worker-1.fate/NAME` only to that replica: so a template for all replicas can treat them differently.
"""

DEFAULT_RUN_MS = "1000"

# jq: the replica's name as $who, its labels as $l; and whether it is one that has no end of its own, a parameter server or an MPI worker.
REPLICA = (
    '(.metadata.labels // {}) as $l | (($l["training.kubeflow.org/replica-type"] // $l["training.kubeflow.org/job-role"] // "main") + "-" '
    '+ ($l["training.kubeflow.org/replica-index"] // $l["batch.kubernetes.io/job-completion-index"] // "0")) as $who'
)
SERVES = (
    '($l["training.kubeflow.org/replica-type"] == "ps") or (($l["training.kubeflow.org/operator-name"] // "" | startswith("mpi")) '
    'and ($l["training.kubeflow.org/replica-type"] // $l["training.kubeflow.org/job-role"]) == "worker")'
)


def fate(name: str, default: str = '""') -> str:
    """jq: the value of an annotation for this replica."""
    return f'({REPLICA} | (.metadata.annotations // {{}}) | (.[$who + ".fate/{name}"] // .["fate/{name}"] // {default}))'


RUN_MS = f'({REPLICA} | (if {SERVES} then "forever" else "{DEFAULT_RUN_MS}" end) as $usual | {fate("run-ms", "$usual")})'
RESTARTS = "(.status.containerStatuses[0].restartCount // 0)"
# A container fails `failures` times and succeeds then; without that annotation always.
EXIT_CODE = (
    f'(if {fate("failures")} != "" and {RESTARTS} >= ({fate("failures")} | tonumber) then "0" else '
    f'{fate("exit-code")} | if . == "" then (if {fate("reason")} == "OOMKilled" then "137" else "0" end) else . end end)'
)
RESTARTED = f'(.spec.restartPolicy == "Always" or (.spec.restartPolicy == "OnFailure" and {EXIT_CODE} != "0"))'
STATE = "((.status.containerStatuses // [{}])[0].state // {} | keys[0] // \"none\")"

# The same for Go's templates, where a pod's status is made.
GO_VARIABLES = """
{{ $now := Now }}
{{ $root := . }}
{{ $l := or .metadata.labels dict }}
{{ $a := or .metadata.annotations dict }}
{{ $role := or (index $l "training.kubeflow.org/replica-type") (index $l "training.kubeflow.org/job-role") "main" }}
{{ $index := or (index $l "training.kubeflow.org/replica-index") (index $l "batch.kubernetes.io/job-completion-index") "0" }}
{{ $who := printf "%s-%s.fate/" $role $index }}
{{ $old := dict }}
{{ if .status.containerStatuses }}{{ $old = index .status.containerStatuses 0 }}{{ end }}
{{ $restarts := or $old.restartCount 0 }}
{{ $started := $now }}
{{ if $old.state }}{{ if $old.state.running }}{{ $started = $old.state.running.startedAt }}{{ end }}{{ end }}
"""


def go_fate(name: str) -> str:
    """In a template after GO_VARIABLES: the value of an annotation for this replica."""
    return f'(or (index $a (printf "%sNAME" $who)) (index $a "fate/NAME") "")'.replace("NAME", name)


GO_ENDING = f"""
{{{{ $reason := {go_fate("reason")} }}}}
{{{{ $failures := {go_fate("failures")} }}}}
{{{{ $code := or {go_fate("exit-code")} (ternary "137" "0" (or (eq $reason "OOMKilled") (eq $reason "Evicted"))) }}}}
{{{{ if $failures }}}}{{{{ if ge (int $restarts) (int $failures) }}}}{{{{ $code = "0" }}}}{{{{ end }}}}{{{{ end }}}}
{{{{ $why := ternary "Completed" (ternary "OOMKilled" "Error" (eq $reason "OOMKilled")) (eq $code "0") }}}}
{{{{ $message := {go_fate("message")} }}}}
"""
TERMINATED = (
    "{terminated: {exitCode: {{ $code }}, reason: {{ $why }}, startedAt: {{ $started | Quote }}, finishedAt: {{ $now | Quote }}"
    "{{ if $message }}, message: {{ $message | Quote }}{{ end }}, containerID: {{ printf \"fake://%s-%v\" $root.metadata.uid $restarts | Quote }}}}"
)


def containers(state, ready=False, restarts="$restarts", last=None, field="containerStatuses", of="containers") -> str:
    """All containers of a pod in this state; the state before the last restart stays unless it is said."""
    last = last or "{{ or $old.lastState dict | toJson }}"
    return f"""
{field}:
{{{{ range .spec.{of} }}}}
- image: {{{{ .image | Quote }}}}
  imageID: ""
  name: {{{{ .name | Quote }}}}
  ready: {str(ready).lower()}
  started: {str(ready).lower()}
  restartCount: {{{{ {restarts} }}}}
  state: {state}
  lastState: {last}
{{{{ end }}}}
"""


def conditions(**states: str) -> str:
    """PodScheduled="True", …, of this moment"""
    lines = [f'- {{type: {name}, status: "{state}", lastTransitionTime: {{{{ $now | Quote }}}}}}' for name, state in states.items()]
    return "\nconditions:\n" + "\n".join(lines) + "\n"


def stage(name: str, matching: list, template: str, delay: str = "", event: dict = None, kind: str = "Pod") -> dict:
    """matching: jq expressions that are all true; delay: jq expression, milliseconds"""
    steps = [{"event": event}] if event else []
    steps.append({"patch": {"subresource": "status", "root": "status", "type": "strategic", "template": template}})
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": [{"jq": {"key": f"{key} | tostring", "operator": "In", "values": ["true"]}} for key in matching]},
            **({"delay": {"durationMilliseconds": 0, "durationFrom": {"jq": {"expression": f'({delay}) + "ms"'}}}} if delay else {}),
            "steps": steps,
        },
    }


ALIVE = "(.metadata.deletionTimestamp == null)"
PENDING = '(.status.phase == "Pending" and .spec.nodeName != null)'
RUNNING = '(.status.phase == "Running")'
EVICTED = f'({fate("reason")} == "Evicted")'


def stages(node_address: str, log_port: int) -> list:
    running = containers("{running: {startedAt: {{ $now | Quote }}}}", ready=True)
    initialised = containers(
        "{terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}",
        ready=True,
        field="initContainerStatuses",
        of="initContainers",
    )
    address = (
        "\n{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid \"\") (or .metadata.name \"\") (or .metadata.namespace \"\") }}"
        "\npodIP: {{ index . 0 | Quote }}\npodIPs:\n{{ range . }}\n- ip: {{ . | Quote }}\n{{ end }}\n{{ end }}\n"
    )
    begin = "\nphase: Running\nstartTime: {{ or .status.startTime $now | Quote }}\n" + f"hostIP: {node_address}\n"
    phase = '\nphase: {{ if eq $code "0" }}Succeeded{{ else }}Failed{{ end }}\n'
    waiting = f'{{waiting: {{reason: {{{{ {go_fate("waiting")} }}}}, message: {{{{ or {go_fate("message")} "as the test wants it" | Quote }}}}}}}}'
    evicted = (
        "\nphase: Failed\nreason: Evicted\nmessage: 'The node was low on resource: memory.'\nconditions:\n"
        '- {type: DisruptionTarget, status: "True", reason: TerminationByKubelet, message: "The node was low on resource: memory.", '
        "lastTransitionTime: {{ $now | Quote }}}\n"
        '- {type: Ready, status: "False", reason: PodFailed, lastTransitionTime: {{ $now | Quote }}}\n'
    )
    up = conditions(PodReadyToStartContainers="True", Initialized="True", Ready="True", ContainersReady="True")
    down = conditions(Ready="False", ContainersReady="False")
    waits = f'({fate("waiting")} != "")'
    again = containers(
        '{waiting: {reason: CrashLoopBackOff, message: "back-off restarting failed container"}}', restarts="add1 $restarts", last=TERMINATED
    )
    finite = f'({RUN_MS} != "forever")'
    return [
        _node_stage(node_address, log_port),
        stage(
            "pod-waits",
            [ALIVE, PENDING, waits, f'((.status.containerStatuses // [{{}}])[0].state.waiting.reason // "") != {fate("waiting")}'],
            GO_VARIABLES + containers(waiting) + conditions(Initialized="True", Ready="False", ContainersReady="False") + f"hostIP: {node_address}\n",
            event={"type": "Warning", "reason": "Failed", "message": "Error: the container waits, as the test wants it"},
        ),
        stage(
            "pod-starts",
            [ALIVE, PENDING, f"({waits} | not)"],
            GO_VARIABLES + up + running + initialised + address + begin,
            delay=fate("starting-ms", '"0"'),
            event={"type": "Normal", "reason": "Started", "message": "Started container"},
        ),
        stage(
            "pod-ends",
            [ALIVE, RUNNING, f'({STATE} == "running")', finite, f"({EVICTED} | not)", f"({RESTARTED} | not)"],
            GO_VARIABLES + GO_ENDING + containers(TERMINATED) + down + phase,
            delay=RUN_MS,
        ),
        stage(
            "pod-is-evicted",
            [ALIVE, RUNNING, finite, EVICTED],
            GO_VARIABLES + GO_ENDING + containers(TERMINATED) + evicted,
            delay=RUN_MS,
            event={"type": "Warning", "reason": "Evicted", "message": "The node was low on resource: memory."},
        ),
        stage(
            "container-fails",
            [ALIVE, RUNNING, f'({STATE} == "running")', finite, f"({EVICTED} | not)", RESTARTED],
            GO_VARIABLES + GO_ENDING + again + down,
            delay=RUN_MS,
            event={"type": "Warning", "reason": "BackOff", "message": "Back-off restarting failed container"},
        ),
        stage(
            "container-starts-again",
            [ALIVE, RUNNING, f'({STATE} == "waiting")'],
            GO_VARIABLES + containers("{running: {startedAt: {{ $now | Quote }}}}", ready=True) + up,
            delay='"500"',
        ),
        _pod_goes(),
    ]


def _pod_goes() -> dict:
    result = stage("pod-goes", ["(.metadata.deletionTimestamp != null)"], "", delay=fate("linger-ms", '"0"'))
    result["spec"]["steps"] = [{"delete": True}]
    return result


def _node_stage(node_address: str, log_port: int) -> dict:
    template = f"""
{{{{ $now := Now }}}}
conditions:
{{{{ range NodeConditions }}}}
- {{lastHeartbeatTime: {{{{ $now | Quote }}}}, lastTransitionTime: {{{{ $now | Quote }}}}, message: {{{{ .message | Quote }}}}, \
reason: {{{{ .reason | Quote }}}}, status: {{{{ .status | Quote }}}}, type: {{{{ .type | Quote }}}}}}
{{{{ end }}}}
addresses:
- {{address: {node_address}, type: InternalIP}}
- {{address: {{{{ NodeName | Quote }}}}, type: Hostname}}
daemonEndpoints: {{kubeletEndpoint: {{Port: {log_port}}}}}
phase: Running
"""
    ready = '([.status.conditions // [] | .[] | select(.type == "Ready" and .status == "True")] | length == 0)'
    return stage("node-is-ready", [ready], template, kind="Node")
