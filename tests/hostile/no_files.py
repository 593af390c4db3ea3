#!/usr/bin/python3
"""A model of everything that is not a file: a FIFO, a socket, dangling links and links out of it."""
import os
import socket
import sys

model = sys.argv[1]
os.makedirs(model)
os.mkfifo(f"{model}/pipe")
os.chdir(model)
socket.socket(socket.AF_UNIX).bind("socket")
os.symlink("/nowhere", "weights")
os.symlink("/etc/hostname", "config.json")
