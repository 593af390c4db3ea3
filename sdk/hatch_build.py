# SPDX-License-Identifier: Apache-2.0
"""Puts the program and the component into the wheel, and tags it with the platform that the program runs on.

TRAINSTEP names the program, a static file. It becomes a script of the wheel: pip installs it as is, without a Python wrapper.
"""
import os
import pathlib
import struct
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINES = {62: "x86_64", 183: "aarch64", 21: "ppc64le"}  # e_machine of the ELF header


def machine(program: pathlib.Path) -> str:
    """The machine's name as in platform.machine(). ValueError: not a program for one of MACHINES."""
    head = program.read_bytes()[:20]
    number = struct.unpack("<H", head[18:20])[0] if head[:6] == b"\x7fELF\x02\x01" else 0
    if number not in MACHINES:
        raise ValueError(f"{program} is not a program for {', '.join(MACHINES.values())}")
    return MACHINES[number]


def tag(name: str) -> str:
    """A static program needs neither glibc nor musl, so these are the oldest tags that pip knows for all three machines."""
    return f"py3-none-manylinux2014_{name}.manylinux_2_17_{name}.musllinux_1_1_{name}"


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            raise ValueError("editable installs are not supported, because the package contains a program; run ./dev wheel and install the wheel")
        program = pathlib.Path(os.environ["TRAINSTEP"]).resolve()
        build_data["pure_python"] = False
        build_data["tag"] = tag(machine(program))
        build_data["shared_scripts"][str(program)] = "trainstep"
        for path in ("component/component.yaml", "LICENSE"):
            source = pathlib.Path(self.root).parent / path
            build_data["force_include"][str(source)] = f"trainstep/{source.name}"
