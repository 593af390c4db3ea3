# SPDX-License-Identifier: Apache-2.0
"""Lets the model that train.py has left write: evaluate.py MODEL_DIR [BEGIN]. Prints the text, and which share of its words it has learned."""
import json
import os
import sys

import torch
from train import build_network, write_on, write_text


def load(model_dir):
    """(network, its characters)"""
    with open(os.path.join(model_dir, "characters.json"), encoding="utf-8") as file:
        characters = json.load(file)
    network = build_network(len(characters))
    network.load_state_dict(torch.load(os.path.join(model_dir, "model.pt"), map_location="cpu"))
    return network.eval(), characters


def words_known(text):
    """0 to 1; the last word, which may have been cut off, does not count."""
    words, known = text.replace(".", " ").split()[:-1], set(write_text(1500, 0).replace(".", " ").split())
    return sum(word in known for word in words) / len(words)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: evaluate.py MODEL_DIR [BEGIN]")
    text = write_on(*load(sys.argv[1]), begin=sys.argv[2] if len(sys.argv) == 3 else "the ", number=400, seed=1)
    print(text)
    print(f"words_known={words_known(text):.4f}")
