# SPDX-License-Identifier: Apache-2.0
def train(model_dir, train_dataset_dir=None, epochs=8, learning_rate=0.4, batch_size=16):
    """MPI all-reduce, numpy: every rank trains on its share, gradients are averaged, rank 0 saves.

    Started by mpirun; without it, one process trains alone.
    """
    import os

    import numpy
    from mpi4py import MPI

    if train_dataset_dir:
        digits = numpy.load(os.path.join(train_dataset_dir, "digits.npz"))
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
    images, labels = images.astype("float64") / 16, labels.astype("int64")
    order = numpy.random.RandomState(0).permutation(len(labels))
    test, training = order[:360], order[360:]

    ranks = MPI.COMM_WORLD
    rank = ranks.Get_rank()
    share = len(training) // ranks.Get_size()  # equal shares: a rank with a batch more would wait for the others for ever
    training = training[rank * share : (rank + 1) * share]
    print(f"rank {rank} of {ranks.Get_size()} trains on {len(training)} images", flush=True)

    def probabilities(rows):
        scores = images[rows] @ weights[:64] + weights[64]
        exponentials = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    weights = numpy.zeros((65, 10))  # softmax regression; the last row is the bias
    gradient = numpy.empty_like(weights)
    shuffle = numpy.random.RandomState(rank)
    for epoch in range(1, epochs + 1):
        rate = learning_rate * (1 - (epoch - 1) / epochs)
        for rows in numpy.array_split(shuffle.permutation(training), max(1, share // batch_size)):
            error = (probabilities(rows) - numpy.eye(10)[labels[rows]]) / len(rows)
            ranks.Allreduce(numpy.vstack([images[rows].T @ error, error.sum(axis=0)]), gradient)
            weights -= rate * gradient / ranks.Get_size()
        chances = probabilities(test)
        loss = float(-numpy.log(chances[numpy.arange(len(test)), labels[test]] + 1e-12).mean())
        accuracy = float((chances.argmax(axis=1) == labels[test]).mean())
        if rank == 0:
            print(f"epoch={epoch}/{epochs} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)

    if rank == 0:
        os.makedirs(model_dir, exist_ok=True)
        numpy.savez(os.path.join(model_dir, "model.npz"), weights=weights)
    return accuracy, loss
