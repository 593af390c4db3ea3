#!/usr/bin/python3
"""Ends with 0. What it leaves forks and ends as fast as it can, in one process group, and each adds to the model."""
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
