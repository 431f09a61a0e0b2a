"""The parser the program uses: every file is read in a child process, which a bad file can take down alone.

Children are started when first needed, kept between files since starting one costs more than reading most files,
replaced after so many files or when they keep too much memory, and replaced at once after any fault.
"""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from localrag.errors import ParserCrashed, ParseTimeout
from localrag.parsing.child import Child, cancelled
from localrag.parsing.frames import document_from_json, error_from_json, error_to_json
from localrag.parsing.source import Limits, Tools
from localrag.protocols import PagePicture
from localrag.types import ParsedDocument

# A fresh child costs a tenth of a second; spread over this many files it is not noticed.
_RECYCLE_AFTER = 200
# Members of one archive that may each cost their time limit and a process before the archive is given up.
_MAX_LEFT_OUT = 3
# Below the interface and the answering of questions, above idle work.
_NICENESS = 5


class IsolatedParser:
    """Implements Parser and PageRenderer with `workers` child processes; safe for several threads at once.

    A call waits for a free child. Whoever draws pages while files are being read should hold a second instance.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        workers: int = 1,
        recycle_after: int = _RECYCLE_AFTER,
        niceness: int = _NICENESS,
        extra_readers: Mapping[str, str] | None = None,
        tools: Tools | None = None,
    ) -> None:
        """A parser without a running child; the first file starts one.

        Args:
            limits: bounds on what one file may cost.
            workers: how many files can be read at the same time.
            recycle_after: files after which a child is replaced.
            niceness: how far children stand back for other processes (POSIX).
            extra_readers: extension -> path of a Python file with a `read(source)`, which then reads these files.
            tools: text recognition and other programs; by default what comes with localrag.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        limits = limits if limits is not None else Limits()
        self._limits = replace(limits, processors=limits.processors or max(1, _processors() // workers))
        self._recycle_after = recycle_after
        self._niceness = niceness
        self._extra_readers = {ending: str(Path(file).resolve()) for ending, file in (extra_readers or {}).items()}
        self._tools = tools if tools is not None else Tools()
        self._closed = False
        self._idle: queue.LifoQueue[Child | None] = queue.LifoQueue()
        for _ in range(workers):
            self._idle.put(None)
        self._running: set[Child] = set()
        self._lock = threading.Lock()
        # Ends the children at the interpreter's exit too, when nobody called close().
        self._finalizer = weakref.finalize(self, _end_all, self._running)

    def parse(self, path: Path, *, name: str) -> ParsedDocument:
        """The document's pages; at least one holds text. Raises the DocumentError that says what is wrong."""
        without: dict[int, dict[str, str]] = {}
        while True:
            request = {"do": "parse", "path": str(path.resolve()), "name": name, "without": without}
            with self._child(name) as child:
                try:
                    reply, _ = child.ask(request, name)
                    return document_from_json(_checked(reply, name)["document"])
                except (ParseTimeout, ParserCrashed) as error:
                    number, inner = child.inside
                    if not number or self._closed or len(without) == _MAX_LEFT_OUT:
                        raise
                    # A file inside this one took the process down: the rest is read again without it.
                    without[number] = error_to_json(type(error)(error.message.replace(name, inner), path=inner))

    def render(self, path: Path, *, name: str, page: int, quote: str, dpi: int = 110) -> PagePicture:
        """The page (from 1) as PNG with the quote highlighted."""
        request = {"do": "render", "path": str(path.resolve()), "name": name, "page": page, "quote": quote, "dpi": dpi}
        with self._child(name) as child:
            reply, png = child.ask(request, name, picture=True)
        return PagePicture(png=png, found=bool(_checked(reply, name)["found"]))

    def protections(self) -> dict[str, bool]:
        """Which protections this machine allows: `network_namespace`, `resource_limits`. Starts a child if none runs.

        The wall clock, the clean environment and the socket guard are always there.
        """
        with self._child("the parser process") as child:
            return dict(child.protections)

    def close(self) -> None:
        """Ends the child processes; a file that is being read fails, and the parser cannot be used again."""
        with self._lock:
            self._closed = True
            children = list(self._running)
            self._running.clear()
        for child in children:
            child.end()

    def __enter__(self) -> IsolatedParser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _child(self, name: str) -> Iterator[Child]:
        """A child for one request: an idle one, or a new one; it goes back unless the request was its end."""
        child = self._idle.get()
        try:
            if child is None or not child.alive:
                self._forget(child)
                child = None
                child = self._started(name)
            yield child
        finally:
            if child is not None and (not child.alive or child.served >= self._recycle_after or child.grown):
                self._forget(child)
                child = None
            self._idle.put(child)

    def _started(self, name: str) -> Child:
        if self._closed:
            raise RuntimeError("the parser is closed")
        child = Child(self._limits, self._tools, self._extra_readers, self._niceness)
        with self._lock:
            if not self._closed:
                self._running.add(child)
                return child
        child.end()
        raise cancelled(name)

    def _forget(self, child: Child | None) -> None:
        if child is not None:
            with self._lock:
                self._running.discard(child)
            child.end()


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(reply: dict[str, Any], name: str) -> dict[str, Any]:
    if "error" in reply:
        raise error_from_json(reply["error"], name)
    return reply


def _end_all(children: set[Child]) -> None:
    for child in list(children):
        child.end()
    children.clear()
