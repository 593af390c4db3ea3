# SPDX-License-Identifier: Apache-2.0
"""In PYTHONPATH: KFP's executor of Python components finds what lies at minio:// below KFP_MINIO instead of /minio, which is not for a test to make.

It does not know `customPath`, by which v2.py tells everybody else where an artifact lies.
"""
import os
import sys

if "kfp.dsl.executor_main" in sys.orig_argv:
    from kfp.dsl.types import artifact_types

    assert artifact_types._MINIO_LOCAL_MOUNT_PREFIX == "/minio/"
    artifact_types._MINIO_LOCAL_MOUNT_PREFIX = os.environ["KFP_MINIO"] + "/"
