#!/usr/bin/python3
"""Ends with 0 while a child of it has written half of the model, and holds it open for the rest: an asynchronous writer that is slow."""
import os
import sys
import time

model = sys.argv[1]
os.makedirs(model)
weights = open(f"{model}/weights", "wb", buffering=0)
weights.write(b"half")
if os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    time.sleep(1_000)
    weights.write(b"half")
os._exit(0)
