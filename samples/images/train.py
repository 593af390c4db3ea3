# SPDX-License-Identifier: Apache-2.0
def draw_shapes(number, seed):
    """`number` images of 24 x 24 grey values 0 to 255, and what each shows: 0 disc, 1 square, 2 triangle, 3 cross, 4 ring, 5 frame, 6 star, 7 stripes.

    Place, size, angle and noise are random; the same seed draws the same images.
    """
    import numpy

    random = numpy.random.RandomState(seed)
    labels = numpy.arange(number) % 8
    x, y = (axis[None] - 11.5 for axis in numpy.meshgrid(numpy.arange(24), numpy.arange(24)))
    right, down, angle = (random.uniform(-limit, limit, (number, 1, 1)) for limit in (3, 3, numpy.pi))
    size = random.uniform(6, 9, (number, 1, 1))
    u = ((x - right) * numpy.cos(angle) + (y - down) * numpy.sin(angle)) / size
    v = ((y - down) * numpy.cos(angle) - (x - right) * numpy.sin(angle)) / size
    radius, most, least = numpy.hypot(u, v), numpy.maximum(abs(u), abs(v)), numpy.minimum(abs(u), abs(v))
    inside = [
        radius < 1,
        most < 0.8,
        (v > -0.5) & (1.73 * abs(u) + v < 1),
        (least < 0.3) & (most < 1),
        (radius < 1) & (radius > 0.6),
        (most < 0.85) & (most > 0.5),
        radius < 0.6 + 0.4 * numpy.cos(5 * numpy.arctan2(u, v)),
        (abs(u) < 0.9) & (abs(v) < 0.8) & (abs(v) > 0.3),
    ]
    shapes = numpy.choose(labels[:, None, None], inside)
    images = 60 + 120 * shapes + random.normal(0, 25, shapes.shape)
    return images.clip(0, 255).astype("uint8"), labels


def build_network(classes):
    """A small convolutional network; its last layer is the one that knows the classes."""
    from torch import nn

    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 36, 64), nn.ReLU(), nn.Linear(64, classes)),
    )


def train(model_dir, train_dataset_dir=None, base_dir=None, epochs=6, learning_rate=0.05, batch_size=16, base_epochs=6):
    """PyTorch, DistributedDataParallel, transfer of weights: a network that knows four shapes learns four others.

    The weights come from base_dir, the model_dir of an earlier training, or are trained first. Rank 0 saves: model.pt, and base.pt for the next one.
    """
    import os
    import time

    import numpy
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    if train_dataset_dir:
        shapes = numpy.load(os.path.join(train_dataset_dir, "shapes.npz"))
        images, labels = shapes["images"], shapes["labels"]
    else:
        images, labels = draw_shapes(4800, 0)
    images = torch.tensor(images, dtype=torch.float32)[:, None] / 255 - 0.5
    labels = torch.tensor(labels, dtype=torch.long)

    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        dist.init_process_group("gloo")
    rank, ranks = (dist.get_rank(), dist.get_world_size()) if distributed else (0, 1)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    criterion = torch.nn.CrossEntropyLoss()

    def fit(network, images, labels, epochs, name):
        """Each rank trains on its share; loss and accuracy of an epoch are measured on the held-out sixth."""
        test, share = len(labels) // 6, (len(labels) - len(labels) // 6) // ranks
        mine = torch.arange(test + rank * share, test + (rank + 1) * share)
        print(f"{name}: rank {rank} of {ranks} trains on {share} images", flush=True)
        replica = DistributedDataParallel(network) if distributed else network
        optimizer = torch.optim.SGD(replica.parameters(), lr=learning_rate, momentum=0.9)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
        for epoch in range(1, epochs + 1):
            begin = time.perf_counter()
            for batch in mine[torch.randperm(share)].split(batch_size):
                optimizer.zero_grad()
                criterion(replica(images[batch]), labels[batch]).backward()
                optimizer.step()
            speed = share * ranks / (time.perf_counter() - begin)
            schedule.step()
            with torch.no_grad():
                scores = network(images[:test])
            loss = criterion(scores, labels[:test]).item()
            accuracy = (scores.argmax(1) == labels[:test]).float().mean().item()
            if rank == 0 and name == "new shapes":
                print(f"epoch={epoch}/{epochs} loss={loss:.4f} accuracy={accuracy:.4f} samples_per_second={speed:.0f}", flush=True)
        return accuracy, loss

    network, known = build_network(4), labels < 4
    if base_dir:
        network.load_state_dict(torch.load(os.path.join(base_dir, "base.pt"), map_location="cpu"))
    elif base_epochs > 0:
        fit(network, images[known], labels[known], base_epochs, "known shapes")
    base = {name: weights.clone() for name, weights in network.state_dict().items()}
    network[-1] = torch.nn.Linear(64, 4)  # all but the last layer is taken over
    new = (~known).nonzero()[:, 0]
    accuracy, loss = fit(network, images[new], labels[new] - 4, epochs, "new shapes")

    if rank == 0:
        os.makedirs(model_dir, exist_ok=True)
        torch.save(network.state_dict(), os.path.join(model_dir, "model.pt"))
        torch.save(base, os.path.join(model_dir, "base.pt"))
    if distributed:
        dist.barrier()  # rank 0 hosts the process group's store, so all ranks exit together
        dist.destroy_process_group()
    return accuracy, loss
