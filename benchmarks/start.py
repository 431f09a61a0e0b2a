"""How long `localrag --help` and `localrag search` take from the shell, in fresh processes on the sample documents.

    python benchmarks/start.py [--runs 9]

Wall-clock seconds on a warm machine: one run of each goes ahead uncounted, and bytecode is cached, as for everyone
who starts the command twice. Measure when nothing else runs. The targets are 0.5 s and 1.5 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
RESULTS = Path(__file__).parent / "results" / "start.json"
COMMANDS = {"--help": ["--help"], "search": ["search", "When does the notice period end?"]}


def run(arguments: list[str], environment: dict[str, str]) -> float:
    """Seconds of one command."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "localrag", *arguments]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment = {**inherited, "LOCALRAG_DATA_DIR": folder, "PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode")}
        run(["ingest", str(SAMPLES)], environment)
        result = {}
        for name, arguments in COMMANDS.items():
            run(arguments, environment)
            seconds = sorted(run(arguments, environment) for _ in range(runs))
            result[name] = {
                "median": round(statistics.median(seconds), 2),
                "min": round(seconds[0], 2),
                "max": round(seconds[-1], 2),
            }
            print(name, result[name], flush=True)
    RESULTS.write_text(json.dumps({"runs": runs, "seconds": result}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
