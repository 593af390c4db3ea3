#!/bin/sh
# The model is a link that leads nowhere.
ln -s /nowhere/at/all "$1"
