#!/bin/sh
# Makes the folder and no more.
mkdir -p "$1/variables"
