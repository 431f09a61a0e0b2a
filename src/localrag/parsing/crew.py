"""Copies of the parser process that work on parts of one file side by side, under the same prohibitions.

They are forked: a copy has all modules loaded, is as confined as the process it was made of, and belongs to the same
process group, so that whoever ends the parser ends its copies. They talk with their maker by frames over pipes.

A copy that dies, runs out of its share of memory or says nonsense ends the crew: `CrewFailed`. The file is then read
anew by one process, so that every fault is found and named there, in one way only.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any

from localrag.parsing import sandbox
from localrag.parsing.frames import Decoder, ProtocolError, read_json, write_json
from localrag.parsing.source import Limits

# 2 GB by default make 256 MB for each of them.
_MOST = 8
# What a message of our own can be: all text of a part.
_BYTES_PER_CHAR, _OVERHEAD_BYTES = 6, 64 * 1024 * 1024
_READ_BYTES = 1024 * 1024


class CrewFailed(Exception):
    """The parts cannot be read side by side; nothing of them is left."""


def crew_size(limits: Limits, things: int, least: int) -> int:
    """How many copies are worth it for so many things of which each should have at least `least`; 1 for none.

    Elsewhere than on Linux a copy would outlive a parser that is killed, and forked libraries of macOS may fail.
    """
    if not sandbox.MEMORY_MAP.exists():
        return 1
    return max(1, min(limits.processors, _MOST, things // least))


@dataclass(slots=True)
class Channel:
    """A copy's end of the two pipes."""

    _incoming: IO[bytes]
    _outgoing: IO[bytes]
    _limit: int

    def send(self, message: dict[str, Any]) -> None:
        """Sends one message to the maker."""
        write_json(self._outgoing, message)

    def receive(self) -> dict[str, Any]:
        """The maker's next message.

        Raises:
            CrewFailed: the maker has no more to say.
        """
        message = read_json(self._incoming, self._limit)
        if message is None:
            raise CrewFailed
        return message


@dataclass(slots=True)
class _Copy:
    """The maker's view of one copy."""

    pid: int
    incoming: int
    outgoing: IO[bytes]
    decoder: Decoder
    messages: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False


class Crew:
    """Running copies; a context manager that ends all of them."""

    def __init__(self, works: Sequence[Callable[[Channel], None]], limits: Limits, on_progress: Callable[[int], None]):
        """Starts a copy for each of the works.

        Args:
            works: called with the channel, each in a copy of its own, which ends when the call returns.
            limits: bounds on what the file may cost; its memory is shared out among the copies.
            on_progress: called with what a copy says to have done when it sends `{"done": N}`.
        """
        self._on_progress = on_progress
        self._limit = limits.output_chars * _BYTES_PER_CHAR + _OVERHEAD_BYTES
        self._share_mb = limits.memory_mb // len(works)
        self._copies: list[_Copy] = []
        self._selector = selectors.DefaultSelector()
        try:
            for work in works:
                self._start(work)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def send(self, number: int, message: dict[str, Any]) -> None:
        """Sends the message to one copy, which must be waiting for it."""
        try:
            write_json(self._copies[number].outgoing, message)
        except OSError as error:
            raise CrewFailed from error

    def send_all(self, message: dict[str, Any]) -> None:
        """Sends the message to every copy."""
        for number in range(len(self._copies)):
            self.send(number, message)

    def receive(self, number: int) -> dict[str, Any]:
        """The next message of one copy.

        Raises:
            CrewFailed: a copy has ended or does not speak the protocol.
        """
        copy = self._copies[number]
        while not copy.messages:
            if copy.ended:
                raise CrewFailed
            for key, _ in self._selector.select():
                self._take(key.data)
        return copy.messages.pop(0)

    def receive_all(self) -> list[dict[str, Any]]:
        """The next message of every copy, in their order."""
        return [self.receive(number) for number in range(len(self._copies))]

    def end(self) -> None:
        """Kills what still runs; nothing is left of the copies afterwards, no zombies either."""
        for copy in self._copies:
            with suppress(ProcessLookupError):
                os.kill(copy.pid, signal.SIGKILL)
            os.waitpid(copy.pid, 0)
            os.close(copy.incoming)
            with suppress(OSError):  # unsent bytes to a copy that is gone
                copy.outgoing.close()
        self._copies.clear()
        self._selector.close()

    def _take(self, copy: _Copy) -> None:
        data = os.read(copy.incoming, _READ_BYTES)
        if not data:
            copy.ended = True
            self._selector.unregister(copy.incoming)
            return
        try:
            messages = copy.decoder.feed(data)
        except ProtocolError as error:
            raise CrewFailed from error
        for message in messages:
            if set(message) == {"done"}:
                self._on_progress(int(message["done"]))
            elif copy.messages:
                raise CrewFailed  # every message answers one of ours
            else:
                copy.messages.append(message)

    def _start(self, work: Callable[[Channel], None]) -> None:
        maker = os.getpid()
        here, there = os.pipe(), os.pipe()
        pid = os.fork()
        if pid:
            os.close(here[0])
            os.close(there[1])
            copy = _Copy(pid, there[0], os.fdopen(here[1], "wb"), Decoder(self._limit))
            self._copies.append(copy)
            self._selector.register(copy.incoming, selectors.EVENT_READ, copy)
            return
        status = 1
        try:
            for descriptor in (here[1], there[0], *(copy.incoming for copy in self._copies)):
                os.close(descriptor)
            sandbox.enter_copy(maker, self._share_mb)
            work(Channel(os.fdopen(here[0], "rb"), os.fdopen(there[1], "wb"), self._limit))
            status = 0
        finally:
            # Whatever happened, nothing of the maker's stack may run here; it sees the closed pipe and reads alone.
            os._exit(status)
