#!/bin/sh
# The model is a dangling link.
ln -s /nowhere/at/all "$1"
