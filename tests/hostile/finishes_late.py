#!/usr/bin/python3
"""Ends with 0; what it left in a session of its own, without its environment, writes the last shard a moment later and ends by itself."""
import os
import subprocess
import sys

model = sys.argv[1]
os.makedirs(model)
with open(f"{model}/shard-0", "w") as shard:
    shard.write("weights")
late = f"while kill -0 {os.getpid()} 2>/dev/null; do sleep 0.01; done; sleep 0.1; echo weights >'{model}/shard-1'"
subprocess.Popen(["/bin/sh", "-c", late], env={}, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
