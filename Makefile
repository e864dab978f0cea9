# Everything a person does here. `make demo` and `make test` need nothing typed before.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
MAKE_VENV = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python --constraint requirements.lock
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock
endif

# half as many again as there are cores: tests wait for daemons as much as they compute
WORKERS := $(shell expr `getconf _NPROCESSORS_ONLN` \* 3 / 2)

export CHROMIUM

.PHONY: install demo test check fix mutants bench chaos container live lock wheel sbom man screenshots needs needs-sandbox needs-tests needs-browser needs-pictures

install: $(VENV)/.installed

demo: install needs-sandbox
	@$(BIN)/treehand demo

test: SANDBOX_MUST := yes
test: needs-sandbox needs-tests needs-browser $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --ignore tests/live --ignore tests/container

# what is judged within a minute or two: without an agent, a sandbox, a browser, a daemon or a service. `make test` is all
FAST := $(wildcard tests/test_*.py) $(addprefix tests/,contracts demo domain embedded engine mutants store stories web)

check: $(VENV)/.installed-dev
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(FAST)

fix: $(VENV)/.installed-dev
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format --quiet

# every guard against docs/security.md's threats, switched off in turn: some test has to notice
mutants: needs-sandbox $(VENV)/.installed-dev
	@$(BIN)/python tests/mutants

bench: $(VENV)/.installed-dev
	@$(BIN)/python tests/benchmarks

# the pictures in docs/pictures, of a real daemon; only the model is scripted
screenshots: SANDBOX_MUST := yes
screenshots: needs-sandbox needs-browser needs-pictures $(VENV)/.installed-dev
	@$(BIN)/python tests/screenshots

# killed again and again: figures, verdicts and a seed; `make chaos SEED=... SECONDS=... ONLY="random compressed"`
chaos: $(VENV)/.installed-dev
	@SEED=$(SEED) SECONDS=$(or $(SECONDS),240) $(BIN)/python tests/chaos $(ONLY)

# a release: the wheel in dist/, and what it is made of, as CycloneDX, from the lock
wheel: $(VENV)/.installed-dev
	@rm -rf build dist
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	@rm -rf build
	@du -k dist/*.whl

sbom: $(VENV)/.installed-dev
	@mkdir -p dist
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --of JSON --output-reproducible -o dist/treehand.cdx.json
	@echo dist/treehand.cdx.json

man: install
	@$(BIN)/treehand man > treehand.1
	@echo treehand.1

# the image, built without a registry and tried with Podman; installs Podman and debootstrap where it may, else says so.
# MAY_LACK=yes: where that cannot be done it is no error
container: $(VENV)/.installed-dev
	@$(BIN)/python tests/container $(if $(MAY_LACK),--may-lack)

# the whole story on a real repository: TREEHAND_LIVE_GITHUB=owner/name GITHUB_TOKEN=... make live
live: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest tests/live -rs

needs:
	@$(PYTHON) -c 'import sys; sys.exit("Treehand needs Python 3.11 or later, and this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@git --version >/dev/null 2>&1 || { echo "Treehand needs git 2.38 or later: install it first (Debian: apt-get install git)."; exit 1; }

# agents work, and the tests run, in bubblewrap: installed where that may be done, else asked for
needs-sandbox:
	@command -v bwrap >/dev/null 2>&1 && exit 0; \
	[ "$$(uname)" = Linux ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing bubblewrap (agents work inside it)"; \
		apt-get install -y -qq bubblewrap >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq bubblewrap; } >/dev/null 2>&1; \
	fi; \
	command -v bwrap >/dev/null 2>&1 || echo "There is no bubblewrap 0.8 or later. Install it: apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora)."; \
	[ -z "$(SANDBOX_MUST)" ] || command -v bwrap >/dev/null 2>&1

needs-tests:
	@command -v groff >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing groff (the manual page is tried with it)"; \
		apt-get install -y -qq groff-base >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq groff-base; } >/dev/null 2>&1; \
	fi; \
	command -v groff >/dev/null 2>&1 || { echo "There is no groff. Install it: apt-get install groff-base (Debian, Ubuntu), dnf install groff-base (Fedora)."; exit 1; }

# the dashboard is tried in a real browser
needs-browser:
	@[ -n "$(CHROMIUM)" ] && exit 0; \
	[ -x /usr/bin/chromium ] && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing chromium (the tests open the dashboard in it)"; \
		apt-get install -y -qq chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1; \
	fi; \
	[ -x /usr/bin/chromium ] || { echo "There is no /usr/bin/chromium, in which the tests open the dashboard. Install it: apt-get install chromium (Debian, Ubuntu), dnf install chromium (Fedora); or say where it is: make test CHROMIUM=/path."; exit 1; }

# without them signs such as a green tick are empty boxes, and pictures four times as large
needs-pictures:
	@has() { command -v pngquant >/dev/null 2>&1 && fc-list 2>/dev/null | grep -q 'Noto Color Emoji'; }; \
	has && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing fonts-noto-color-emoji and pngquant (the pictures need them)"; \
		{ apt-get install -y -qq fontconfig fonts-noto-color-emoji pngquant || { apt-get update -qq && apt-get install -y -qq fontconfig fonts-noto-color-emoji pngquant; }; } >/dev/null 2>&1; \
	fi; \
	has || { echo "There is no pngquant, or no font with colour signs. Install them: apt-get install fonts-noto-color-emoji pngquant (Debian, Ubuntu), dnf install google-noto-color-emoji-fonts pngquant (Fedora)."; exit 1; }

$(VENV)/.installed: pyproject.toml requirements.lock | needs
	@echo "Building $(VENV) (the agent's own program comes with it: about 500 MB, once)"
	@$(MAKE_VENV)
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(INSTALL) --editable '.[dev]'
	@touch $@

lock:
	@rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	@{ echo "# Every package, pinned. Made by \`make lock\`."; $(VENV)/lock/bin/python -m pip freeze --exclude treehand; } > requirements.lock
	@rm -rf $(VENV)/lock
