# SPDX-License-Identifier: Apache-2.0
"""Ways in which the Secret of another cluster can be wrong: the step's output says which, and nothing is created or uploaded."""
import base64
import contextlib
import json
import subprocess

from burst_steps import RULES, there_of


def _encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def expired(cluster, token, seconds=60):
    """The same token as if it had expired: the API server issues none for less than ten minutes, so it is signed here with the server's key."""
    header, payload, _ = token.split(".")
    claims = json.loads(_decoded(payload))
    ago = claims["exp"] - claims["iat"] + seconds
    claims |= {name: claims[name] - ago for name in ("exp", "iat", "nbf")}
    signed = f"{header}.{_encoded(json.dumps(claims).encode())}"
    words = ["openssl", "dgst", "-sha256", "-sign", cluster.authority.path("sa.key")]
    der = subprocess.run(words, input=signed.encode(), stdout=subprocess.PIPE, check=True).stdout
    numbers, at = b"", 2  # SEQUENCE { INTEGER r, INTEGER s }, RFC 3279; a JSON web signature has both in 32 bytes, RFC 7518 3.4
    for _ in range(2):
        length = der[at + 1]
        numbers += int.from_bytes(der[at + 2 : at + 2 + length], "big").to_bytes(32, "big")
        at += 2 + length
    return f"{signed}.{_encoded(numbers)}"


def _changed(**changes):
    return lambda cluster, home: contextlib.nullcontext(changes)


def _other_ca(cluster, home):
    return contextlib.nullcontext({"remote_ca": (home.authority.folder / "ca.crt").read_text()})


@contextlib.contextmanager
def _expired(cluster, home):
    with there_of(cluster) as there:
        yield {"remote_token": expired(cluster, there.token), "remote_namespace": there.name}


@contextlib.contextmanager
def _without_verb(cluster, home):
    """An account that may do everything but create the job."""
    with cluster.namespace([rule | {"verbs": [verb for verb in rule["verbs"] if "jobs" not in rule["resources"] or verb != "create"]} for rule in RULES]) as there:
        yield {"remote_token": there.token, "remote_namespace": there.name}


EMPTY = ("remote_host", "remote_token", "remote_namespace", "remote_ca", "minio_url", "minio_bucket", "minio_job_folder", "minio_accesskey", "minio_secretkey")

# What is different from a Secret that is right, as a context with the objects that it needs; what the output says.
WRONG = {
    "empty": (_changed(**dict.fromkeys(EMPTY, "")), "Secret spare: requires remote-host or kubeconfig"),
    "host": (_changed(remote_host="https://127.0.0.1:9"), "Secret spare: get authorization.k8s.io/v1: 127.0.0.1:9: cannot connect"),
    "host without a token": (_changed(remote_token=""), "Secret spare, remote-token"),
    "token": (_changed(remote_token="wrong"), "rejected the credentials"),
    "expired token": (_expired, "it has expired at "),
    "certificate authority": (_other_ca, "certificate"),
    "text as certificate authority": (_changed(remote_ca="text"), "Secret spare: get authorization.k8s.io/v1: "),
    "namespace that is absent": (_changed(remote_namespace="nobody"), "nobody"),
    "namespace that is none": (_changed(remote_namespace="No Body"), "Secret spare, remote-namespace: not a valid name of a namespace"),
    "no permission for a verb": (_without_verb, "create jobs.batch"),
    "bucket that is absent": (_changed(minio_bucket="absent"), "absent"),
    "keys of the bucket": (_changed(minio_secretkey="wrong-secret-key"), "SignatureDoesNotMatch"),
    "unknown key": (_changed(remote_hots="x"), "unknown key remote-hots; did you mean remote-host?"),
}  # fmt: skip
