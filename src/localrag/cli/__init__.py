"""The command line: parse, make one call into the library, print.

Data goes to stdout, messages to stderr. Exit 0 done, 1 some items failed, 2 wrong use or environment.
"""

from __future__ import annotations


def main() -> None:
    """Runs `localrag` with the arguments of the process."""
    from localrag.cli.commands import app  # deferred: typer and rich take 0.2 s, and `import localrag.cli` is free

    app(prog_name="localrag")
