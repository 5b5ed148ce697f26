"""What comes out of a run: answers, events and failures, made of the texts that the module `_native` gives."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, Optional, Tuple


class QlioError(Exception):
    """A run without an answer.

    `kind` is `compile`, `run`, `cancelled`, `timed-out`, `busy` or `closed`; `status` the one that a client would be
    answered with over HTTP; `body` says what happened, and where.
    """

    kind: str
    status: int
    body: Mapping[str, Any]

    def __init__(self, kind: str, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(body.get("message", "the run failed"))
        self.kind = kind
        self.status = status
        self.body = body

    def __reduce__(self) -> Tuple[Any, ...]:
        # Exceptions are made again of their message alone, if nothing else is said.
        return type(self), (self.kind, self.status, self.body)

    @property
    def code(self) -> Optional[str]:
        """The number of its page in the documentation."""
        return self.body.get("code")

    @property
    def line(self) -> Optional[int]:
        """The line of the script, from 1."""
        return self.body.get("line")

    @property
    def column(self) -> Optional[int]:
        """The column in that line, from 1."""
        return self.body.get("column")


@dataclass(frozen=True)
class Answer:
    """What a script gave."""

    body: Any
    headers: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CallAnswer:
    """What a route has answered, as a client would see it."""

    status: int
    headers: dict[str, str]
    body: bytes

    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run."""

    name: str
    data: Any


def _joined(pairs: Iterable[Tuple[str, str]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in pairs:
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def answer_of(failure: Optional[str], body: str, headers: Any, warnings: Any) -> Answer:
    """The answer of a script; raises the failure, if there is one."""
    if failure is not None:
        raise QlioError(**json.loads(failure))
    return Answer(json.loads(body), _joined(headers), warnings)


def call_answer_of(failure: Optional[str], body: bytes, headers: Any, status: int) -> CallAnswer:
    """The same for a route."""
    if failure is not None:
        raise QlioError(**json.loads(failure))
    return CallAnswer(status, _joined(headers), body)


def event_of(said: Tuple[str, str]) -> Event:
    """An event."""
    return Event(said[0], json.loads(said[1]))
