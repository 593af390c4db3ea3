#!/usr/bin/python3
"""Exits with 0. A child whose main thread has exited, so that it looks like a zombie, keeps writing the model from another thread."""
import ctypes
import os
import platform
import sys
import threading
import time

model = sys.argv[1]
os.makedirs(model)
with open(f"{model}/shard-0", "w") as shard:
    shard.write("weights")


def write_on():
    for number in range(1, 3000):
        with open(f"{model}/shard-{number}", "w") as shard:
            shard.write("weights")
        time.sleep(0.005)
    os._exit(0)


if os.fork() == 0:
    for stream in (0, 1, 2):
        os.close(stream)
    threading.Thread(target=write_on).start()
    ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)  # exit(2): of this thread alone
os._exit(0)
