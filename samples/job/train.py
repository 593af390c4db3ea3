# SPDX-License-Identifier: Apache-2.0
def train(model_dir, train_dataset_dir=None, epochs=8, learning_rate=0.4, batch_size=16):
    """One process, scikit-learn: a small neural network that reads handwritten digits."""
    import os

    import joblib
    import numpy
    from sklearn.datasets import load_digits
    from sklearn.metrics import log_loss
    from sklearn.neural_network import MLPClassifier

    if train_dataset_dir:
        digits = numpy.load(os.path.join(train_dataset_dir, "digits.npz"))
        images, labels = digits["images"], digits["labels"]
    else:
        images, labels = load_digits(return_X_y=True)
    images, labels = images.astype("float32") / 16, labels.astype("int64")
    order = numpy.random.RandomState(0).permutation(len(labels))
    test, training = order[:360], order[360:]

    model = MLPClassifier(
        hidden_layer_sizes=(32,), solver="sgd", momentum=0, learning_rate_init=learning_rate, batch_size=batch_size, random_state=0
    )
    for epoch in range(1, epochs + 1):
        model.partial_fit(images[training], labels[training], classes=numpy.arange(10))
        loss = log_loss(labels[test], model.predict_proba(images[test]))
        accuracy = model.score(images[test], labels[test])
        print(f"epoch={epoch}/{epochs} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)

    os.makedirs(model_dir, exist_ok=True)
    joblib.dump(model, os.path.join(model_dir, "model.joblib"))
    return accuracy, loss
