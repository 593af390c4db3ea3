# SPDX-License-Identifier: Apache-2.0
"""Writes specs/ with the real SDKs and expected/ with what the SDKs' own executors pass for cases.py: make_styles.py [FOLDER]."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SDKS = {"v1": "kfp1", "v2": "kfp2"}


def main(folder: str) -> None:
    subprocess.run([ROOT / "tools/venv.sh", *SDKS.values()], check=True)
    for sdk, venv in SDKS.items():
        python = ROOT / "build/venv" / venv / "bin/python"
        subprocess.run([python, "-B", "-W", "ignore", HERE / f"oracle_{sdk}.py", folder], check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else str(HERE))
