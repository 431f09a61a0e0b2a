# Everything from a fresh clone with only Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: run demo test test-services test-all check lint types layers clean

run: $(READY)            ## serve the app on http://127.0.0.1:8501
	$(BIN)/localrag ui

demo: $(READY)           ## ingest the sample documents and ask them a question
	LOCALRAG_DATA_DIR=data/demo $(BIN)/localrag ingest data/samples
	LOCALRAG_DATA_DIR=data/demo $(BIN)/localrag ask "What can a single erroneously high AOA sensor input command?"

check: lint types layers

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

test: check              ## lint, types, layers, and every test that needs no service
	$(BIN)/pytest -m "not ollama and not opensearch and not browser and not libreoffice"

test-services: $(READY)  ## the tests that need real services or a real browser; starts and ends them
	bash scripts/services/tools.sh
	bash scripts/services/run_with_services.sh ollama opensearch -- $(BIN)/pytest -m "ollama or opensearch or browser or libreoffice"

test-all: test test-services

clean:
	rm -rf $(VENV)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) scripts/check_python.py
	@echo "Installing into $(VENV): about 1 GB, some minutes the first time."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,opensearch]'
	touch $(READY)
