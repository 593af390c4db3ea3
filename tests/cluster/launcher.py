# SPDX-License-Identifier: Apache-2.0
"""Runs a step as the KFP v2 launcher does (kfp-launcher, a child of argoexec): `launcher.py COMMAND…` runs the command as its child in its own process
group and forwards its output. It does not handle signals, so SIGTERM ends it at once: the child gets the same signal, loses the reader of its output, and
is killed when argoexec notices, 40 to 1,000 ms later.

    launched = Launched(words, environment, folder)
    asked = launched.cancel(life=0.1)  # time.monotonic() of the SIGTERM; returns when all its processes have ended
"""
import os
import shutil
import signal
import subprocess
import sys
import time


class Launched:
    def __init__(self, words, environment, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-S", __file__, *words], env=environment, cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )

    def cancel(self, life: float) -> float:
        asked = time.monotonic()
        os.killpg(self.process.pid, signal.SIGTERM)
        time.sleep(max(0, asked + life - time.monotonic()))  # the fault itself
        self.kill()
        return asked

    def kill(self):
        """All of it, at once; what it printed is in `output`."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the step has ended by itself
        if self.process.returncode is None:
            self.output = self.process.communicate(timeout=10)[0].decode(errors="replace")


def main():
    child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    shutil.copyfileobj(child.stdout, sys.stdout.buffer, 1)
    sys.exit(1 if child.wait() else 0)


if __name__ == "__main__":
    main()
