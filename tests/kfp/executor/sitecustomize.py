# SPDX-License-Identifier: Apache-2.0
"""In PYTHONPATH: KFP's executor of Python components finds minio:// below KFP_MINIO instead of /minio, which a test cannot create.

The executor does not know `customPath`, with which v2.py tells all other programs where an artifact is.
"""
import os
import sys

if "kfp.dsl.executor_main" in sys.orig_argv:
    from kfp.dsl.types import artifact_types

    assert artifact_types._MINIO_LOCAL_MOUNT_PREFIX == "/minio/"
    artifact_types._MINIO_LOCAL_MOUNT_PREFIX = os.environ["KFP_MINIO"] + "/"
