#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the #includes of src/ against the room() lines of src/CMakeLists.txt: check_rooms.py [ROOT].

Refused: a room that uses what its lines do not allow, rooms in a circle, a folder that is no room, an include that says no room or no file,
a third-party header outside its one place, input and output in a pure room.
"""
import pathlib
import re
import sys

# header prefix → where it may be included: a folder, or a file; "one file" = all its headers in a single file of that folder
THIRD_PARTY = {
    "curl/": ("src/http/curl_", "any file"),
    "ares": ("src/http/", "one file"),
    "yaml-cpp/": ("src/data/", "one file"),
    "openssl/": ("src/data/", "one file"),
    "pugixml": ("src/data/", "one file"),
    "re2/": ("src/result/", "one file"),
    "spdlog/": ("src/log/", "one file"),
    "CLI/": ("src/cli/", "any file"),
}
PURE = {"result", "spec", "plan", "kinds", "follow"}
INPUT_OUTPUT = re.compile(r"fstream|iostream|unistd\.h|fcntl\.h|poll\.h|thread|sys/.*|netinet/.*")


def read_rooms(text):
    """{room: rooms it names}, from lines like room(plan USES spec result LIBRARIES x)."""
    rooms = {}
    for name, rest in re.findall(r"^\s*room\((\w+)([^)]*)\)", re.sub(r"#.*", "", text), re.MULTILINE):
        uses = re.search(r"\bUSES\s+([\w\s]+?)\s*(?=$|\bLIBRARIES\b)", rest)
        rooms[name] = uses[1].split() if uses else []
    return rooms


def closure(rooms):
    """({room: every room it may use}, problems)."""
    allowed, problems, path = {}, [], []

    def visit(room):
        if room in allowed:
            return allowed[room]
        if room in path:
            problems.append(f"src/CMakeLists.txt: rooms in a circle: {' → '.join(path[path.index(room):] + [room])}")
            return set()
        path.append(room)
        found = set()
        for used in rooms[room]:
            if used not in rooms:
                problems.append(f"src/CMakeLists.txt: room {room} uses {used}, which is no room")
            else:
                found |= {used} | visit(used)
        path.pop()
        allowed[room] = found
        return found

    for room in rooms:
        visit(room)
    return allowed, problems


def check_include(source, room, header, allowed, root):
    """The problem with #include "header" in src/room, or None."""
    used, slash, _ = header.partition("/")
    if not slash:
        return f'"{header}" names no room: write "{room}/{header}"'
    if used not in allowed:
        return f'"{header}": {used} is no room'
    if used != room and used not in allowed[room]:
        return f'"{header}": {room}/ may use {", ".join(sorted(allowed[room])) or "no other room"}, not {used}/'
    if not (root / "src" / header).is_file():
        return f'"{header}": no such file'
    return None


def check_foreign(name, room, header, places):
    """The problem with #include <header>, or None; remembers in `places` which file has which third-party header."""
    if room in PURE and INPUT_OUTPUT.fullmatch(header):
        return f"<{header}>: {room}/ is pure, without files, processes, threads"
    for prefix, (place, how) in THIRD_PARTY.items():
        if not header.startswith(prefix):
            continue
        if not name.startswith(place):
            return f"<{header}> belongs into {place}"
        if how == "one file" and places.setdefault(prefix, name) != name:
            return f"<{header}> is in {places[prefix]} already: one file has it"
    return None


def check(root):
    """(number of files, problems)."""
    rooms = read_rooms((root / "src/CMakeLists.txt").read_text())
    allowed, problems = closure(rooms)
    if not rooms:
        problems.append("src/CMakeLists.txt: no room() line")
    places, files = {}, 0
    for source in sorted((root / "src").rglob("*")):
        if source.suffix not in {".h", ".cpp"}:
            continue
        files += 1
        name = source.relative_to(root).as_posix()
        room = name.split("/")[1]
        if room not in allowed:
            problems.append(f"{name}: {room} is no room of src/CMakeLists.txt")
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
            if found:
                own, foreign = found.groups()
                problem = check_include(source, room, own, allowed, root) if own else check_foreign(name, room, foreign, places)
                if problem:
                    problems.append(f"{name}:{number}: {problem}")
    return files, problems


if __name__ == "__main__":
    count, found_problems = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent))
    print("\n".join(found_problems) or f"{count} files keep to their rooms")
    sys.exit(1 if found_problems or not count else 0)
