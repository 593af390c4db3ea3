#!/bin/sh
# A FIFO without a writer in place of the model.
mkfifo "$1"
