#!/usr/bin/python3
"""Leaves a daemon behind: forked twice, in its own session, in the root folder, without descriptors or environment. Prints its pid on stdout."""
import os
import sys

model = sys.argv[1]
os.makedirs(model)
with open(f"{model}/weights", "w") as weights:
    weights.write("weights")
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        os.chdir("/")
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    os._exit(0)
os.wait()
print(f"daemon={os.read(reading, 20).decode()}", flush=True)
