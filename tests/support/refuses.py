# SPDX-License-Identifier: Apache-2.0
"""Runs a command as on a kernel, in a sandbox or on a file system that lacks a system call: `refuses.py CALL COMMAND…`; CALL fails with ENOSYS for it and
its children (seccomp(2), a BPF filter)."""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {
    "x86_64": {"flock": 73, "signalfd": 289, "eventfd": 290},
    "aarch64": {"flock": 32, "signalfd": 74, "eventfd": 19},
    "ppc64le": {"flock": 143, "signalfd": 313, "eventfd": 314},
}[platform.machine()]
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # of the system call
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def main(call, *command):
    steps = [(LOAD_NUMBER, 0, 0, 0), (IF_EQUAL, 0, 1, NUMBERS[call]), (RETURN, 0, 0, FAIL_WITH | errno.ENOSYS), (RETURN, 0, 0, ALLOW)]
    filter_ = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.cast(filter_, ctypes.c_void_p))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp filter could be set")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
