#!/usr/bin/python3
"""Exits with 0 while a child keeps writing the model, shard after shard."""
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
    for number in range(1, 100_000):
        with open(f"{model}/shard-{number}", "w") as shard:
            shard.write("weights")
        time.sleep(0.005)
os._exit(0)
