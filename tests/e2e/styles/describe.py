# SPDX-License-Identifier: Apache-2.0
"""Part of every style's function: writes what the function got in a form that the test can compare."""


def describe(value):
    """A value with its type; of a path what lies there; of a file what it holds; of an artifact all that is no path."""
    import os

    def tree(path):
        if os.path.isdir(path):
            return {"folder": {name: tree(os.path.join(path, name)) for name in sorted(os.listdir(path))}}
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return {"file": file.read().decode("utf-8")}
        return {"nothing": "its folder is there" if os.path.isdir(os.path.dirname(path)) else "nor its folder"}

    if hasattr(value, "metadata"):
        return {"artifact": type(value).__name__, "metadata": value.metadata, "is": tree(value.path)}
    if hasattr(value, "read"):
        where = os.path.dirname(value.name)
        content = value.read() if value.readable() else ("opened for writing" if os.path.isdir(where) else "nowhere")
        return {"opened": type(value).__name__, "content": content.decode("utf-8") if isinstance(content, bytes) else content}
    if isinstance(value, str) and os.path.isabs(value):
        return {"path": tree(value)}
    return {type(value).__name__: value}


def echo_into(file_path, /, **got):
    import json

    with open(file_path, "w", encoding="utf-8") as file:
        json.dump({name: describe(value) for name, value in got.items()}, file, indent=1, sort_keys=True, ensure_ascii=False)
