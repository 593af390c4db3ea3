# SPDX-License-Identifier: Apache-2.0
"""Runs a command as on a file system without locks: `no_locks.py COMMAND…`; flock(2) says ENOSYS to it and its children (seccomp(2), a BPF filter)."""
import ctypes
import errno
import os
import platform
import struct
import sys

FLOCK = {"x86_64": 73, "aarch64": 32, "ppc64le": 143}[platform.machine()]
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # of the system call
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def main(command):
    steps = [(LOAD_NUMBER, 0, 0, 0), (IF_EQUAL, 0, 1, FLOCK), (RETURN, 0, 0, FAIL_WITH | errno.ENOSYS), (RETURN, 0, 0, ALLOW)]
    filter_ = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.cast(filter_, ctypes.c_void_p))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp filter could be set")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
