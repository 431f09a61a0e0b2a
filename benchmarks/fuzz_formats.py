"""Damaged files of every format through the parser process: `python benchmarks/fuzz_formats.py [--files 2000]`.

Each file is made of a good one (tests/golden/files, tests/data/office and what --seeds adds) by flipped bits, a
cut, pieces moved, doubled or taken from another file; in zip-based formats the same inside one member, or without it.
It is read by the parser process and cut into chunks. Wanted: pages with chunks, or an error of ours that was raised on
purpose. Counted as faults, and kept in --keep: a time limit reached twice (once may be a busy machine), a crashed
parser, pages without any chunk, and an exception that no reader foresaw. The n-th file of a format is the same in every
run of a seed. Every 50 files the state is written to --state; a run that finds it goes on where that one ended, and
leaves in `benchmarks/results/fuzz_formats.json` what came of each format and how many files were read.

    python benchmarks/fuzz_formats.py --files 50 --only docx pptx     # a look
    nice python benchmarks/fuzz_formats.py --files 2000 --state fuzz.json
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from localrag.chunking.split import Chunker
from localrag.errors import DocumentError
from localrag.parsing.formats import BY_EXTENSION
from localrag.parsing.isolated import IsolatedParser
from localrag.parsing.programs import find_soffice
from localrag.parsing.source import Limits, Tools
from localrag.testing import HashEmbedder

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results/fuzz_formats.json"
SEEDS = (ROOT / "tests/golden/files", ROOT / "tests/data/office")
FAULTS = ("timeout", "crash", "no chunks", "unforeseen")
# What the parser process says of an exception that a reader let through.
_UNFORESEEN = re.compile(r"could not be read: \w+(?:Error|Exception|Warning|Exit|Iteration)\b")
_LARGEST_SEED, _LARGEST_GIVEN = 400_000, 4_000_000  # of our files, and of --seeds
_NUMBER = re.compile(rb"\d+")
# Values that break what is written for the usual ones.
_ODD = (b"", b"-1", b"0", b"99999999999999999999", b"1e400", b"NaN", b"abc", b"\x00", b"\xff\xfe", b"../../x", b"&x;")


def flipped(data: bytes, chance: random.Random, _: bytes) -> bytes:
    """A few bits changed, or up to one in a hundred bytes."""
    changed = bytearray(data)
    for _step in range(chance.choice((1, 3, 10, max(1, len(data) // 100)))):
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(data: bytes, chance: random.Random, _: bytes) -> bytes:
    """The beginning, or less often the end."""
    at = chance.randrange(len(data))
    return data[:at] if chance.random() < 0.7 else data[at:]


def spliced(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """A piece left out, doubled, repeated many times, or put in from another file."""
    at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    start = chance.randrange(max(1, len(other)))
    piece = data[at : min(to, at + 2_000)]
    return chance.choice(
        (
            data[:at] + data[to:],
            data[:to] + data[at:],
            data[:at] + piece * chance.choice((10, 300)) + data[at:],
            data[:at] + other[start : start + 3_000] + data[to:],
        )
    )


def renumbered(data: bytes, chance: random.Random, _: bytes) -> bytes:
    """Some numbers replaced by values that nobody expects."""
    places = list(_NUMBER.finditer(data))
    for place in sorted(chance.sample(places, min(len(places), chance.choice((1, 2, 8)))), key=lambda m: -m.start()):
        data = data[: place.start()] + chance.choice(_ODD) + data[place.end() :]
    return data


_MUTATIONS: tuple[Callable[[bytes, random.Random, bytes], bytes], ...] = (flipped, cut, spliced, renumbered)


def mutated(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """The damaged file: the whole of it, or in two of three zips one of their members."""
    if data[:2] == b"PK" and chance.random() < 0.67:
        return _mutated_zip(data, chance, other)
    return chance.choice(_MUTATIONS)(data, chance, other)


def _mutated_zip(data: bytes, chance: random.Random, other: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
    victim = chance.choice(sorted(members))
    if chance.random() < 0.15:
        del members[victim]
    elif members[victim]:
        members[victim] = chance.choice(_MUTATIONS)(members[victim], chance, other)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6)), content)
    return buffer.getvalue()


class Fuzzer:
    """Reads mutated files and says what came of each."""

    def __init__(self, seeds: dict[str, list[Path]], seed: int, keep: Path, timeout_s: float) -> None:
        self._seeds = {kind: [(path.name, path.read_bytes()) for path in paths] for kind, paths in seeds.items()}
        self._everything = [data for files in self._seeds.values() for _, data in files]
        self._seed = seed
        self._keep = keep
        self._parser = IsolatedParser(Limits(timeout_s=timeout_s), tools=Tools(soffice=find_soffice()))
        self._chunker = Chunker(HashEmbedder().tokenizer, 256, 32)
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(self, *_: object) -> None:
        self._parser.close()
        self._folder.cleanup()

    def outcome(self, kind: str, number: int) -> str:
        """`read`, the kind of the error, or one of FAULTS."""
        chance = random.Random(f"{self._seed} {kind} {number}")
        name, data = chance.choice(self._seeds[kind])
        changed = mutated(data, chance, chance.choice(self._everything))
        path = Path(self._folder.name) / "file"
        path.write_bytes(changed)
        result, tale = self._read(path, name)
        if result == "timeout":
            result, tale = self._read(path, name)
        if result in FAULTS:
            self._keep.mkdir(parents=True, exist_ok=True)
            (self._keep / f"{kind}-{number}-{result.replace(' ', '-')}-{name}").write_bytes(changed)
            print(f"    {kind} {number} ({name}): {result}: {tale}", flush=True)
        return result

    def _read(self, path: Path, name: str) -> tuple[str, str]:
        try:
            document = self._parser.parse(path, name=name)
        except DocumentError as error:
            return ("unforeseen" if _UNFORESEEN.search(error.message) else error.kind), error.message
        return ("read" if self._chunker.chunk("fuzz", document.pages) else "no chunks"), document.media_type


def find_seeds(folders: dict[Path, int], only: list[str]) -> dict[str, list[Path]]:
    """Format -> its good files, of at most as many bytes as stand beside the folder.

    What is read as text, line by line, is one format.
    """
    found: dict[str, list[Path]] = {}
    for path, largest in sorted((path, size) for folder, size in folders.items() for path in folder.rglob("*")):
        known = BY_EXTENSION.get(path.suffix.lower().lstrip("."))
        if known is None or not path.is_file() or not 0 < path.stat().st_size <= largest:
            continue
        if path.name == "NOTICE.md" or "protected" in path.name:
            continue
        kind = "txt" if known.module.endswith(".text") else known.name
        if not only or kind in only:
            found.setdefault(kind, []).append(path)
    return found


def table(results: dict[str, Counter[str]], seconds: Counter[str]) -> str:
    """One line a format: how many were read, refused by kind, and faults."""
    kinds = sorted({kind for counts in results.values() for kind in counts} - {"read", *FAULTS})
    columns = ["read", *kinds, *FAULTS]
    lines = [f"{'format':8}{'files':>7}" + "".join(f"{name:>12}" for name in columns) + f"{'s/file':>9}"]
    for kind, counts in results.items():
        cells = "".join(f"{counts[name] or '.':>12}" for name in columns)
        lines.append(f"{kind:8}{counts.total():>7}{cells}{seconds[kind] / max(1, counts.total()):>9.3f}")
    return "\n".join(lines)


def record(state: dict[str, dict[str, dict[str, int]]]) -> None:
    """Writes what came of all formats in the state."""
    found = {
        kind: {"files": sum(one["counts"].values()), "counts": dict(sorted(one["counts"].items()))}
        for kind, one in sorted(state.items())
    }
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--files", type=int, default=2_000, help="of each format")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--timeout", type=float, default=20.0, help="seconds for one file; LibreOffice needs more")
    arguments.add_argument("--only", nargs="*", default=[], metavar="FORMAT")
    arguments.add_argument("--seeds", type=Path, action="append", default=[], help="a folder with more good files")
    arguments.add_argument("--keep", type=Path, default=Path("fuzz-faults"), help="where files with faults go")
    arguments.add_argument("--state", type=Path, help="a file to go on from")
    options = arguments.parse_args()
    seeds = find_seeds(
        {**dict.fromkeys(SEEDS, _LARGEST_SEED), **dict.fromkeys(options.seeds, _LARGEST_GIVEN)}, options.only
    )
    state = json.loads(options.state.read_text()) if options.state and options.state.exists() else {}
    results = {kind: Counter(state.get(kind, {}).get("counts", {})) for kind in seeds}
    seconds = Counter({kind: state.get(kind, {}).get("seconds", 0.0) for kind in seeds})
    with Fuzzer(seeds, options.seed, options.keep, options.timeout) as fuzzer:
        for kind, counts in results.items():
            for number in range(counts.total(), options.files):
                start = time.perf_counter()
                counts[fuzzer.outcome(kind, number)] += 1
                seconds[kind] += time.perf_counter() - start
                state[kind] = {"counts": dict(counts), "seconds": round(seconds[kind], 2)}
                if options.state and (number % 50 == 49 or number + 1 == options.files):
                    options.state.write_text(json.dumps(state))
    print(table(results, seconds))
    if options.state:
        record(state)


if __name__ == "__main__":
    main()
