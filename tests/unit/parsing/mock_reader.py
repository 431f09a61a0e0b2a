"""A reader that does what its document says: the real parser process is tested by files that misbehave on demand."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from localrag.errors import EncryptedDocument
from localrag.parsing.crew import Channel, Crew
from localrag.parsing.source import Limits, Source
from localrag.types import Page, ParsedDocument


def read(source: Source) -> ParsedDocument:
    command, _, argument = source.read_bytes().decode().partition(" ")
    if command == "slow":
        seconds, more = map(float, argument.split())
        source.more_time(more)
        time.sleep(seconds)
        return ParsedDocument(media_type="test/mock", pages=(Page(ordinal=1, markdown="at last"),))
    return ParsedDocument(media_type="test/mock", pages=(Page(ordinal=1, markdown=COMMANDS[command](argument)),))


def _loop(_: str) -> str:
    while True:
        pass


def _allocate(megabytes: str) -> str:
    held = [bytearray(1024 * 1024) for _ in range(int(megabytes))]
    return f"held {len(held)}"


def _segfault(_: str) -> str:
    ctypes.string_at(0)
    return "survived"


def _print(megabytes: str) -> str:
    line = b"noise " * 10_000
    for _ in range(int(megabytes) * 1024 * 1024 // len(line)):
        os.write(1, line)
        os.write(2, line)
    print("noise through Python")
    return "printed"


def _complain(_: str) -> str:
    raise ValueError("odd \udcff")


def _orphan(pid_file: str) -> str:
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(pid_file).write_text(str(program.pid))
    time.sleep(60)
    return "survived"


def _crew(pid_file: str) -> str:
    """Two copies that hang, beside this process, which waits for them."""

    def work(channel: Channel) -> None:
        _note(pid_file)
        _loop("")

    _note(pid_file)
    with Crew([work, work], Limits(), int) as crew:
        crew.receive_all()
    return "survived"


def _note(pid_file: str) -> None:
    with Path(pid_file).open("a") as file:
        file.write(f"{os.getpid()}\n")


def _connect(port: str) -> str:
    with socket.socket() as connection:
        connection.connect(("127.0.0.1", int(port)))
    return "connected"


def _native_connect(port: str) -> str:
    """The same without Python's socket module, as a native library would; the errno of connect()."""
    library = ctypes.CDLL(None, use_errno=True)
    address = b"\x02\x00" + int(port).to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)
    return f"errno {ctypes.get_errno()}" if library.connect(library.socket(2, 1, 0), address, 16) else "connected"


def _raise(message: str) -> str:
    raise KeyError(message)


def _locked(_: str) -> str:
    raise EncryptedDocument("It is locked.", path="x", hint="Unlock it.")


def _write(path_and_megabytes: str) -> str:
    path, megabytes = path_and_megabytes.rsplit(" ", 1)
    with Path(path).open("wb") as file:
        for _ in range(int(megabytes)):
            file.write(bytes(1024 * 1024))
    return "written"


def _keep(megabytes: str) -> str:
    """As a library that leaks."""
    KEPT.extend(b"x" * (1024 * 1024) for _ in range(int(megabytes)))
    return f"kept {megabytes}"


def _meet(mine_and_other: str) -> str:
    """Leaves a sign and waits for the other's: two readers that meet run at the same time."""
    mine, other = map(Path, mine_and_other.split())
    mine.touch()
    deadline = time.monotonic() + 15
    while not other.exists():
        if time.monotonic() > deadline:
            return "alone"
        time.sleep(0.01)
    return "met"


KEPT: list[bytes] = []

COMMANDS = {
    "crew": _crew,
    "keep": _keep,
    "meet": _meet,
    "say": lambda text: text,
    "loop": _loop,
    "sleep": lambda seconds: f"slept {time.sleep(float(seconds))}",
    "allocate": _allocate,
    "segfault": _segfault,
    "abort": lambda _: f"survived {os.abort()}",
    "kill": lambda _: f"survived {os.kill(os.getpid(), signal.SIGKILL)}",
    "exit": lambda status: f"survived {os._exit(int(status))}",
    "print": _print,
    "output": lambda characters: "x" * int(characters),
    "orphan": _orphan,
    "connect": _connect,
    "native-connect": _native_connect,
    "raise": _raise,
    "locked": _locked,
    "recurse": lambda text: COMMANDS["recurse"](text),
    "environment": lambda _: " ".join(sorted(os.environ)),
    "pid": lambda _: str(os.getpid()),
    "folder": lambda _: str(Path.cwd()),
    "core": lambda _: str(__import__("resource").getrlimit(__import__("resource").RLIMIT_CORE)),
    "nice": lambda _: str(os.nice(0)),
    "modules": lambda _: " ".join(sys.modules),
    "write": _write,
    "complain": _complain,
    "odd": lambda _: "nul \x00 and surrogate \ud800 end",
    "blank": lambda _: " \n\u200b| --- |\n",
}
