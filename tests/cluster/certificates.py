# SPDX-License-Identifier: Apache-2.0
"""The certificate authority of one test cluster, created with openssl's command line, and kubeconfig files."""
import base64
import json
import pathlib
import subprocess

EC_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Authority:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    def create(self):
        self.folder.mkdir(mode=0o700)
        self._request("ca", "/CN=trainstep-tests", "keyUsage=critical,keyCertSign,cRLSign")
        # Service account tokens are signed with this.
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path("sa.key"))
        _openssl("ec", "-in", self.path("sa.key"), "-pubout", "-out", self.path("sa.pub"))

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def server(self, name: str, *addresses: str):
        """NAME.crt and NAME.key for a server at these addresses (IP:… and DNS:…)."""
        self._issue(name, f"/CN={name}", "extendedKeyUsage=serverAuth", f"subjectAltName={','.join(addresses)}")

    def client(self, name: str, user: str, group: str = ""):
        """NAME.crt and NAME.key by which the API server knows a user."""
        self._issue(name, (f"/O={group}" if group else "") + f"/CN={user}", "extendedKeyUsage=clientAuth")

    def base64(self, name: str) -> str:
        return base64.b64encode((self.folder / name).read_bytes()).decode()

    def kubeconfig(self, path: pathlib.Path, server: str, user: dict, namespace: str = "default"):
        """As JSON, which is YAML as well."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "clusters": [{"name": "tests", "cluster": {"server": server, "certificate-authority-data": self.base64("ca.crt")}}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "user", "namespace": namespace}}],
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=1) + "\n")

    def certificate_user(self, name: str) -> dict:
        """The user of a kubeconfig who shows a certificate of this authority."""
        return {"client-certificate-data": self.base64(f"{name}.crt"), "client-key-data": self.base64(f"{name}.key")}

    def _issue(self, name, subject, *extensions):
        self._request(name, subject, "basicConstraints=critical,CA:false", *extensions, signer=["-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key")])

    def _request(self, name, subject, *extensions, signer=()):
        more = [word for extension in extensions for word in ("-addext", extension)]
        _openssl(
            *("req", "-x509", "-days", "3650", "-subj", subject, *EC_KEY, *signer, *more),
            *("-out", self.path(f"{name}.crt"), "-keyout", self.path(f"{name}.key")),
        )


def _openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.strip()}")
