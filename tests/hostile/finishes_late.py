#!/usr/bin/python3
"""Exits with 0; a process that it leaves in another session, without its environment, writes the last shard for a second and exits by itself."""
import os
import subprocess
import sys

model = sys.argv[1]
os.makedirs(model)
with open(f"{model}/shard-0", "w") as shard:
    shard.write("weights")
late = f"for i in $(seq 100); do echo weights >>'{model}/shard-1'; sleep 0.01; done"
subprocess.Popen(["/bin/sh", "-c", late], env={}, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
