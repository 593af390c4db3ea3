#!/bin/sh
# Creates only the folder.
mkdir -p "$1/variables"
