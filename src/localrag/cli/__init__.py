"""The command line: parse, make one call into the library, print.

Data goes to stdout, messages to stderr. Exit 0 done, 1 some items failed, 2 wrong use or environment.
"""

from __future__ import annotations

import errno
import io
import os
import sys


def main() -> None:
    """Runs `localrag` with the arguments of the process."""
    # We have no plug-ins for pydantic, and to look for some reads the metadata of every package installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    _make_writable()
    try:
        from localrag.cli.commands import app  # deferred: typer takes 0.1 s, and `import localrag.cli` is free

        app(prog_name="localrag")
    except KeyboardInterrupt:  # before a command has begun
        raise SystemExit(130) from None
    except UnicodeEncodeError as error:
        if not any("\ud800" <= char <= "\udfff" for argument in sys.argv for char in argument):
            raise
        _end("An argument holds bytes that are not UTF-8.", error)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            raise
        _end(f"The output cannot be written: {error.strerror}.", error)


def _make_writable() -> None:
    """Lets any text be printed: a console or pipe in cp1252 or ASCII has no sign for much of what documents hold."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not in tests that put another one in its place
            stream.reconfigure(errors="replace")
    if "--json" in sys.argv and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as RFC 8259 has it


def _end(message: str, cause: Exception) -> None:
    sys.stderr.write(f"error: {message}\n")
    raise SystemExit(2) from cause
