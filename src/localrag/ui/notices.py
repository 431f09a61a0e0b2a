"""Errors and advice as the reader sees them: what happened, then what to do."""

from __future__ import annotations

import streamlit as st

from localrag.errors import LocalRagError
from localrag.types import Check
from localrag.ui.safe import plain, render_safe
from localrag.ui.worker import Problem


def problem_text(problem: Problem) -> str:
    """The message, and the hint on a line of its own; commands in backticks stay commands."""
    lines = [f"**{plain(problem.message)}**"] if problem.hint else [plain(problem.message)]
    if problem.hint:
        lines.append(render_safe(problem.hint))
    return "\n\n".join(lines)


def show_problem(problem: Problem) -> None:
    """One red box."""
    st.error(problem_text(problem), icon=":material/error:")


def show_error(error: LocalRagError) -> None:
    """One red box with the error's message and hint."""
    show_problem(Problem.of(error))


def advice(check: Check) -> str:
    """A failed check as Markdown: its detail, then what to do, a command in it as code."""
    return f"{plain(check.detail)} {command_hint(check.hint)}".strip()


def command_hint(hint: str) -> str:
    """The hint with the command after `... with:` as code; one that has backticks already is kept."""
    lead, colon, command = hint.rpartition(": ")
    if "`" not in hint and colon and command.split(" ")[0] in ("ollama", "localrag"):
        return f"{plain(lead)}\\: `{command.replace('`', '')}`"
    return render_safe(hint)
