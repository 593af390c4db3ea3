# SPDX-License-Identifier: Apache-2.0
"""How KFP's driver (2.15 and later) handles a task's settings for a component that passes them on: fields that the component lists go into its input of
type TASK_CONFIG, as Kubernetes JSON, and to the step's own pod only with applyToTask. Only resources and variables are implemented."""


def inputs(component: dict, container: dict) -> dict:
    """{name of the input: its value}; {} for a component that has none. Unset parts are null or empty, as the driver writes them."""
    names = [name for name, port in component.get("inputDefinitions", {}).get("parameters", {}).items() if port["parameterType"] == "TASK_CONFIG"]
    passed = {item["field"] for item in component.get("taskConfigPassthroughs", [])}
    value = {"affinity": None, "tolerations": None, "nodeSelector": {}, "env": [], "volumes": None, "volumeMounts": None, "resources": {}}
    if "RESOURCES" in passed:
        value["resources"] = {"limits": limits(container.get("resources", {}))}
    if "ENV" in passed:
        value["env"] = container.get("env", [])
    return {name: value for name in names}


def limits(resources: dict) -> dict:
    accelerator = resources.get("accelerator", {})
    wanted = {
        "cpu": resources.get("resourceCpuLimit"), "memory": resources.get("resourceMemoryLimit"),
        accelerator.get("resourceType", accelerator.get("type")): accelerator.get("resourceCount", accelerator.get("count")),
    }
    return {name: amount for name, amount in wanted.items() if name and amount}
