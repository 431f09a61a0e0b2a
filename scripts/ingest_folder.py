"""Ingest a folder, as `localrag ingest` does: `python scripts/ingest_folder.py FOLDER [--force] [--reset --yes]`."""

import sys

from localrag.cli import main

sys.argv.insert(1, "ingest")
main()
