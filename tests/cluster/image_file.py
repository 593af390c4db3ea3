# SPDX-License-Identifier: Apache-2.0
"""Container images created by a test as files: one layer with a few files, in the format of `docker save`.

    write_image(folder / "agent.tar", "localhost/agent:1", {"usr/local/bin/trainstep": program}, {"Env": ["PATH=/usr/local/bin"]})
"""
import hashlib
import io
import json
import pathlib
import platform
import tarfile


def write_image(archive: pathlib.Path, name: str, files: dict, config: dict | None = None):
    """`files`: path inside → a file outside, which becomes executable."""
    layer = _tar({path: (pathlib.Path(source).read_bytes(), 0o755) for path, source in files.items()})
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    digest = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    image = {"architecture": machine, "os": "linux", "config": config or {}, "rootfs": {"type": "layers", "diff_ids": [digest]}}
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    content = {"manifest.json": json.dumps(manifest).encode(), "config.json": json.dumps(image).encode(), "layer.tar": layer}
    archive.write_bytes(_tar({path: (data, 0o644) for path, data in content.items()}))


def _tar(files) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, (data, mode) in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
