#!/usr/bin/python3
"""Exits with 0. Its descendants fork and exit again and again, each short-lived and in its own session, and each adds to the model."""
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
