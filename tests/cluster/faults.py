# SPDX-License-Identifier: Apache-2.0
"""Faults between the program and the API server, and schedules that assign them to requests.

A schedule is a function Request → Fault or None. A random schedule depends only on its seed and on which request it is, never on the order in which
requests happen to arrive: a failing seed is reproducible.
"""
import dataclasses
import json
import random
import re
import urllib.parse

FINAL_TRY = 4  # from this request of a sort on nothing goes wrong any more, so that every random run has an end


@dataclasses.dataclass(frozen=True)
class Request:
    """One request as the program sent it. `nth` counts, from 1, those of the same sort: method, path, watch or log or dry run."""

    number: int
    nth: int
    method: str
    target: str
    headers: dict
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict:
        return dict(urllib.parse.parse_qsl(self.target.partition("?")[2]))

    @property
    def watch(self) -> bool:
        return self.query.get("watch") == "true"

    @property
    def log(self) -> bool:
        return self.path.endswith("/log")

    @property
    def dry_run(self) -> bool:
        return "dryRun" in self.query

    @property
    def follow(self) -> bool:
        return self.log and self.query.get("follow") == "true"

    @property
    def stream(self) -> bool:
        return self.watch or self.follow

    @property
    def sort(self) -> str:
        """What it is for, the same in every run: without the namespace, and what is random in names of jobs and pods."""
        path = re.sub(r"/namespaces/[^/]+", "", self.path)
        path = re.sub(r"-[a-z0-9]{5}/log$", "/log", path)
        flags = [name for name, on in (("dry run", self.dry_run), ("watch", self.watch), ("follow", self.follow)) if on]
        text = " ".join(filter(None, (self.method, path, self.query.get("fieldSelector", ""), *flags)))
        return re.sub(r"-[0-9a-f]{10}(?![0-9a-z])", "", text)


@dataclasses.dataclass(frozen=True)
class Fault:
    """What is done with one request. Several fields may be set."""

    delay: float = 0  # seconds before it is forwarded
    answer: int = 0  # this status instead of the server's answer; nothing is forwarded
    retry_after: int = 0  # with `answer`, seconds
    silence: float = 0  # seconds without an answer, then the connection is cut; on a stream after `lines`
    cut: str = ""  # where the connection is cut: "before" forwarding, "after" the server did it, within the "head", the "body", a "chunk" of it
    kill: str = ""  # the program is ended: "before" forwarding, or "after" the server did it
    split: int = 0  # the answer comes in pieces of so many bytes
    lines: int | None = None  # of a watch or log: so many pass, then within the next one cut, `end`, `gone` or `silence` happens
    end: bool = False  # the stream ends well, as at a server's time-out
    gone: bool = False  # the watch ends with an ERROR event, 410
    seconds: float = 0  # the stream ends well after so long
    repeat: bool = False  # each event of a watch comes twice
    hold: float = 0  # what a stream brings comes so many seconds later: after what other streams bring
    clock: int = 0  # the server's clock as the answer shows it differs by so many seconds

    def __repr__(self):
        fields = ((field.name, getattr(self, field.name), field.default) for field in dataclasses.fields(self))
        return f"Fault({', '.join(f'{name}={value!r}' for name, value, usual in fields if value != usual)})"


@dataclasses.dataclass
class Rule:
    """A fault for the requests it fits: after the first `skip` of them, for `times`."""

    fault: Fault
    method: str = ""
    path: str = ""  # a regular expression, found anywhere in it
    watch: bool | None = None
    log: bool | None = None
    follow: bool | None = None
    dry_run: bool | None = None
    skip: int = 0
    times: int = 1

    def fits(self, request: Request) -> bool:
        flags = all(getattr(self, flag) in (None, getattr(request, flag)) for flag in ("watch", "log", "follow", "dry_run"))
        return flags and self.method in ("", request.method) and re.search(self.path, request.path) is not None


def script(*rules: Rule):
    """The first rule that fits and is not used up counts."""
    seen = [0] * len(rules)

    def schedule(request):
        for i, rule in enumerate(rules):
            if rule.fits(request):
                seen[i] += 1
                if rule.skip < seen[i] <= rule.skip + rule.times:
                    return rule.fault
        return None

    return schedule


def chaos(seed, likely=0.4):
    """Whatever may happen between two machines and a server that is not well, for the first few requests of each sort."""

    def draw(request, nth):
        dice = random.Random(f"{seed} {request.sort} {nth}")
        if nth >= FINAL_TRY or dice.random() >= likely:
            return None
        return dice.choice(_STREAM if request.stream and dice.random() < 0.6 else _ANY)(dice, request)

    def schedule(request):
        fault = draw(request, request.nth)
        # A token is expired once; who shows it anew twice in a row and is refused is right to give up.
        return None if fault and fault.answer == 401 and refused_before(request) else fault

    def refused_before(request):
        """By the last answer. What had none may have been sent again by libcurl, unseen: a connection that was kept open is closed, as servers do."""
        earlier = (draw(request, nth) for nth in range(request.nth - 1, 0, -1))
        last = next((fault for fault in earlier if not (fault and (fault.silence or fault.cut in ("before", "after")))), None)
        return last is not None and last.answer == 401

    return schedule


_ANY = [
    lambda dice, request: Fault(delay=dice.uniform(0.01, 0.5)),
    lambda dice, request: Fault(cut="before"),
    lambda dice, request: Fault(cut="after"),
    lambda dice, request: Fault(cut="head"),
    lambda dice, request: Fault(cut="body"),
    lambda dice, request: Fault(cut="chunk"),
    lambda dice, request: Fault(answer=429, retry_after=1),
    lambda dice, request: Fault(answer=dice.choice([500, 502, 503, 504])),
    lambda dice, request: Fault(answer=410 if request.watch else 401),
    lambda dice, request: Fault(silence=dice.uniform(0.1, 1.5)),
    lambda dice, request: Fault(split=dice.choice([1, 7, 100]), clock=dice.choice([0, -86400, 86400])),
]
_STREAM = [
    lambda dice, request: Fault(lines=dice.randrange(5), cut="body", split=dice.choice([0, 3])),
    lambda dice, request: Fault(lines=dice.randrange(5), cut="chunk"),
    lambda dice, request: Fault(lines=dice.randrange(5), end=True),
    lambda dice, request: Fault(lines=dice.randrange(3), gone=True) if request.watch else Fault(lines=dice.randrange(30), end=True),
    lambda dice, request: Fault(seconds=dice.uniform(0.2, 2)),
    lambda dice, request: Fault(repeat=request.watch, hold=dice.uniform(0.1, 1.0)),
    lambda dice, request: Fault(lines=dice.randrange(4), silence=dice.uniform(0.2, 2)),
    lambda dice, request: Fault(repeat=request.watch, split=dice.choice([1, 50])),
]

_REASONS = {
    401: ("Unauthorized", "Unauthorized"),
    410: ("Expired", "too old resource version: 1 (2)"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "Internal error occurred: made by the test"),
    502: ("", "bad gateway"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server was unable to return a response in the time allotted"),
}


def status_of(code: int, retry_after: int = 0) -> bytes:
    """The body of such an answer."""
    reason, message = _REASONS[code]
    details = {"details": {"retryAfterSeconds": retry_after}} if retry_after else {}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}
    return json.dumps(status | details).encode()
