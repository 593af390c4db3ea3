# SPDX-License-Identifier: Apache-2.0
"""The report of real runs as a browser would read it, without one: valid HTML5, self-contained, for phones and dark mode, with readable contrasts.

tools/screenshots.sh takes pictures of it.
"""
import json
import re
import subprocess

import html5lib
import pytest

TRAINING = "for e in 1 2 3; do echo epoch=$e/3 loss=0.$((9 - e)) val_loss=0.$((10 - e)) encoder/gradient_norm=$e; done"
SUCCESS = TRAINING
FAILURE = f"{TRAINING}; test $JOB_COMPLETION_INDEX = 0 && sleep 60; echo 'Traceback (most recent call last):' '<module> & \"more\"'; exit 3"
READABLE, VISIBLE = 4.5, 3.0  # WCAG 2.2: 1.4.3 of text, 1.4.11 of lines


@pytest.fixture(scope="module", params=[(SUCCESS, 0), (FAILURE, 1)], ids=["success", "failure"])
def page(request, program, tmp_path_factory):
    script, code = request.param
    folder = tmp_path_factory.mktemp("report")
    words = ["run", "--cluster", "local", "--run-dir", folder / "run", "--report", folder / "report.html"]
    words += ["--train-specification", json.dumps({"image": "none", "command": ["sh", "-c", script]})]
    words += ["--distribution-specification", '{"distribution_type": "Job", "indexed": true, "number_of_workers": 2, "worker_cpus": "2"}']
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tree(page):
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)  # strict: the first mistake is an error


def test_page_is_valid_html(tree):
    assert tree.find("head/title").text and tree.get("lang") == "en"
    assert [heading.text for heading in tree.iter("h2")][:2] != []
    assert tree.find(".//b") is None and tree.find(".//i[@class]") is not None  # text of users is no markup


def test_page_makes_no_requests(tree, page):
    names = {element.tag.rpartition("}")[2] for element in tree.iter() if isinstance(element.tag, str)}
    assert names & {"script", "img", "link", "iframe", "object", "embed", "base", "form", "a"} == set()
    assert [value for element in tree.iter() for name, value in element.items() if name in ("src", "href", "srcset", "style", "onload")] == []
    assert "url(" not in page and "@import" not in page


def test_page_is_made_for_phones_and_for_light_and_dark(tree, page):
    metas = {element.get("name"): element.get("content") for element in tree.iter("meta")}
    assert metas["viewport"] == "width=device-width,initial-scale=1" and metas["color-scheme"] == "light dark"
    assert "prefers-color-scheme:dark" in page and "max-width:32rem" in page
    assert all(svg.get("viewBox") for svg in tree.iter("{http://www.w3.org/2000/svg}svg"))
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:(?:[^;}]*?)([0-9.]+)px", tree.find("head/style").text)]
    assert sizes and min(sizes) >= 10


def luminance(colour):
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_and_lines_contrast_with_the_background(tree):
    schemes = [dict(re.findall(r"--([a-z0-9]+):(#[0-9a-f]+)", block)) for block in re.findall(r":root\{([^}]*)\}", tree.find("head/style").text)]
    assert len(schemes) == 2
    for colours in schemes:
        for text in ("ink", "soft", "good", "bad", "warn", "c0", "c1", "c2", "c3"):
            assert contrast(colours[text], colours["paper"]) >= READABLE, text
        assert contrast(colours["ink"], colours["wash"]) >= READABLE and contrast(colours["running"], colours["paper"]) >= VISIBLE
