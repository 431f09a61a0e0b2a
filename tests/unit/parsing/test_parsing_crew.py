"""Copies of a process that share the work on one file: what they say arrives, every way to fail ends all of them."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from localrag.errors import ParseTimeout
from localrag.parsing import sandbox
from localrag.parsing.crew import Channel, Crew, CrewFailed, crew_size
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.source import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files are read side by side on Linux only")

MOCK = str(Path(__file__).with_name("mock_reader.py"))
LIMITS = Limits(memory_mb=256, output_chars=1000)


def _copies() -> list[psutil.Process]:
    """Forked copies of this process, zombies included."""
    me = psutil.Process()
    return [child for child in me.children() if child.cmdline() == me.cmdline() or child.status() == "zombie"]


def _echo(channel: Channel) -> None:
    while True:
        channel.send({"pid": os.getpid(), "heard": channel.receive()["say"]})


def test_every_copy_hears_and_answers_and_is_gone_afterwards() -> None:
    with Crew([_echo, _echo], LIMITS, int) as crew:
        crew.send(0, {"say": "one"})
        crew.send(1, {"say": "two \udcff\u4e2d"})
        first, second = crew.receive_all()
        assert (first["heard"], second["heard"]) == ("one", "two \udcff\u4e2d")
        assert len({first["pid"], second["pid"], os.getpid()}) == 3
        crew.send_all({"say": "all"})
        assert [reply["heard"] for reply in crew.receive_all()] == ["all", "all"]
    assert not psutil.pid_exists(first["pid"])
    assert not psutil.pid_exists(second["pid"])


def test_progress_is_told_as_it_comes() -> None:
    def work(channel: Channel) -> None:
        for _ in range(3):
            channel.send({"done": 10})
        channel.send({"ready": True})

    told: list[int] = []
    with Crew([work, work], LIMITS, told.append) as crew:
        assert crew.receive_all() == [{"ready": True}] * 2
    assert told == [10] * 6


def _babble(channel: Channel) -> None:
    for number in range(10_000):
        channel.send({"number": number})


def _allocate(channel: Channel) -> None:
    # Each of two has 128 of 256 MB. What stays free at the limit is taken too.
    held = [bytearray(2**20) for _ in range(160)]
    channel.send({"held": len(held)})


FAULTS: dict[str, Callable[[Channel], Any]] = {
    "exits": lambda channel: os._exit(3),
    "crashes": lambda channel: (faulthandler.disable(), os.kill(os.getpid(), signal.SIGSEGV)),
    "is killed": lambda channel: os.kill(os.getpid(), signal.SIGKILL),
    "raises": lambda channel: [][1],
    "ends without a word": lambda channel: None,
    "takes more memory than its share": _allocate,
    "floods": lambda channel: channel.send({"text": "x" * (65 * 2**20)}),
    "says what nobody asked": _babble,
    "says no JSON": lambda channel: channel._outgoing.write(b"J" + (3).to_bytes(8, "big") + b"[1]"),
    "stops within a frame": lambda channel: channel._outgoing.write(b"J" + (300).to_bytes(8, "big") + b"{}"),
}


def _talk(crew: Crew) -> None:
    crew.send(0, {"say": "one"})
    crew.receive_all()
    crew.receive(1)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_copy_that_fails_ends_the_crew(fault: str) -> None:
    before = {process.pid for process in _copies()}
    with Crew([_echo, FAULTS[fault]], LIMITS, int) as crew, pytest.raises(CrewFailed):
        _talk(crew)
    assert {process.pid for process in _copies()} <= before


def test_a_share_of_the_memory_can_be_used() -> None:
    def work(channel: Channel) -> None:
        held = [bytearray(2**20) for _ in range(64)]
        channel.send({"held": len(held)})

    with Crew([work, work], LIMITS, int) as crew:
        assert crew.receive_all() == [{"held": 64}] * 2


def test_copies_are_made_where_each_has_enough_to_do() -> None:
    assert crew_size(Limits(processors=4), 39, 20) == 1
    assert crew_size(Limits(processors=4), 40, 20) == 2
    assert crew_size(Limits(processors=4), 400, 20) == 4
    assert crew_size(Limits(processors=64), 10_000, 20) == 8
    assert crew_size(Limits(), 400, 20) == 1  # nobody said how many processors there are


def _pids(path: Path, count: int) -> list[int]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists() and len(pids := path.read_text().split()) == count:
            return [int(pid) for pid in pids]
        time.sleep(0.02)
    raise AssertionError(f"{count} copies were not started")


def _all_gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids):
            return True
        time.sleep(0.02)
    return False


def test_copies_that_hang_are_ended_with_their_parser_at_the_time_limit(tmp_path: Path) -> None:
    file = tmp_path / "commands.mock"
    file.write_text(f"crew {tmp_path / 'pids'}")
    with IsolatedParser(Limits(timeout_s=2.0, memory_mb=256), extra_readers={"mock": MOCK}) as parser:
        with pytest.raises(ParseTimeout, match="after 2 s"):
            parser.parse(file, name="commands.mock")
        assert _all_gone(_pids(tmp_path / "pids", 3))
        file.write_text("say next")
        assert parser.parse(file, name="commands.mock").pages[0].markdown == "next"


def test_copies_end_with_a_maker_that_is_killed(tmp_path: Path) -> None:
    maker = os.fork()
    if not maker:
        with Crew([_writes_and_hangs(tmp_path / "pids")] * 2, LIMITS, int) as crew:
            crew.receive(0)
        os._exit(0)
    pids = _pids(tmp_path / "pids", 2)
    os.kill(maker, signal.SIGKILL)
    os.waitpid(maker, 0)
    assert _all_gone(pids)


def _writes_and_hangs(path: Path) -> Callable[[Channel], None]:
    def work(channel: Channel) -> None:
        with path.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while True:
            pass

    return work


def test_a_copy_cannot_raise_its_memory_limit_again(tmp_path: Path) -> None:
    def work(channel: Channel) -> None:
        import resource

        try:
            resource.setrlimit(resource.RLIMIT_AS, (2**40, resource.getrlimit(resource.RLIMIT_AS)[1]))
        except ValueError:
            channel.send({"limit": resource.getrlimit(resource.RLIMIT_AS), "used": sandbox._address_space()})

    with Crew([work], LIMITS, int) as crew:
        reply = crew.receive(0)
    soft, hard = reply["limit"]
    assert soft == hard
    assert soft <= reply["used"] + 256 * 2**20
