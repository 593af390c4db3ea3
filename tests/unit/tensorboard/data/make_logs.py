# SPDX-License-Identifier: Apache-2.0
"""Regenerates the logs of this folder with the real writers: make_logs.py WRITER, in a Python environment that has it.

WRITER: torch (torch.utils.tensorboard), tensorboardX, tf (tf.summary), keras (its callback). Each log is a folder of event files in a temporary folder;
here it is WRITER.txt, in which each file is a line `file RUN/NAME` followed by lines of hexadecimal digits. event_files_test.cpp has the expected
values.
"""
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def torch(folder):
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar("Loss/train", 1 / (step + 1), step)
            writer.add_scalar("accuracy", 0.5 + step / 8, step, new_style=True)
            writer.add_scalar("exact", 0.1 * step, step, new_style=True, double_precision=True)
        writer.add_text("notes", "no number", 0)
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 7)
        writer.add_hparams({"lr": 0.1}, {"hparam/score": 0.75}, run_name="trial")


def torch_resumed(folder):
    from torch.utils.tensorboard import SummaryWriter

    for first, purge in ((0, None), (3, 3)):
        with SummaryWriter(folder, purge_step=purge, filename_suffix=f".{first}") as writer:
            for step in range(first, first + 5):
                writer.add_scalar("loss", 100 * first + step, step)


def tensorboard_x(folder):
    from tensorboardX import SummaryWriter

    with SummaryWriter(folder) as writer:
        for step in range(3):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalar("with display name", step, step, display_name="shown", summary_description="text")


def tf(folder):
    import tensorflow

    for run in ("train", "test"):
        with tensorflow.summary.create_file_writer(os.path.join(folder, run)).as_default():
            for step in range(3):
                tensorflow.summary.scalar("loss", 0.5 * step, step=step)
            tensorflow.summary.text("notes", "no number", step=0)
            tensorflow.summary.histogram("weights", [0.0, 1.0], step=0, buckets=2)
            tensorflow.summary.image("picture", tensorflow.zeros((1, 2, 2, 1)), step=0)


def tf1(folder):
    import tensorflow

    with tensorflow.compat.v1.Graph().as_default(), tensorflow.compat.v1.summary.FileWriter(folder) as writer:
        for step in range(3):
            summary = tensorflow.compat.v1.Summary(value=[tensorflow.compat.v1.Summary.Value(tag="loss", simple_value=step / 4)])
            writer.add_summary(summary, step)


def keras(folder):
    import keras as package
    import numpy

    model = package.Sequential([package.layers.Input((1,)), package.layers.Dense(1, kernel_initializer="zeros", use_bias=False)])
    model.compile(optimizer=package.optimizers.SGD(0.5), loss="mse")
    one = numpy.ones((4, 1))
    callback = package.callbacks.TensorBoard(folder, write_graph=False)
    model.fit(one, one, epochs=3, verbose=0, validation_data=(one, one), callbacks=[callback])


def as_text(folder):
    lines = []
    for path in sorted(pathlib.Path(folder).rglob("*tfevents*")):
        name = re.sub(r"tfevents\.(\d+)\.[^/]*?(\.\d+)?(\.v2)?$", r"tfevents.\1\2\3", path.relative_to(folder).as_posix())
        lines.append(f"file {name}")
        digits = path.read_bytes().hex()
        lines += [digits[at : at + 128] for at in range(0, len(digits), 128)]
    return "\n".join(lines) + "\n"


def main():
    for writer in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            {"torch": torch, "torch_resumed": torch_resumed, "tensorboardX": tensorboard_x, "tf": tf, "tf1": tf1, "keras": keras}[writer](folder)
            (HERE / f"{writer}.txt").write_text(as_text(folder))


if __name__ == "__main__":
    main()
