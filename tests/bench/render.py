"""What existing launchers do in a step: read the component, build the custom resource with the kubernetes package's models, print YAML."""

import sys

import kubernetes.client as k8s
import yaml
from kfp import components  # noqa: F401  what such a launcher imports to read a specification


def pod_template(name, container):
    limits = {"cpu": "8", "memory": "32Gi"}
    spec = k8s.V1PodSpec(containers=[k8s.V1Container(name=name, image=container["image"], command=container["command"], args=[str(a) for a in container["args"]],
                                                     resources=k8s.V1ResourceRequirements(limits=limits, requests=limits))])
    return k8s.V1PodTemplateSpec(metadata=k8s.V1ObjectMeta(annotations={"sidecar.istio.io/inject": "false"}), spec=spec)


def main():
    specification, kind, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(specification, encoding="utf-8") as file:
        container = yaml.safe_load(file)["implementation"]["container"]
    api = k8s.ApiClient()
    template = api.sanitize_for_serialization(pod_template("tensorflow" if kind == "TF" else "pytorch", container))
    replicas = {"Chief": 1, "Worker": workers, "PS": workers} if kind == "TF" else {"Master": 1, "Worker": workers - 1}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": f"{kind}Job",
        "metadata": {"name": "bench"},
        "spec": {"tfReplicaSpecs" if kind == "TF" else "pytorchReplicaSpecs": {
            name: {"replicas": count, "restartPolicy": "Never", "template": template} for name, count in replicas.items()}},
    }
    print(yaml.safe_dump(job))


if __name__ == "__main__":
    main()
