# SPDX-License-Identifier: Apache-2.0
"""The contents of a step's log whose program only renders."""
import yaml


def rendered(log):
    """The manifest in `log`, where the notices of the program (on its other channel) stand before it."""
    return next(yaml.safe_load_all("".join(line for line in log.splitlines(keepends=True) if not line.startswith("trainstep: "))))
