"""Slow things behind a page: the probe of the model and the pump of an answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from localrag.errors import BackendUnavailable
from localrag.types import Check
from localrag.ui.probe import Probe
from localrag.ui.pump import Pump

WAIT_S = 10.0
FINE = Check(name="Ollama", ok=True, detail="answers")


def test_a_fresh_answer_is_not_asked_for_again() -> None:
    now, asked = [0.0], []
    probe = Probe(lambda: asked.append(1) or [FINE], name="Ollama", fresh_s=5.0, clock=lambda: now[0])
    assert probe.checks() == (FINE,)
    now[0] = 4.9
    assert probe.checks() == (FINE,)
    assert len(asked) == 1
    now[0] = 5.1
    probe.checks()
    assert len(asked) == 2


def test_a_page_does_not_wait_for_a_service_that_hangs() -> None:
    hang = threading.Event()
    probe = Probe(lambda: [FINE] if hang.wait(WAIT_S) else [], name="Ollama", wait_s=0.01)
    (silent,) = probe.checks()
    assert not silent.ok
    assert "has not answered" in silent.detail
    hang.set()
    patient = Probe(lambda: [FINE], name="Ollama", wait_s=WAIT_S)
    assert patient.checks() == (FINE,)


def test_only_one_question_is_under_way_at_a_time() -> None:
    hang, asked = threading.Event(), []

    def ask() -> list[Check]:
        asked.append(1)
        hang.wait(WAIT_S)
        return [FINE]

    probe = Probe(ask, name="Ollama", wait_s=0.01)
    for _ in range(3):
        probe.checks()
    hang.set()
    assert len(asked) == 1


def test_a_check_that_breaks_is_a_failed_check() -> None:
    def broken() -> list[Check]:
        raise ValueError("odd reply")

    (check,) = Probe(broken, name="Ollama", wait_s=WAIT_S).checks()
    assert (check.ok, check.detail) == (False, "The check failed: odd reply")


def test_the_pump_gives_the_items_in_order() -> None:
    with Pump(iter(["a", "b"])) as items:
        assert [item for item in items if item is not None] == ["a", "b"]


def test_the_pump_ticks_while_nothing_comes() -> None:
    go = threading.Event()

    def slow() -> Iterator[str]:
        assert go.wait(WAIT_S)
        yield "a"

    with Pump(slow(), tick_s=0.01) as items:
        assert next(items) is None
        go.set()
        assert next(item for item in items if item is not None) == "a"


def test_the_pump_raises_what_the_stream_raises() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise BackendUnavailable("down", service="Ollama", url="x")

    with Pump(failing()) as items, pytest.raises(BackendUnavailable):
        list(items)


def test_leaving_the_pump_closes_the_stream() -> None:
    closed = threading.Event()

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "a"
        finally:
            closed.set()

    with Pump(endless()) as items:
        assert next(items) == "a"
    assert closed.wait(WAIT_S)
