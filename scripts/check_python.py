"""Says clearly when this Python is too old, before pip says it at length."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this file runs on the Python that is too old
    sys.exit(
        "localrag needs Python 3.11 or newer; this is "
        + ".".join(str(part) for part in sys.version_info[:3])
        + ". Name another one: make run PYTHON=python3.12"
    )
