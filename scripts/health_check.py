"""Check the index, the models and Ollama: the same as `localrag health`."""

import sys

from localrag.cli import main

sys.argv.insert(1, "health")
main()
