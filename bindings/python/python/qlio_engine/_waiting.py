"""Awaiting what threads of the module `_native` will say: futures that are settled by functions called elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Optional, Protocol, Tuple, TypeVar

from ._answers import Event, event_of

T = TypeVar("T")


class NativeRun(Protocol):
    """A run of the module."""

    def when_done(self, then: Callable[..., object]) -> None: ...

    def cancel(self) -> None: ...


def _future(make: Callable[..., T]) -> Tuple[asyncio.Future[T], Callable[..., None]]:
    """A future of the loop that runs, and the function that settles it from any thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(said: Tuple[Any, ...]) -> None:
        if future.done():
            return
        try:
            future.set_result(make(*said))
        except Exception as error:
            future.set_exception(error)

    def settle_soon(*said: Any) -> None:
        try:
            loop.call_soon_threadsafe(settle, said)
        except RuntimeError:
            # The loop is closed: nobody waits any more.
            pass

    return future, settle_soon


async def outcome_of(run: NativeRun, make: Callable[..., T]) -> T:
    """Awaits a run, and gives it up when whoever awaits it is cancelled."""
    future, settle = _future(make)
    run.when_done(settle)
    try:
        return await future
    except asyncio.CancelledError:
        run.cancel()
        raise


async def events_of(ask: Callable[[Callable[..., object]], None]) -> AsyncIterator[Event]:
    """Asks for one event after the other, until there are no more."""

    def same(said: Optional[Tuple[str, str]]) -> Optional[Tuple[str, str]]:
        return said

    while True:
        future, settle = _future(same)
        ask(settle)
        said = await future
        if said is None:
            return
        yield event_of(said)
