# SPDX-License-Identifier: Apache-2.0
"""Generates component/argo/*.yaml from specs/interface.json: the step as a template of Argo Workflows.

All inputs are parameters; only train_specification is required, and an empty string is "not given". Strings that may be long or contain $$ are passed to
the step as files (raw artifacts): Kubernetes expands the words of a command line. Data sets are paths on a claim that the template mounts, or addresses:
data that Argo itself downloaded into the step would have to be transferred again to the training pods. Inputs are outside /tmp: folders that Argo's
executor creates below a mounted volume are accessible to its own user only.
"""
from component_kfp import HEAD, description, flag_name, folded, of_component, quoted

AS_FILE = ("specification", "object")
ADDRESS = "A path on a claim that this template mounts, or an address: s3://bucket/key."
OUTPUTS_AS_TEXT = ("metrics", "results", "job_name")
FILES = {"report": "report.html"}  # Argo's user interface shows what ends in .html

USAGE = {
    "WorkflowTemplate": "argo submit --from workflowtemplate/trainstep -p train_specification=…",
    "ClusterWorkflowTemplate": "argo submit --from clusterworkflowtemplate/trainstep --serviceaccount trainstep -p train_specification=…",
}


def words(field: dict) -> str:
    if field["shape"] != "path":
        return description(field)
    return description({**field, "more": f"{ADDRESS} {field['more'].partition('. ')[2]}".strip()})


def parameter(field: dict, indent: str) -> list:
    lines = [f"{indent}- name: {field['name']}"]
    if field["name"] != "train_specification":
        lines.append(f"{indent}  value: {quoted(field.get('default', ''))}")
    return [*lines, *folded(indent + "  ", "description", words(field))]


def raw_artifact(field: dict) -> list:
    name = field["name"]
    return [f"      - name: {name}", f"        path: /inputs/{name}", f"        raw: {{data: {quoted('{{inputs.parameters.' + name + '}}')}}}"]


def place(field: dict) -> str:
    return "/tmp/outputs/" + FILES.get(field["name"], field["name"])


def output_parameter(field: dict) -> str:
    default = "{}" if field["name"] != "job_name" else ""
    return f"      - {{name: {field['name']}, valueFrom: {{path: {place(field)}, default: {quoted(default)}}}}}"


def output_artifact(field: dict) -> str:
    whole = ", archive: {none: {}}" if field["name"] in FILES else ""
    return f"      - {{name: {field['name']}, path: {place(field)}, optional: true{whole}}}"


def argument(field: dict) -> list:
    value = f"@/inputs/{field['name']}" if field["shape"] in AS_FILE else "{{inputs.parameters." + field["name"] + "}}"
    return [f"      - --{flag_name(field)}", f"      - {quoted(value)}"]


def template(interface: dict, image: str, kind: str) -> str:
    inputs = of_component(interface)
    outputs = [field for field in interface["outputs"] if not field["name"].startswith("mlpipeline")]
    lines = [
        "apiVersion: argoproj.io/v1alpha1",
        f"kind: {kind}",
        "metadata:",
        "  name: trainstep",
        "  annotations:",
        *folded("    ", "workflows.argoproj.io/description", f"{interface['description']} {USAGE[kind]}"),
        "spec:",
        "  entrypoint: train",
        *(["  serviceAccountName: trainstep"] if kind == "WorkflowTemplate" else []),
        "  arguments:",
        "    parameters:",
        *(line for field in inputs for line in parameter(field, "    ")),
        "  templates:",
        "  - name: train",
        "    inputs:",
        "      parameters:",
        *(f"      - {{name: {f['name']}{default(f)}}}" for f in inputs),
        "      artifacts:",
        *(line for field in inputs if field["shape"] in AS_FILE for line in raw_artifact(field)),
        "    outputs:",
        "      parameters:",
        *(output_parameter(field) for field in outputs if field["name"] in OUTPUTS_AS_TEXT),
        "      artifacts:",
        *(output_artifact(field) for field in outputs if field["name"] not in OUTPUTS_AS_TEXT),
        "    volumes:",
        "    - {name: tmp, emptyDir: {}}",
        "    container:",
        f"      image: {quoted(image)}",
        "      command: [/usr/local/bin/trainstep, run]",
        "      args:",
        "      - --files-in",
        "      - /inputs/",
        *(line for field in inputs for line in argument(field)),
        *(line for field in outputs for line in (f"      - --{flag_name(field)}", f"      - {place(field)}")),
        # A host name has at most 63 characters, a pod's name may be longer; the node's id distinguishes it from others with the same beginning.
        "      env:",
        "      - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}",
        """      - {name: WORKFLOW_NODE_ID, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['workflows.argoproj.io/node-id']"}}}""",
        "      resources:",
        "        requests: {cpu: 10m, memory: 32Mi}",
        "        limits: {memory: 256Mi}",
        "      securityContext:",
        "        allowPrivilegeEscalation: false",
        "        capabilities: {drop: [ALL]}",
        "        readOnlyRootFilesystem: true",
        "        runAsNonRoot: true",
        "        seccompProfile: {type: RuntimeDefault}",
        "      volumeMounts:",
        "      - {name: tmp, mountPath: /tmp}",
    ]
    return HEAD + "\n".join(lines) + "\n"


def default(field: dict) -> str:
    return "" if field["name"] == "train_specification" else f", default: {quoted(field.get('default', ''))}"
