# SPDX-License-Identifier: Apache-2.0
"""Requests to an S3 server, signed by independent code (AWS Signature Version 4): so the program's signatures are not checked with its own code."""
import datetime
import hashlib
import hmac
import http.client
import ssl
import urllib.parse
import xml.etree.ElementTree


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body[:500].decode(errors='replace')}")
        self.status = status


class Signed:
    """One user of one server."""

    def __init__(self, url, access_key, secret_key, ca_file=None, region="us-east-1"):
        self.access_key, self.secret_key, self.region = access_key, secret_key, region
        self._url = urllib.parse.urlsplit(url)
        self._context = ssl.create_default_context(cafile=ca_file) if self._url.scheme == "https" else None

    def call(self, method, path, query=(), body=b"") -> bytes:
        """`path` as it is meant, not encoded."""
        path = urllib.parse.quote(path, safe="/~")
        query = "&".join(sorted(f"{_encoded(name)}={_encoded(value)}" for name, value in dict(query).items()))
        if self._context:
            connection = http.client.HTTPSConnection(self._url.netloc, context=self._context, timeout=60)
        else:
            connection = http.client.HTTPConnection(self._url.netloc, timeout=60)
        try:
            connection.request(method, f"{path}?{query}" if query else path, body, self.headers(method, path, query, body))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused(answer.status, content)
        return content

    def headers(self, method, path, query, body, metadata=()):
        """Those that sign a request; path and query are encoded, the query in order; `metadata`: its x-amz-… headers that sort after these, signed too."""
        time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{time[:8]}/{self.region}/s3/aws4_request"
        headers = {"host": self._url.netloc, "x-amz-content-sha256": hashlib.sha256(body).hexdigest(), "x-amz-date": time}
        headers |= {name.lower(): value.strip() for name, value in sorted(dict(metadata).items())}
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = "\n".join((method, path, query, lines, names, headers["x-amz-content-sha256"]))
        text = "\n".join(("AWS4-HMAC-SHA256", time, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        key = b"AWS4" + self.secret_key.encode()
        for word in scope.split("/"):
            key = hmac.digest(key, word.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return headers | {"authorization": f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope},SignedHeaders={names},Signature={signature}"}

    def put(self, bucket, key, content):
        self.call("PUT", f"/{bucket}/{key}", body=content)

    def get(self, bucket, key) -> bytes:
        return self.call("GET", f"/{bucket}/{key}")

    def remove(self, bucket, key):
        self.call("DELETE", f"/{bucket}/{key}")

    def keys(self, bucket, prefix="") -> list:
        """All of them, in order."""
        keys, token = [], ""
        while True:
            query = {"list-type": "2", "prefix": prefix} | ({"continuation-token": token} if token else {})
            page = _tree(self.call("GET", f"/{bucket}", query))
            keys += [item.findtext("Key") for item in page.iter("Contents")]
            token = page.findtext("NextContinuationToken")
            if page.findtext("IsTruncated") != "true":
                return keys

    def uploads(self, bucket) -> list:
        """The keys of uploads in parts that were begun and neither completed nor given up."""
        return [item.findtext("Key") for item in _tree(self.call("GET", f"/{bucket}", {"uploads": ""})).iter("Upload")]


def _encoded(text):
    return urllib.parse.quote(text, safe="~")


def _tree(body):
    root = xml.etree.ElementTree.fromstring(body)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root
