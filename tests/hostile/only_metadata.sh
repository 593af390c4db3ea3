#!/bin/sh
# Reports a model that it did not write. $2: the executor output.
echo '{"artifacts": {"model_dir": {"artifacts": [{"name": "model_dir", "metadata": {"accuracy": 0.5}}]}}}' >"$2"
