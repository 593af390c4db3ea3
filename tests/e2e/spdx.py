# SPDX-License-Identifier: Apache-2.0
"""Checks of the SPDX documents that come with an image."""
import re

from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

# Debian's source packages of what the program is made of (docs/adr/0002), the compiler's and the C library, and the image's certificates.
SOURCES = {
    "c-ares", "ca-certificates", "cli11", "curl", "fmtlib", "gcc-12", "glibc", "nlohmann-json3", "openssl", "pugixml", "re2", "spdlog", "tl-expected",
    "yaml-cpp",
}
# Those of them that the release's tools build.
BUILT_HERE = {"curl", "re2"}


def problems(path):
    """What SPDX's own tool finds wrong."""
    return [message.validation_message for message in validate_full_spdx_document(parse_file(str(path)))]


def checksum_of_the_program(document):
    (own,) = [package for package in document["packages"] if package["name"] == "trainstep"]
    return own["checksums"][0]["checksumValue"]


def sources_with_versions(document):
    found = re.findall(r"source package (\S+) (\S+)", " ".join(package.get("sourceInfo", "") for package in document["packages"]))
    return dict(found)


def sources(document):
    return set(sources_with_versions(document))


def openssl_in(program):
    """The version that the library in the file says itself; no other one does."""
    return re.search(rb"OpenSSL (\d+\.\d+\.\d+) ", program.read_bytes())[1].decode()
