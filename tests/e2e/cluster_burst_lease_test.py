# SPDX-License-Identifier: Apache-2.0
"""What becomes of a job in another cluster (tests/cluster/burst_steps.py) whose step has vanished for ever."""
import time

import pytest
from data_steps import DISTRIBUTIONS

CLUSTER = {"nodes": "real"}  # the other one
FOREVER = ["python3", "-c", "import time; print('training', flush=True); time.sleep(100000)"]


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_a_job_whose_step_has_vanished_ends_when_its_lease_has_run_out(burst, cluster, kind):
    step = burst(kind, lease="3m", run_policy={"ttl_after_finished": 5, "stop_grace": "1s"})
    step.command = FOREVER
    step.start()
    step.await_running()
    step.process.kill()
    step.process.communicate(timeout=10)
    began, name = time.monotonic(), step.job()["metadata"]["name"]

    def ended():
        """Its pods say why; the TTL has not passed yet."""
        for pod in step.pods():
            for state in pod["status"].get("containerStatuses", []):
                message = state["state"].get("terminated", {}).get("message", "")
                if f"no step follows this job: its Lease {name} was not renewed" in message:
                    return True
        return False

    cluster.wait_for("kubelet", 300, ended)
    assert time.monotonic() - began > 120
    # The TTL of an MPIJob removes its launcher, not the MPIJob, which owns the others.
    stays = {name, f"{name}-keys", f"{name}-ssh"} if kind == "MPI" else set()
    cluster.wait_for("controller-manager", 60, lambda: set(step.left_there()) == stays)
