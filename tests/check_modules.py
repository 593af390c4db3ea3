#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the #includes of src/ against the module() lines of src/CMakeLists.txt: check_modules.py [ROOT].

Errors: a module that uses what its lines do not allow, a cycle of modules, a folder that is not a module, an include without module or file, a
third-party header outside its one place, input and output in a pure module, the name of a job type or of its replicas outside src/job_types/.
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
# All that is true of a job type stands in its file there; examples.h has texts for users.
JOB_TYPE_FILES = ("src/job_types/", "src/cli/examples.h")
JOB_TYPE_NAME = re.compile(r'"(?:PyTorch|MPI|TF|(?:PyTorch|MPI|TF)Job|Main|Master|Launcher|Worker|Chief|PS)"|\w*ReplicaSpecs|"kubeflow\.org/|type [!=]= "Job"')
PURE = {"result", "spec", "plan", "job_types", "follow"}
INPUT_OUTPUT = re.compile(r"fstream|iostream|unistd\.h|fcntl\.h|poll\.h|thread|sys/.*|netinet/.*")


def read_modules(text):
    """{module: modules it names}, from lines like module(plan USES spec result LIBRARIES x)."""
    modules = {}
    for name, rest in re.findall(r"^\s*module\((\w+)([^)]*)\)", re.sub(r"#.*", "", text), re.MULTILINE):
        uses = re.search(r"\bUSES\s+([\w\s]+?)\s*(?=$|\bLIBRARIES\b)", rest)
        modules[name] = uses[1].split() if uses else []
    return modules


def closure(modules):
    """({module: every module it may use}, problems)."""
    allowed, problems, path = {}, [], []

    def visit(module):
        if module in allowed:
            return allowed[module]
        if module in path:
            problems.append(f"src/CMakeLists.txt: modules in a circle: {' → '.join(path[path.index(module):] + [module])}")
            return set()
        path.append(module)
        found = set()
        for used in modules[module]:
            if used not in modules:
                problems.append(f"src/CMakeLists.txt: module {module} uses {used}, which is not a module")
            else:
                found |= {used} | visit(used)
        path.pop()
        allowed[module] = found
        return found

    for module in modules:
        visit(module)
    return allowed, problems


def check_include(source, module, header, allowed, root):
    """The problem with #include "header" in src/module, or None."""
    used, slash, _ = header.partition("/")
    if not slash:
        return f'"{header}" names no module: write "{module}/{header}"'
    if used not in allowed:
        return f'"{header}": {used} is not a module'
    if used != module and used not in allowed[module]:
        return f'"{header}": {module}/ may use {", ".join(sorted(allowed[module])) or "no other module"}, not {used}/'
    if not (root / "src" / header).is_file():
        return f'"{header}": no such file'
    return None


def check_foreign(name, module, header, places):
    """The problem with #include <header>, or None; remembers in `places` which file has which third-party header."""
    if module in PURE and INPUT_OUTPUT.fullmatch(header):
        return f"<{header}>: {module}/ is pure, without files, processes, threads"
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
    modules = read_modules((root / "src/CMakeLists.txt").read_text())
    allowed, problems = closure(modules)
    if not modules:
        problems.append("src/CMakeLists.txt: no module() line")
    places, files = {}, 0
    for source in sorted((root / "src").rglob("*")):
        if source.suffix not in {".h", ".cpp"}:
            continue
        files += 1
        name = source.relative_to(root).as_posix()
        module = name.split("/")[1]
        if module not in allowed:
            problems.append(f"{name}: {module} is not a module of src/CMakeLists.txt")
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            written = re.sub(r"(^|\s)//.*", "", line)
            if not name.startswith(JOB_TYPE_FILES) and (named := JOB_TYPE_NAME.search(written)):
                problems.append(f"{name}:{number}: {named[0]} is known to src/job_types/ alone: make it a field of JobType")
            found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
            if found:
                own, foreign = found.groups()
                problem = check_include(source, module, own, allowed, root) if own else check_foreign(name, module, foreign, places)
                if problem:
                    problems.append(f"{name}:{number}: {problem}")
    return files, problems


if __name__ == "__main__":
    count, found_problems = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent))
    print("\n".join(found_problems) or f"{count} files keep to their modules")
    sys.exit(1 if found_problems or not count else 0)
