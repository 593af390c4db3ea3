#!/usr/bin/python3
"""Exits with 0 while a child keeps changing the model through a memory mapping, which need not change the file's times."""
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
