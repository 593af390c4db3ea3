# SPDX-License-Identifier: Apache-2.0
def write_text(sentences, seed):
    """So many sentences of a small made-up language, in English words; the same seed writes the same text."""
    import random

    choose = random.Random(seed).choice
    articles, nouns = ["the", "a", "every", "no"], ["fox", "bird", "child", "river", "stone", "cloud", "garden", "lantern", "sailor", "teacher"]
    adjectives, places = ["small", "red", "quiet", "old", "golden", "clever"], ["near", "behind", "above", "under"]
    verbs = ["sees", "follows", "finds", "paints", "carries", "forgets", "remembers"]

    def thing():
        return [choose(articles), *([choose(adjectives)] if choose([True, False]) else []), choose(nouns)]

    def sentence():
        return [*thing(), choose(verbs), *thing(), *([choose(places), *thing()] if choose([True, False]) else [])]

    return "".join(" ".join(sentence()) + ".\n" for _ in range(sentences))


def build_network(characters, width=96, layers=2, context=64):
    """A small GPT: scores for the next character at each place of a text of up to `context` characters."""
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.character, self.place = nn.Embedding(characters, width), nn.Embedding(context, width)
            layer = {"nhead": 4, "dim_feedforward": 4 * width, "dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
            self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, **layer) for _ in range(layers))
            self.norm, self.scores = nn.LayerNorm(width), nn.Linear(width, characters)

        def forward(self, text):
            length = text.shape[1]
            later = torch.full((length, length), float("-inf"), device=text.device).triu(1)
            state = self.character(text) + self.place(torch.arange(length, device=text.device))
            for block in self.blocks:
                state = block(state, later)
            return self.scores(self.norm(state))

    return Network()


def write_on(network, characters, begin, number, seed=0):
    """`begin`, gone on with so many characters, each drawn as likely as the network takes it to be."""
    import torch

    random, text, context = torch.Generator().manual_seed(seed), begin, network.place.num_embeddings
    with torch.no_grad():
        for _ in range(number):
            known = torch.tensor([[characters.index(character) for character in text[-context:]]])
            text += characters[torch.multinomial(network(known)[0, -1].softmax(0), 1, generator=random).item()]
    return text


def train(model_dir, train_dataset_dir=None, epochs=6, learning_rate=0.003, batch_size=16):
    """PyTorch, DistributedDataParallel: a small language model learns to write, character by character. Rank 0 saves, and shows what it writes.

    Reads *.txt and *.md in train_dataset_dir, or a text of its own make.
    """
    import json
    import math
    import os
    import pathlib
    import time

    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    if train_dataset_dir:
        files = sorted(path for path in pathlib.Path(train_dataset_dir).rglob("*") if path.suffix in (".txt", ".md"))
        text = "".join(path.read_text(encoding="utf-8") for path in files)
    else:
        text = write_text(1500, 0)
    characters = "".join(sorted(set(text)))
    codes = torch.tensor([characters.index(character) for character in text])
    context = 64
    rows = codes[: (len(codes) - 1) // context * context].view(-1, context), codes[1 : (len(codes) - 1) // context * context + 1].view(-1, context)
    test = len(rows[0]) // 10  # the first tenth is held out

    distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if distributed:
        dist.init_process_group("gloo")
    rank, ranks = (dist.get_rank(), dist.get_world_size()) if distributed else (0, 1)
    share = (len(rows[0]) - test) // ranks  # equal shares: a rank with a batch more would wait for the others for ever
    mine = torch.arange(test + rank * share, test + (rank + 1) * share)
    print(f"rank {rank} of {ranks} trains on {share} pieces of {context} characters", flush=True)

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = build_network(len(characters), context=context)
    replica = DistributedDataParallel(network) if distributed else network
    optimizer = torch.optim.AdamW(replica.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)

    def wrong(network, pieces):
        return torch.nn.functional.cross_entropy(network(rows[0][pieces]).flatten(0, 1), rows[1][pieces].flatten())

    for epoch in range(1, epochs + 1):
        begin = time.perf_counter()
        for batch in mine[torch.randperm(share)].split(batch_size):
            optimizer.zero_grad()
            wrong(replica, batch).backward()
            optimizer.step()
        speed = share * ranks / (time.perf_counter() - begin)
        schedule.step()
        with torch.no_grad():
            loss = wrong(network, torch.arange(test)).item()
        perplexity = math.exp(loss)
        if rank == 0:
            print(f"epoch={epoch}/{epochs} loss={loss:.4f} perplexity={perplexity:.3f} samples_per_second={speed:.1f}", flush=True)

    if rank == 0:
        os.makedirs(model_dir, exist_ok=True)
        torch.save(network.state_dict(), os.path.join(model_dir, "model.pt"))
        with open(os.path.join(model_dir, "characters.json"), "w", encoding="utf-8") as file:
            json.dump(characters, file)
        written = write_on(network.eval(), characters, text[:8], 200)
        print(written, flush=True)
        with open(os.path.join(model_dir, "sample.txt"), "w", encoding="utf-8") as file:
            file.write(written)
    if distributed:
        dist.barrier()  # rank 0 hosts the process group's store, so all ranks exit together
        dist.destroy_process_group()
    return loss, perplexity
