# SPDX-License-Identifier: Apache-2.0
"""A step on a cluster that shows more logs than its limit of open files allows."""
import json
import resource
import socket
import subprocess

from conftest import PROGRAM
from surroundings import clean_environment


def limit(soft, hard):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


MANY_LOGS = ["--distribution-specification", '{"distribution_type": "PyTorch", "number_of_workers": 300}', "--job-options", '{"logs": "all"}']


def test_step_that_shows_many_logs_has_files_left_for_a_cancel(tmp_path):
    """Each log is a connection, and so is the DELETE: without one the job would stay."""
    silent = socket.create_server(("127.0.0.1", 0))
    (tmp_path / "config").write_text(
        json.dumps({
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": f"http://127.0.0.1:{silent.getsockname()[1]}"}}],
            "users": [{"name": "a", "user": {}}],
        })
    )  # fmt: skip
    environment = clean_environment() | {"KUBECONFIG": str(tmp_path / "config"), "no_proxy": "*"}
    words = [PROGRAM, "run", "--cluster", "kubernetes", "--train-specification", '{"image": "a", "command": ["true"]}', *MANY_LOGS]
    refused = subprocess.run(words, env=environment, preexec_fn=limit(100, 100), capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "job_options.logs: following these logs requires 364 open files, the limit is 100" in refused.stderr
    step = subprocess.Popen(words, env=environment, preexec_fn=limit(100, 4096), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        silent.settimeout(60)
        with silent.accept()[0]:
            assert resource.prlimit(step.pid, resource.RLIMIT_NOFILE) == (364, 4096)
    finally:
        step.kill()
        step.wait()
        silent.close()
