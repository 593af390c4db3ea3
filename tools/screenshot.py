#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Takes a picture of a report: screenshot.py REPORT WIDTH light|dark PICTURE.

The report is shown in a frame of that many pixels, as in Kubeflow Pipelines. A page that is wider than its frame is an error. Needs chromium and pngquant.
"""
import html
import pathlib
import re
import subprocess
import sys
import tempfile

SCHEMES = {"light": 1, "dark": 0}  # Blink's preferredColorScheme

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><style>html{{color-scheme:light dark}}body{{margin:0}}
iframe{{display:block;border:0;width:{width}px;height:{height}px}}</style></head><body><iframe srcdoc="{report}"></iframe><script>
onload = () => {{ const root = document.querySelector("iframe").contentDocument.documentElement;
document.body.dataset.size = root.scrollWidth + "x" + root.scrollHeight }}</script></body></html>"""


def chromium(folder, scheme, *words):
    """Runs the command and returns its standard output."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
               f"--blink-settings=preferredColorScheme={scheme}", *words, f"file://{folder}/page.html"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def picture(report, width, scheme, path):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        frame = {"width": width, "report": html.escape(report)}
        page.write_text(PAGE.format(height=100, **frame), encoding="utf-8")
        size = re.search(r'data-size="(\d+)x(\d+)"', chromium(folder, scheme, "--virtual-time-budget=2000", "--dump-dom"))
        if not size or int(size[1]) > width:
            sys.exit(f"{path}: the page is {size and size[1]} px wide in a frame of {width} px")
        page.write_text(PAGE.format(height=size[2], **frame), encoding="utf-8")
        chromium(folder, scheme, f"--window-size={width},{size[2]}", f"--screenshot={folder}/picture.png")
        subprocess.run(["pngquant", "--force", "--strip", "--output", path, "64", f"{folder}/picture.png"], check=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[3] not in SCHEMES:
        sys.exit(__doc__)
    picture(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), int(sys.argv[2]), SCHEMES[sys.argv[3]], pathlib.Path(sys.argv[4]))
