# SPDX-License-Identifier: Apache-2.0
def train(model_dir, train_dataset_dir=None, epochs=8, learning_rate=0.4, batch_size=16):
    """PyTorch, DistributedDataParallel: every rank trains on its share, gradients are averaged, rank 0 saves.

    Reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as a PyTorchJob or torchrun sets them.
    """
    import os

    import numpy
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    if train_dataset_dir:
        digits = numpy.load(os.path.join(train_dataset_dir, "digits.npz"))
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32) / 16
    labels = torch.tensor(labels, dtype=torch.long)
    order = torch.from_numpy(numpy.random.RandomState(0).permutation(len(labels)))
    test, training = order[:360], order[360:]

    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        dist.init_process_group("gloo")
    rank, ranks = (dist.get_rank(), dist.get_world_size()) if distributed else (0, 1)
    share = len(training) // ranks  # equal shares: a rank with a batch more would wait for the others for ever
    training = training[rank * share : (rank + 1) * share]
    print(f"rank {rank} of {ranks} trains on {len(training)} images", flush=True)

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    replica = DistributedDataParallel(model) if distributed else model
    optimizer = torch.optim.SGD(replica.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
    criterion = torch.nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        for batch in training[torch.randperm(len(training))].split(batch_size):
            optimizer.zero_grad()
            criterion(replica(images[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            scores = model(images[test])
        loss = criterion(scores, labels[test]).item()
        accuracy = (scores.argmax(1) == labels[test]).float().mean().item()
        if rank == 0:
            print(f"epoch={epoch}/{epochs} loss={loss:.4f} accuracy={accuracy:.4f}", flush=True)

    if rank == 0:
        os.makedirs(model_dir, exist_ok=True)
        torch.save(model.state_dict(), os.path.join(model_dir, "model.pt"))
    if distributed:
        dist.barrier()  # rank 0 hosts the process group's store, so all ranks exit together
        dist.destroy_process_group()
    return accuracy, loss
