# SPDX-License-Identifier: Apache-2.0
"""What the steps of the pipelines around the training do: plain functions, each of which holds all that it needs, as its source alone goes into a step.

A data set is a folder with digits.npz: `images` (N x 64 grey values 0 to 16) and `labels` (N x 0 to 9).
"""


def split_digits(data, train, test):
    """Keeps a sixth of the images back, the same share of each digit, so that the evaluation sees what the training has not. Three folders."""
    import os

    import numpy
    from sklearn.model_selection import train_test_split

    digits = numpy.load(os.path.join(data, "digits.npz"))
    parts = train_test_split(digits["images"], digits["labels"], test_size=1 / 6, random_state=0, stratify=digits["labels"])
    for folder, images, labels in (train, parts[0], parts[2]), (test, parts[1], parts[3]):
        os.makedirs(folder, exist_ok=True)
        numpy.savez_compressed(os.path.join(folder, "digits.npz"), images=images, labels=labels)
        print(f"{len(labels)} images in {folder}", flush=True)


def evaluate_model(test, model_dir, minimum_accuracy):
    """Reads a folder's digits with the model that samples/pytorch has left in model_dir.

    (share of right answers 0 to 1, rows of the confusion matrix: true digit by answer). Below minimum_accuracy the step fails.
    """
    import os

    import numpy
    import torch

    digits = numpy.load(os.path.join(test, "digits.npz"))
    images, labels = torch.tensor(digits["images"], dtype=torch.float32) / 16, digits["labels"].astype(int)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model.load_state_dict(torch.load(os.path.join(model_dir, "model.pt"), weights_only=True))
    with torch.no_grad():
        answers = model(images).argmax(1).numpy()
    confusion = numpy.zeros((10, 10), dtype=int)
    numpy.add.at(confusion, (labels, answers), 1)
    accuracy = float((answers == labels).mean())
    print(f"accuracy={accuracy:.4f} on {len(labels)} images", flush=True)
    if accuracy < float(minimum_accuracy):
        raise SystemExit(f"the model reads {accuracy:.1%} of the images, less than the {float(minimum_accuracy):.1%} that it must")
    return accuracy, confusion.tolist()


def convert_model(test, model_dir, onnx_dir):
    """Writes the model as ONNX, digits/1/model.onnx in the folder, as Triton wants it. Fails unless it answers as the model does, for each image of `test`."""
    import os

    import numpy
    import onnx
    import onnxruntime
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model.load_state_dict(torch.load(os.path.join(model_dir, "model.pt"), weights_only=True))
    model.eval()
    images = torch.tensor(numpy.load(os.path.join(test, "digits.npz"))["images"], dtype=torch.float32) / 16
    path = os.path.join(onnx_dir, "digits/1/model.onnx")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    any_number = {"images": {0: "number"}, "scores": {0: "number"}}
    torch.onnx.export(model, images[:1], path, input_names=["images"], output_names=["scores"], dynamic_axes=any_number)

    onnx.checker.check_model(path, full_check=True)
    (scores,) = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(["scores"], {"images": images.numpy()})
    with torch.no_grad():
        expected = model(images).numpy()
    difference = float(abs(scores - expected).max())
    print(f"{os.path.getsize(path)} bytes of ONNX, scores differ by {difference:.1e} at most on {len(images)} images", flush=True)
    if difference > 1e-4 or (scores.argmax(1) != expected.argmax(1)).any():
        raise SystemExit("the converted model answers otherwise than the model")


def upload_model(folder, address, endpoint):
    """Puts a folder's files below s3://bucket/key. Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Returns the address."""
    import os
    import urllib.parse

    from minio import Minio

    server, place = urllib.parse.urlsplit(endpoint), urllib.parse.urlsplit(address)
    client = Minio(server.netloc, os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"], secure=server.scheme == "https")
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            key = f"{place.path.strip('/')}/{os.path.relpath(path, folder)}"
            client.fput_object(place.netloc, key, path)
            print(f"s3://{place.netloc}/{key}", flush=True)
    return address


def deploy_model(address, manifest):
    """Serves the ONNX model at an address with KServe, where there is a cluster that has it. In any case the InferenceService is written to a file.

    Returns what became of it, as a sentence.
    """
    import json
    import os
    import ssl
    import urllib.error
    import urllib.request

    if address.startswith("minio://"):  # KServe's word for it is s3://
        address = "s3" + address[len("minio") :]
    predictor = {"model": {"modelFormat": {"name": "onnx"}, "storageUri": address}}
    service = {
        "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "digits"}, "spec": {"predictor": predictor}
    }
    with open(manifest, "w") as file:
        json.dump(service, file, indent=2)

    def ask(method, path, body=None):
        """The status code; a refusal other than 404 fails the step."""
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
        headers = {"Authorization": "Bearer " + open(f"{account}/token").read(), "Content-Type": "application/apply-patch+yaml"}
        request = urllib.request.Request(f"https://{f'[{host}]' if ':' in host else host}:{port}{path}", body, headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cafile=f"{account}/ca.crt")).status
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise SystemExit(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}") from None
            return 404

    account, api = "/var/run/secrets/kubernetes.io/serviceaccount", "/apis/serving.kserve.io/v1beta1"
    if "KUBERNETES_SERVICE_HOST" not in os.environ or not os.path.exists(f"{account}/token"):
        outcome = "not deployed: there is no cluster here"
    elif ask("GET", api) == 404:
        outcome = "not deployed: this cluster has no KServe"
    else:
        path = f"{api}/namespaces/{open(f'{account}/namespace').read()}/inferenceservices/digits?fieldManager=digits-pipeline"
        if ask("PATCH", path, json.dumps(service).encode()) == 404:
            raise SystemExit(f"PATCH {path}: 404, although this cluster has KServe")
        outcome = "applied: `kubectl get inferenceservice digits` says when it is ready"
    print(outcome, flush=True)
    return outcome
