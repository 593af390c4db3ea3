#!/bin/sh
# A FIFO that nobody writes to, where the model is to be.
mkfifo "$1"
