# SPDX-License-Identifier: Apache-2.0
def train(model_dir, train_dataset_dir=None, epochs=8, learning_rate=0.4, batch_size=16):
    """TensorFlow, ParameterServerStrategy: the chief hands every batch to a free worker and saves at the end.

    Reads TF_CONFIG, as a TFJob sets it. Parameter servers and workers serve until they are stopped from outside;
    only the chief returns. Without TF_CONFIG one process trains alone.
    """
    import json
    import os

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras
    import numpy
    import tensorflow as tf

    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    cluster, task = config.get("cluster", {}), config.get("task", {})
    if cluster and not {"chief", "ps", "worker"} <= set(cluster):
        raise SystemExit(f"this program needs a chief, parameter servers and workers; the cluster has {sorted(cluster)}")
    if task.get("type") in ("ps", "worker"):
        print(f"{task['type']} {task['index']} serves", flush=True)
        tf.distribute.Server(tf.train.ClusterSpec(cluster), task["type"], task["index"], protocol="grpc").join()

    if train_dataset_dir:
        digits = numpy.load(os.path.join(train_dataset_dir, "digits.npz"))
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
    images, labels = images.astype("float32") / 16, labels.astype("int64")
    shuffle = numpy.random.RandomState(0)
    order = shuffle.permutation(len(labels))
    test, training = order[:360], order[360:]

    def new_model():
        keras.utils.set_random_seed(0)
        return keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(10)])

    if cluster:
        strategy = tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        with strategy.scope():
            model = new_model()
    else:
        model = new_model()

    # Keras 3's fit() and optimizers do not know parameter servers, so the step of the descent is written out.
    @tf.function
    def step(rate, some_images, some_labels):
        with tf.GradientTape() as tape:
            scores = model(some_images, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(some_labels, scores))
        variables = [variable.value for variable in model.trainable_variables]
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(rate * gradient)

    for epoch in range(1, epochs + 1):
        rate = tf.constant(learning_rate * (1 - (epoch - 1) / epochs))
        for rows in numpy.array_split(shuffle.permutation(training), max(1, len(training) // batch_size)):
            batch = rate, tf.constant(images[rows]), tf.constant(labels[rows])
            if cluster:
                coordinator.schedule(step, args=batch)
            else:
                step(*batch)
        if cluster:
            coordinator.join()
        scores = model(images[test], training=False)
        loss = float(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels[test], scores)))
        accuracy = float(numpy.mean(numpy.argmax(scores, axis=1) == labels[test]))
        print(f"epoch={epoch}/{epochs} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)

    os.makedirs(model_dir, exist_ok=True)
    trained = new_model()  # an ordinary model, as those that live on parameter servers cannot be saved whole
    trained.set_weights([numpy.asarray(weight) for weight in model.get_weights()])
    trained.save(os.path.join(model_dir, "model.keras"))
    return accuracy, loss
