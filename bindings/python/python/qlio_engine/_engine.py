"""The engine: an app that is open, and its runs."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import threading
import weakref
from typing import Any, AsyncIterator, Generator, Literal, Mapping, Optional, Sequence, Union

from ._answers import Answer, CallAnswer, Event, answer_of, call_answer_of
from ._native import NativeApp, NativeRouteRun, NativeScriptRun
from ._waiting import events_of, outcome_of

Path = Union[str, "os.PathLike[str]"]


def _json(said: Mapping[str, Any]) -> str:
    return json.dumps(said, allow_nan=False)


def _text(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.fspath(path)


class Run:
    """A script under way: awaited it gives its `Answer`, and its `events` can be read meanwhile.

    Cancelling the task that awaits it gives it up. Nobody has to await it; it goes on all the same.
    """

    def __init__(self, native: NativeScriptRun, engine: "Engine") -> None:
        self._native = native
        # An engine that nobody refers to any more gives its runs up.
        self._engine = engine

    def __await__(self) -> Generator[Any, None, Answer]:
        return outcome_of(self._native, answer_of).__await__()

    def wait(self) -> Answer:
        """Waits for it in this thread, without an event loop. Ctrl-C gives it up."""
        return answer_of(*self._native.wait())

    def cancel(self) -> None:
        """Gives it up: whoever awaits it gets a `QlioError` of kind `cancelled`."""
        self._native.cancel()

    @property
    def events(self) -> AsyncIterator[Event]:
        """What happens meanwhile; ends with the run."""
        return events_of(self._native.next_event)


class Engine:
    """An app that is open: its tables, its routes, and threads that run scripts.

    Opening reads files, and raises `ValueError` with all that is wrong with them. What is absent is looked for in the
    folder `app`; `config` is a settings file, or the settings themselves.
    """

    def __init__(
        self,
        app: Path = ".",
        *,
        tables: Optional[Path] = None,
        routes: Optional[Path] = None,
        connectors: Optional[Path] = None,
        xformers: Optional[Path] = None,
        config: Union[None, Path, Mapping[str, Any]] = None,
        threads: Optional[int] = None,
        max_runs: Optional[int] = None,
    ) -> None:
        options = {
            "app": os.fspath(app),
            "tables": _text(tables),
            "routes": _text(routes),
            "connectors": _text(connectors),
            "xformers": _text(xformers),
            "config": dict(config) if isinstance(config, Mapping) else _text(config),
            "threads": threads,
            "maxRuns": max_runs,
        }
        self._native = NativeApp(_json(options))
        self._process = os.getpid()
        self._closing = threading.Lock()
        self._closed: Optional[threading.Event] = None
        _open.add(self)

    def _here(self) -> NativeApp:
        """The app, in the process that has its threads."""
        if os.getpid() != self._process:
            raise RuntimeError("this engine was opened before a fork: open one in the process that uses it")
        return self._native

    @property
    def warnings(self) -> list[str]:
        """What is odd about the files of the app."""
        return self._native.warnings

    @property
    def tables(self) -> int:
        """The number of tables."""
        return self._native.size[0]

    @property
    def routes(self) -> int:
        """The number of routes."""
        return self._native.size[1]

    @property
    def fingerprint(self) -> str:
        """Tells this catalog from any other."""
        return self._native.fingerprint

    def exec(
        self,
        script: str,
        *,
        name: Optional[str] = None,
        context: Optional[Mapping[str, Any]] = None,
        request: Optional[Mapping[str, Any]] = None,
        trust: Optional[Literal["app", "client"]] = None,
        events: Union[None, bool, Sequence[str]] = None,
        timeout_ms: Optional[int] = None,
    ) -> Run:
        """Begins to run a script.

        `context` are its variables, `request` what it sees of a request (`params`, `headers`, `body`, `routeParams`);
        `trust="client"` is for a text that is not the program's own; `events` are `True`, or names of events and
        variables; `name` is how errors call it.
        """
        said = {
            "script": script,
            "name": name,
            "context": context,
            "request": request,
            "trust": trust,
            "events": events,
            "timeoutMs": timeout_ms,
        }
        return Run(self._here().exec(_json(said)), self)

    async def call(
        self,
        path: str,
        *,
        method: Optional[str] = None,
        headers: Optional[Mapping[str, Union[str, Sequence[str]]]] = None,
        body: Any = None,
        timeout_ms: Optional[int] = None,
    ) -> CallAnswer:
        """Asks a route, as a client would over HTTP. Bytes and text are sent as they are, anything else as JSON."""
        return await outcome_of(self._call(path, method, headers, body, timeout_ms), call_answer_of)

    def call_sync(
        self,
        path: str,
        *,
        method: Optional[str] = None,
        headers: Optional[Mapping[str, Union[str, Sequence[str]]]] = None,
        body: Any = None,
        timeout_ms: Optional[int] = None,
    ) -> CallAnswer:
        """The same in this thread, without an event loop. Ctrl-C gives it up."""
        return call_answer_of(*self._call(path, method, headers, body, timeout_ms).wait())

    def _call(
        self,
        path: str,
        method: Optional[str],
        headers: Optional[Mapping[str, Union[str, Sequence[str]]]],
        body: Any,
        timeout_ms: Optional[int],
    ) -> NativeRouteRun:
        sent = dict(headers or {})
        if body is None:
            raw = b""
        elif isinstance(body, (bytes, bytearray, memoryview)):
            raw = bytes(body)
        elif isinstance(body, str):
            raw = body.encode()
        else:
            raw = json.dumps(body, allow_nan=False).encode()
            if not any(name.lower() == "content-type" for name in sent):
                sent["content-type"] = "application/json"
        said = {"path": path, "method": method, "headers": sent, "timeoutMs": timeout_ms}
        return self._here().call(_json(said), raw)

    def notes(self) -> AsyncIterator[Event]:
        """What a server would write to its log: incidents, failures of the cache."""
        return events_of(self._here().next_note)

    def close_sync(self, grace_ms: int = 5000) -> None:
        """Takes no more runs, lets those under way go on for a while, gives them up, and waits for all that."""
        if os.getpid() != self._process:
            # Its threads are in the other process.
            return
        with self._closing:
            closed = self._closed
            if closed is None:
                closed = self._closed = threading.Event()
                self._native.close(grace_ms, lambda _, is_over=closed: is_over.set())
        closed.wait()

    async def close(self, grace_ms: int = 5000) -> None:
        """The same without holding the event loop up."""
        await asyncio.get_running_loop().run_in_executor(None, self.close_sync, grace_ms)

    async def __aenter__(self) -> "Engine":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close_sync()


_open: "weakref.WeakSet[Engine]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Threads that hand things over must not meet an interpreter that ends."""
    for engine in list(_open):
        engine.close_sync(grace_ms=0)
