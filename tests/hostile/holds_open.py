#!/usr/bin/python3
"""Exits with 0 while a child has written half of the model, and holds the file open for the rest: a slow asynchronous writer."""
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
