# SPDX-License-Identifier: Apache-2.0
"""Requests to an API server with Python's standard library: kubectl takes longer to start than most requests take."""
import http.client
import json
import pathlib
import ssl


class ApiError(Exception):
    """An answer that is no success; `code` is HTTP's, `status` the body."""

    def __init__(self, what, code, status):
        super().__init__(f"{what}: {code} {status.get('message', status)}")
        self.code = code
        self.status = status


def readable(text: str):
    """JSON as what it means, anything else – several documents, too – as its text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class Api:
    """The API server at 127.0.0.1:port for the holder of a certificate."""

    def __init__(self, port: int, ca: str, certificate: str, key: str):
        self._port = port
        self._context = ssl.create_default_context(cafile=ca)
        self._context.load_cert_chain(certificate, key)

    def ask(self, method: str, path: str, body=None, headers=None, timeout=30):
        """(code, answer as JSON, or its text when it is none). A body of bytes goes out as it is."""
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=timeout)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        return response.status, readable(text) if "json" in response.headers.get("Content-Type", "") else text

    def call(self, method: str, path: str, body=None, content_type="application/json", timeout=30):
        """The answer of a success, as ask() has it."""
        code, value = self.ask(method, path, body, {"Content-Type": content_type}, timeout)
        if code >= 300:
            raise ApiError(f"{method} {path}", code, value if isinstance(value, dict) else {"message": value})
        return value

    def get(self, path):
        return self.call("GET", path)

    def create(self, path, obj):
        return self.call("POST", path, obj)

    def create_from(self, path, file: pathlib.Path):
        """Creates the one object that a YAML file holds."""
        return self.call("POST", path, file.read_bytes(), "application/yaml")

    def delete(self, path):
        return self.call("DELETE", path, {"propagationPolicy": "Background"})
