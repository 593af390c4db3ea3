#!/usr/bin/python3
"""Ends with 0 while a child of it goes on changing the model, which it has mapped: the file's times need not show it."""
import mmap
import os
import sys
import time

model = sys.argv[1]
os.makedirs(model)
with open(f"{model}/weights", "wb") as weights:
    weights.write(b"0" * mmap.PAGESIZE)
if os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    with open(f"{model}/weights", "r+b") as weights:
        mapped = mmap.mmap(weights.fileno(), 0)
    for number in range(100_000):
        mapped[number % mmap.PAGESIZE] = ord("1")
        time.sleep(0.005)
time.sleep(0.5)  # so that the first change, which does set the time, is before the end
os._exit(0)
