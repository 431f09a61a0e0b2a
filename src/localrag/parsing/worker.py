"""The parser process: reads one file after another, as told by its parent, and can do nothing else.

Started as `python -m localrag.parsing.worker` by isolated.py. Requests come on standard input and replies go to
standard output, as frames; both are moved away before any library runs, so that what libraries print cannot
corrupt them.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
from pathlib import Path
from typing import IO, Any

from localrag.errors import DocumentError
from localrag.parsing import sandbox
from localrag.parsing.dispatch import check_file, read_document, unforeseen
from localrag.parsing.frames import document_to_json, error_from_json, error_to_json, read_json, write_json, write_raw
from localrag.parsing.source import Limits, Tools

# Requests are paths and names; anything longer is not from our parent.
_REQUEST_BYTES = 1024 * 1024


def main() -> None:
    """Serves requests until the parent closes the pipe."""
    faulthandler.enable()  # a crash in native code leaves the Python stack on standard error
    # What a reader makes lives until its reply is sent: looking for garbage all the time took a sixth of a PDF's time.
    gc.set_threshold(100_000, 20, 50)
    requests, replies = _take_pipes()
    config = read_json(requests, _REQUEST_BYTES)
    if config is None:
        return
    limits, tools = Limits(**config["limits"]), Tools(**config["tools"])
    report = sandbox.enter(limits, config["niceness"])
    folder = Path.cwd()
    sandbox.end_with_parent(requests.fileno(), folder)
    write_json(replies, {"ready": report})
    while (request := read_json(requests, _REQUEST_BYTES)) is not None:
        sandbox.allow_cpu_seconds(limits.timeout_s)
        try:
            _serve(request, limits, tools, config["extra_readers"], replies)
        except MemoryError:
            os._exit(sandbox.OUT_OF_MEMORY)
    # The parent is gone or done with us. Leaving ends the thread of `end_with_parent`, perhaps before it came to this.
    shutil.rmtree(folder, ignore_errors=True)


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The two ends of the protocol; file descriptors 0 and 1 lead nowhere afterwards."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return requests, replies


def _serve(
    request: dict[str, Any], limits: Limits, tools: Tools, extra_readers: dict[str, str], replies: IO[bytes]
) -> None:
    path, name = Path(request["path"]), request["name"]
    picture = None
    granted = limits.timeout_s

    def more_time(seconds: float) -> None:
        nonlocal granted
        granted += seconds
        sandbox.allow_cpu_seconds(granted)
        write_json(replies, {"more_s": seconds})

    try:
        if request["do"] == "render":
            found, picture = _render(path, name, request, limits, tools)
            reply: dict[str, Any] = {"found": found}
        else:
            document = read_document(
                path,
                name,
                limits,
                extra_readers=extra_readers,
                tools=tools,
                more_time=more_time,
                without={int(key): error_from_json(error, name) for key, error in request["without"].items()},
                inside=lambda number, inner: write_json(replies, {"inside": number, "name": inner}),
            )
            reply = {"document": document_to_json(document)}
    except DocumentError as error:
        reply = {"error": error_to_json(error)}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - any bug of any library, met in one file, must cost that file only
        reply = {"error": error_to_json(unforeseen(name, error))}
    write_json(replies, reply)
    if picture is not None:
        write_raw(replies, picture)


def _render(path: Path, name: str, request: dict[str, Any], limits: Limits, tools: Tools) -> tuple[bool, bytes]:
    from localrag.parsing.render import render_page  # deferred: loads the PDF library

    check_file(path, name, limits)
    picture = render_page(path, request["page"], request["quote"], request["dpi"], name=name, tools=tools)
    return picture.found, picture.png


if __name__ == "__main__":
    main()
