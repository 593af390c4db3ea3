# SPDX-License-Identifier: Apache-2.0
"""Waiting in Python tests: for a condition, never for a fixed time."""
import time


def until(happened, what, limit=60):
    """Waits for a fact; its value. The limit, in seconds, matters only when the test fails."""
    end = time.monotonic() + limit
    while not (value := happened()):
        assert time.monotonic() < end, f"{what}: not within {limit} s"
        time.sleep(0.02)
    return value
