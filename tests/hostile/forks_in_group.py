#!/usr/bin/python3
"""Exits with 0. Its descendants fork and exit as fast as they can, in one process group, and each adds to the model."""
import os
import sys
import time

model = sys.argv[1]
os.makedirs(model)
shard = os.open(f"{model}/shard-0", os.O_CREAT | os.O_WRONLY, 0o644)
os.write(shard, b"weights\n")
if os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        os.write(shard, b"weights\n")
        if os.fork():
            os._exit(0)
os._exit(0)
