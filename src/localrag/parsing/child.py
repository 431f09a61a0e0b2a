"""The parent's handle on one parser process: start it, ask it, end it; every way it can fail told apart."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from localrag.errors import DocumentError, DocumentTooLarge, ParserCrashed, ParseTimeout
from localrag.parsing.frames import FrameTooLarge, ProtocolError, read_json, read_raw, write_json
from localrag.parsing.sandbox import OUT_OF_MEMORY
from localrag.parsing.source import Limits, Tools

_log = logging.getLogger(__name__)

# Python and our modules load in some 0.1 s; a machine that needs a minute for it cannot parse either.
_START_TIMEOUT_S = 60.0
# After its pipes are closed a process needs milliseconds to end.
_END_TIMEOUT_S = 5.0
# What a file can be granted beside its own limit for pages to be recognised: 1,440 of them at a minute each.
_MAX_SECONDS = 86_400.0
# What a reply holds; frames before it ask for time and tell which file inside the file is being read.
_ENDS = frozenset({"document", "error", "found", "ready"})
_STDERR_TAIL_BYTES = 4096
# The PDF library and the text recognition take some 150; a child that keeps more costs more than a new one.
_MAX_GROWTH_MB = 256
# JSON escapes and UTF-8 take at most 6 bytes a character; labels and warnings are within the rest.
_BYTES_PER_CHAR, _REPLY_OVERHEAD_BYTES = 6, 64 * 1024 * 1024
# Variables that programs need to start at all; none of them holds a secret.
_PASSED_ON = ("SYSTEMROOT", "WINDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


class Child:
    """One running parser process with a private folder. Not for several threads at once, but for `end`."""

    def __init__(self, limits: Limits, tools: Tools, extra_readers: Mapping[str, str], niceness: int) -> None:
        """Starts the process and waits until it is ready.

        Raises:
            ParserCrashed: it does not start.
        """
        self.served = 0
        # Number and name of the file inside the file that is being read, or 0 and the file's own name.
        self.inside: tuple[int, str] = 0, ""
        self._ended = threading.Event()
        self._limits = limits
        self._folder = Path(tempfile.mkdtemp(prefix="localrag-parser-"))
        self._process = _start(self._folder)
        self._stderr = _Tail(_pipe(self._process.stderr))
        config = {
            "limits": asdict(limits),
            "tools": asdict(tools),
            "extra_readers": dict(extra_readers),
            "niceness": niceness,
        }
        ready, _ = self._exchange(config, "the parser process", _START_TIMEOUT_S)
        self.protections: dict[str, bool] = ready["ready"]
        self._idle_mb = _resident_mb(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def grown(self) -> bool:
        """Whether it holds much more memory than when it was new: a library leaks, or a large file left its mark."""
        return _resident_mb(self.pid) > self._idle_mb + _MAX_GROWTH_MB

    @property
    def alive(self) -> bool:
        return not self._ended.is_set() and self._process.poll() is None

    def ask(self, request: Mapping[str, object], name: str, *, picture: bool = False) -> tuple[dict[str, Any], bytes]:
        """The reply, and the picture when one was asked for and the reply is no error.

        Raises:
            ParseTimeout, ParserCrashed, DocumentTooLarge: and the process has been ended.
        """
        self.served += 1
        self.inside = 0, name
        return self._exchange(request, name, self._limits.timeout_s, picture=picture)

    def end(self) -> None:
        """Ends the process and everything it started, and removes its folder."""
        self._ended.set()
        _kill(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):  # unsent bytes to a process that is gone
                _pipe(stream).close()
        self._stderr.wait()
        shutil.rmtree(self._folder, ignore_errors=True)  # a leftover in the temporary folder harms nobody

    def _exchange(
        self, request: Mapping[str, object], name: str, timeout_s: float, *, picture: bool = False
    ) -> tuple[dict[str, Any], bytes]:
        deadline = _Deadline(self._process, timeout_s)
        try:
            write_json(_pipe(self._process.stdin), request)
            return self._receive(deadline, picture=picture)
        except (OSError, ProtocolError) as error:
            deadline.cancel()
            was_closed = self._ended.is_set()
            _await_end(self._process)
            self.end()
            status = self._process.returncode
            _log.debug("parser process %d ended with %s: %s", self.pid, status, self._stderr.text())
            if was_closed:
                raise cancelled(name) from error
            if isinstance(error, FrameTooLarge):
                raise _too_large(name) from error
            if deadline.passed.is_set() or status == -getattr(signal, "SIGXCPU", sys.maxsize):
                raise _timeout(name, deadline.seconds) from error
            raise _crash(name, status, self._limits) from error
        except BaseException:
            self.end()  # interrupted between request and reply: the next file would get this one's reply
            raise
        finally:
            deadline.cancel()

    def _receive(self, deadline: _Deadline, *, picture: bool) -> tuple[dict[str, Any], bytes]:
        stream = _pipe(self._process.stdout)
        limit = self._limits.output_chars * _BYTES_PER_CHAR + _REPLY_OVERHEAD_BYTES
        while (reply := read_json(stream, limit)) is not None and not _ENDS.intersection(reply):
            if "more_s" in reply:
                deadline.extend(float(reply["more_s"]))
            else:
                self.inside = int(reply["inside"]), str(reply["name"])
        if reply is None:
            raise ProtocolError("the process ended before it replied")
        return reply, read_raw(stream, limit) if picture and "error" not in reply else b""


class _Deadline:
    """Kills the process when the time is up: that makes a blocked read of its pipe return, on every platform.

    `seconds` is all that was granted, `passed` says whether it was used up.
    """

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.seconds = seconds
        self.passed = threading.Event()
        self._process = process
        self._began = time.monotonic()
        self._timer = self._started()

    def extend(self, seconds: float) -> None:
        """Grants more, up to a day in all: whatever a file claims to need, it ends some time."""
        self._timer.cancel()
        self.seconds = max(self.seconds, min(self.seconds + max(seconds, 0.0), _MAX_SECONDS))
        self._timer = self._started()

    def cancel(self) -> None:
        """Leaves the process alone from now on."""
        self._timer.cancel()

    def _started(self) -> threading.Timer:
        timer = threading.Timer(max(0.0, self._began + self.seconds - time.monotonic()), self._stop)
        timer.daemon = True
        timer.start()
        return timer

    def _stop(self) -> None:
        self.passed.set()
        _kill(self._process)


class _Tail:
    """The last bytes of a stream that is read to its end in the background, so that it never blocks its writer."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._tail = b""
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 65_536):
                self._tail = (self._tail + chunk)[-_STDERR_TAIL_BYTES:]

    def wait(self) -> None:
        """Returns when the stream has ended, or after a while if another process keeps it open."""
        self._thread.join(_END_TIMEOUT_S)

    def text(self) -> str:
        return self._tail.decode("utf-8", errors="replace").strip()


