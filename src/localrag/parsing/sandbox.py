"""Limits and prohibitions that a parser process lays on itself before it reads its first file.

Linux has all of them. macOS lacks the address space limit and the network namespace; Windows has neither these nor
CPU time and file size limits. What holds everywhere: the parent's wall clock, the bound on replies, the clean
environment and the guard that refuses sockets to Python code.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import select
import shutil
import signal
import sys
import threading
from pathlib import Path

from localrag.parsing.source import Limits

# Exit status by which the parent learns that memory ran out: at that point nothing else can be said reliably.
OUT_OF_MEMORY = 77

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG = 1
_HARMLESS_SOCKET_EVENTS = frozenset({"socket.gethostname"})
# Where Linux says how much memory this process has.
MEMORY_MAP = Path("/proc/self/statm")


def enter(limits: Limits, niceness: int) -> dict[str, bool]:
    """Which of the protections are in force, after putting all that the platform has in force.

    To be called while the process has one thread (a user namespace asks for that) and after the modules every file
    needs are loaded, as the memory limit counts from what the process uses now.
    """
    if hasattr(os, "nice"):
        os.nice(niceness)
    report = {"network_namespace": _leave_network()}
    sys.addaudithook(_refuse_sockets)
    report["resource_limits"] = _limit_resources(limits)
    return report


def allow_cpu_seconds(wall_s: float) -> None:
    """Grants CPU time for work that may take so long from now, as the limit counts from the start of the process.

    The wall clock of the parent is the limit that matters. This one ends a hung parser whose parent was killed; twice
    the wall clock leaves room for libraries that use two threads.
    """
    if sys.platform == "win32":
        return
    import resource  # does not exist on Windows

    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + 2 * wall_s) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds if hard < 0 else min(seconds, hard), hard))


def end_with_parent(requests_fd: int, folder: Path) -> None:
    """Ends this process, and removes its folder, as soon as the parent closes its end of the pipe by dying.

    The main loop would notice only between two files, and not at all in an endless loop.
    """
    if not hasattr(select, "poll"):
        return

    def wait_for_hang_up() -> None:
        poller = select.poll()
        poller.register(requests_fd, 0)  # no events asked for: a hang-up is always reported
        poller.poll()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=wait_for_hang_up, daemon=True).start()


def enter_copy(maker: int, memory_mb: int) -> None:
    """Ties a forked copy (Linux) to the life of the process it was made of, and lowers its memory limit for good.

    All other limits and prohibitions were inherited; processor time is counted anew.
    """
    import resource  # does not exist on Windows

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != maker:  # it died before it could be asked to take us along
        os._exit(1)
    _lower(resource.RLIMIT_AS, _address_space() + memory_mb * 1024 * 1024)


def _address_space() -> int:
    """Bytes of address space in use, where MEMORY_MAP exists."""
    return int(MEMORY_MAP.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _limit_resources(limits: Limits) -> bool:
    if sys.platform == "win32":
        return False
    import resource  # does not exist on Windows

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, limits.inflated_bytes)
    if not MEMORY_MAP.exists():
        return False
    _lower(resource.RLIMIT_AS, _address_space() + limits.memory_mb * 1024 * 1024)
    return True


def _lower(which: int, value: int) -> None:
    """Sets both limits, the hard one too, so that no code in this process can raise them again."""
    import resource  # does not exist on Windows; the callers have checked

    _, hard = resource.getrlimit(which)
    bound = value if hard < 0 else min(value, hard)
    resource.setrlimit(which, (bound, bound))


def _leave_network() -> bool:
    """Whether this process now has a network of its own without any interface.

    Root needs no user namespace for that, and would lose its right to read others' files in one. Where the system
    forbids namespaces (some containers), the socket guard remains.
    """
    if sys.platform != "linux":
        return False
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWUSER | _CLONE_NEWNET
    with contextlib.suppress(OSError, AttributeError):
        return int(ctypes.CDLL(None, use_errno=True).unshare(flags)) == 0
    return False


def _refuse_sockets(event: str, _: tuple[object, ...]) -> None:
    if event.startswith("socket.") and event not in _HARMLESS_SOCKET_EVENTS:
        raise PermissionError(f"parsers have no network ({event})")
