# SPDX-License-Identifier: Apache-2.0
"""TensorBoard event files without TensorBoard: event_file([(step, {tag: value}), …]). As a program, for programs that a step runs:
tensorboard.py FILE STEP TAG VALUE [STEP TAG VALUE…] appends."""
import pathlib
import struct
import sys
import time


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def checksum(data):
    crc = crc32c(data)
    return struct.pack("<I", (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF)


def varint(value):
    data = b""
    while value >= 0x80:
        data, value = data + bytes([value & 0x7F | 0x80]), value >> 7
    return data + bytes([value])


def message(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def record(data):
    length = struct.pack("<Q", len(data))
    return length + checksum(length) + data + checksum(data)


def event(step, values, wall_time):
    summary = b"".join(message(1, message(1, tag.encode()) + b"\x15" + struct.pack("<f", value)) for tag, value in values.items())
    return record(b"\x09" + struct.pack("<d", wall_time) + b"\x10" + varint(step) + message(5, summary))


def event_file(events, wall_time=None):
    return b"".join(event(step, values, time.time() if wall_time is None else wall_time) for step, values in events)


if __name__ == "__main__":
    path, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for step, tag, value in zip(words[::3], words[1::3], words[2::3]):
            file.write(event_file([(int(step), {tag: float(value)})]))
