# Every target makes its own environment in .venv the first time and is quick after that.
PYTHON ?= $(or $(shell for p in python3.11 python3 python; do command -v $$p && break; done),python3.11)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt
INPUTS := pyproject.toml constraints.txt
# Without libero its tests are skipped; with it they take a few hundred MB and two minutes more.
TEST_EXTRAS ?= pusht,rl,train,hdf5,diffusers,rlds,socket,dev

export SDL_VIDEODRIVER := dummy
export SDL_AUDIODRIVER := dummy
export HF_HUB_OFFLINE := 1
export OMP_NUM_THREADS ?= 1
export TQDM_MININTERVAL ?= 1

.PHONY: help demo test test-all lint tables clean

help:
	@echo "make demo      install what it needs and generate K futures of one Push-T start"
	@echo "make test      install what it needs and run the tests"
	@echo "make test-all  the same with the slow tests and those of LIBERO"
	@echo "make lint      ruff and mypy"
	@echo "make tables    write the tables of README.md and results/README.md"
	@echo "make clean     remove $(VENV) and caches"

demo: $(VENV)/demo.stamp
	$(BIN)/python examples/demo.py

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q -m "not slow"

test-all: $(VENV)/all.stamp
	$(BIN)/python -m pytest -q

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

tables: $(VENV)/dev.stamp
	$(BIN)/simforcing tables

# Pip is what a new environment gets last. A stamp is touched only after its install has succeeded; a killed install is simply run again.
$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(INPUTS) | $(BIN)/pip
	@echo "installing the demo's packages into $(VENV) (about a minute, torch is the large one)"
	$(INSTALL) -e ".[pusht]"
	@touch $@

$(VENV)/dev.stamp: $(INPUTS) | $(BIN)/pip
	@echo "installing the test packages into $(VENV) (a minute or two)"
	$(INSTALL) -e ".[$(TEST_EXTRAS)]"
	@touch $@ $(VENV)/demo.stamp

$(VENV)/all.stamp: $(VENV)/dev.stamp
	@echo "installing the simulators of LIBERO and robosuite into $(VENV) (a few hundred MB)"
	$(INSTALL) -e ".[pusht-mujoco,libero]"
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