def _resident_mb(pid: int) -> float:
    """Megabytes the process holds; 0 where the system does not tell by a file, or the process has ended."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return 0.0


def _start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # -P keeps the working folder off the import path: a file in it must not be taken for a module.
        [sys.executable, "-P", "-X", "utf8", "-m", "localrag.parsing.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=_environment(folder),
        start_new_session=True,  # a process group of its own: killed as a whole, and Ctrl-C does not reach it
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _environment(folder: Path) -> dict[str, str]:
    """Where to find our modules and a place for temporary files; nothing of the user's own environment."""
    package_root = str(Path(__file__).resolve().parents[2])  # the folder that holds localrag
    site_packages = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    here = str(folder)
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([package_root, *site_packages]),
        # Nothing here calls BLAS, whose threads would reserve the limited address space on machines of many cores.
        "OPENBLAS_NUM_THREADS": "1",
        **dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), here),
    }


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """Gives a process that closed its pipe the time to end by itself, so that its own exit status is seen.

    It is not reaped here: as long as it is a zombie its process group cannot be another's, and `_kill` may end it.
    """
    deadline = time.monotonic() + _END_TIMEOUT_S
    while process.returncode is None and time.monotonic() < deadline:
        if hasattr(os, "waitid"):
            try:
                if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                    return
            except ChildProcessError:  # the timer that killed it has reaped it in this moment
                return
        elif process.poll() is not None:
            return
        time.sleep(0.005)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and its group, once."""
    if process.returncode is None:
        with suppress(ProcessLookupError, ChildProcessError):  # it has just ended by itself
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:  # cannot be: every process is started with three pipes
        raise AssertionError("the parser process has no pipe")
    return stream


def _timeout(name: str, timeout_s: float) -> DocumentError:
    return ParseTimeout(
        f"Reading {name} was stopped after {timeout_s:g} s.",
        path=name,
        hint="Split the file, or raise LOCALRAG_PARSE_TIMEOUT_S.",
    )


def _too_large(name: str) -> DocumentError:
    return DocumentTooLarge(f"{name} holds more text than the limit.", path=name, hint="Split it into smaller files.")


def cancelled(name: str) -> DocumentError:
    return ParserCrashed(f"Reading {name} was cancelled.", path=name, hint="The parser was closed; add it again.")


def _crash(name: str, status: int, limits: Limits) -> DocumentError:
    if status == OUT_OF_MEMORY:
        return ParserCrashed(
            f"The parser ran out of memory ({limits.memory_mb} MB) while reading {name}.",
            path=name,
            hint="Split the file, or raise LOCALRAG_PARSE_MEMORY_MB.",
        )
    if status == -getattr(signal, "SIGKILL", sys.maxsize):
        return ParserCrashed(
            f"The system ended the parser while reading {name}, probably because the machine is out of memory.",
            path=name,
            hint="Close other programs and try again.",
        )
    return ParserCrashed(
        f"The parser crashed ({_status_name(status)}) while reading {name}.",
        path=name,
        hint="The file is damaged or unusual. Open it in its program and save a new copy.",
    )


def _status_name(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):  # a real-time signal has no name
        return signal.Signals(-status).name
    return f"signal {-status}"
