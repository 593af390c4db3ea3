# SPDX-License-Identifier: Apache-2.0
"""The environment of a step's container, without this machine's settings for clusters, stores, proxies and certificates."""
import os
import signal

PREFIXES = ("KUBE", "ARGO_", "AWS_", "MLFLOW_", "PIP_", "PYTHON", "JUPYTER", "TRAINSTEP")
ENDINGS = ("_proxy", "_ca_bundle", "_cert_file", "_cert_dir")


def clean_environment() -> dict[str, str]:
    """This process's variables without those that a step would read or pass on to its pods."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES) and not name.lower().endswith(ENDINGS)}


def usual_signals():
    """Restores default signal handling: in the background of a script, or under nohup, signals are ignored, which children would inherit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
