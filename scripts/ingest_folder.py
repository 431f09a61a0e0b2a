"""Ingest a folder: `python scripts/ingest_folder.py FOLDER [--force] [--reset --yes]`; the same as `localrag ingest`."""

import sys

from localrag.cli import main

sys.argv.insert(1, "ingest")
main()
