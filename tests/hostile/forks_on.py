#!/usr/bin/python3
"""Ends with 0. What it leaves forks and ends, again and again, each for a moment and in a session of its own, and each adds to the model."""
import os
import sys
import time

model = sys.argv[1]
os.makedirs(model)
with open(f"{model}/shard-0", "w") as shard:
    shard.write("weights")
if os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        os.setsid()
        with open(f"{model}/shard-1", "a") as shard:
            shard.write("weights\n")
        if os.fork():
            os._exit(0)
os._exit(0)
