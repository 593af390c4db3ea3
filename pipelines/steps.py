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
