# All developer commands. `make demo` and `make test` work in a fresh clone.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
MAKE_VENV = $(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
MAKE_VENV = $(PYTHON) -m venv $(VENV)
INSTALL = PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

# two workers per core and one more, because tests often wait for daemons
WORKERS := $(shell expr `getconf _NPROCESSORS_ONLN` \* 2 + 1)

export CHROMIUM

# the tests start hundreds of processes: without compiled modules, each of them compiles everything that it imports
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test check fix mutants attack bench corpus chaos container live lock wheel sbom man schemas screenshots recording docs needs needs-sandbox needs-tests needs-strace needs-git-lfs needs-databases needs-browser needs-pictures

install: $(VENV)/.installed

demo: install needs-sandbox
	@$(BIN)/treehand demo

# everything, or some: `make test TESTS="tests/escape tests/program/test_story.py"`
test: SANDBOX_MUST := yes
test: needs-sandbox needs-tests needs-browser $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -rs --ignore tests/live --ignore tests/container $(TESTS)

# tests that take a minute or two: without an agent, a sandbox, a browser, a daemon or a service. `make test` runs all
FAST := $(wildcard tests/test_*.py) $(addprefix tests/,attack contracts control demo domain engine exploration extending git maintenance mutants patterns schemas secret_scan services/local settings site status store stories system text web)

check: $(VENV)/.installed-dev
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(FAST)

fix: $(VENV)/.installed-dev
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format --quiet

# disables every guard against the threats in docs/security.md in turn: a test must notice. `make mutants MINUTES=10` tries
# as many as fit, others for each commit; TESTED=yes: all tests have just passed
mutants: needs-sandbox needs-strace $(VENV)/.installed-dev
	@MINUTES=$(MINUTES) TESTED=$(TESTED) $(BIN)/python tests/mutants

# every attack that is known, and what came of it: a table, and hostile texts for GitHub's own Markdown parser
attack: needs-sandbox $(VENV)/.installed-dev
	@$(BIN)/python tests/attack

# measures everything, or some parts: `make bench ONLY="exploration events"`
bench: $(VENV)/.installed-dev
	@$(BIN)/python tests/benchmarks $(ONLY)

# plays real repositories with the installed command and a scripted model: `make corpus DIR=/clones ONLY="flask redux"`
corpus: needs-sandbox $(VENV)/.installed-dev
	@DIR=$(DIR) OUT=$(OUT) ONLY="$(ONLY)" TOOLS="$(TOOLS)" QUICK=$(QUICK) $(BIN)/python tests/corpus

# creates the pictures in docs/pictures with a real daemon and a scripted model
screenshots: SANDBOX_MUST := yes
screenshots: needs-sandbox needs-browser needs-pictures $(VENV)/.installed-dev
	@$(BIN)/python tests/screenshots

# records the demo in a terminal, as docs/pictures/demo.svg
recording: SANDBOX_MUST := yes
recording: needs-sandbox $(VENV)/.installed-dev
	@$(BIN)/python tests/recording

# the pages as a site, in build/site; fails if a link leads nowhere
docs: $(VENV)/.installed-dev
	@$(BIN)/python tests/site

# kills daemons again and again; prints numbers, results and a seed: `make chaos SEED=... SECONDS=... ONLY="random compressed"`
chaos: needs-strace $(VENV)/.installed-dev
	@SEED=$(SEED) SECONDS=$(or $(SECONDS),240) $(BIN)/python tests/chaos $(ONLY)

# a release: the wheel and the source archive in dist/, the same bytes wherever they are built; REPOSITORY=https://... is
# the address of the repository that publishes them. Then its bill of materials in CycloneDX, from the lock file
wheel: $(VENV)/.installed-dev
	@rm -rf dist
	@$(BIN)/python -m release.artifacts --repository "$(REPOSITORY)"

sbom: $(VENV)/.installed-dev
	@mkdir -p dist
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --of JSON --output-reproducible -o dist/treehand.cdx.json
	@echo dist/treehand.cdx.json

man: install
	@$(BIN)/treehand man > treehand.1
	@echo treehand.1

# builds the image without a registry and tests it with Podman; installs Podman and debootstrap if it may, or says so.
# MAY_LACK=yes: it is no error if that is impossible
container: $(VENV)/.installed-dev
	@$(BIN)/python tests/container $(if $(MAY_LACK),--may-lack)

# plays the story on a real repository: TREEHAND_LIVE_GITHUB=owner/name GITHUB_TOKEN=... make live
live: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest tests/live -rs

needs:
	@$(PYTHON) -c 'import sys; sys.exit("Treehand needs Python 3.11 or later, and this is %d.%d: make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@git --version >/dev/null 2>&1 || { echo "Treehand needs git 2.38 or later: install it first (Debian: apt-get install git)."; exit 1; }

# agents and tests need bubblewrap: installs it if possible, otherwise asks for it
needs-sandbox:
	@command -v bwrap >/dev/null 2>&1 && exit 0; \
	[ "$$(uname)" = Linux ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing bubblewrap (agents work inside it)"; \
		apt-get install -y -qq bubblewrap >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq bubblewrap; } >/dev/null 2>&1; \
	fi; \
	command -v bwrap >/dev/null 2>&1 || echo "bubblewrap 0.8 or later is missing. Install it: apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora)."; \
	[ -z "$(SANDBOX_MUST)" ] || command -v bwrap >/dev/null 2>&1

needs-tests: needs-strace needs-git-lfs needs-databases
	@command -v groff >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing groff (tests render the manual page with it)"; \
		apt-get install -y -qq groff-base >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq groff-base; } >/dev/null 2>&1; \
	fi; \
	command -v groff >/dev/null 2>&1 || { echo "groff is missing. Install it: apt-get install groff-base (Debian, Ubuntu), dnf install groff-base (Fedora)."; exit 1; }

# without it, the tests that use it say that they are skipped
needs-strace:
	@command -v strace >/dev/null 2>&1 && exit 0; \
	[ "$$(uname)" = Linux ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing strace (tests make system calls fail with it)"; \
		apt-get install -y -qq strace >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq strace; } >/dev/null 2>&1; \
	fi; \
	command -v strace >/dev/null 2>&1 || echo "strace is missing. Install it: apt-get install strace (Debian, Ubuntu), dnf install strace (Fedora)."

# without it, the tests that use it say that they are skipped
needs-git-lfs:
	@command -v git-lfs >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing git-lfs (tests upload files with it)"; \
		apt-get install -y -qq git-lfs >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq git-lfs; } >/dev/null 2>&1; \
	fi; \
	command -v git-lfs >/dev/null 2>&1 || echo "git-lfs is missing. Install it: apt-get install git-lfs (Debian, Ubuntu), dnf install git-lfs (Fedora)."

# without them, the tests that use them say that they are skipped. Where systemd runs, their packages would start them
needs-databases:
	@has() { command -v redis-server >/dev/null 2>&1 && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; }; \
	has && exit 0; \
	if [ "$$(id -u)" = 0 ] && [ ! -d /run/systemd/system ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing redis-server and postgresql (tests start them beside an agent)"; \
		install() { apt-get install -y -qq --no-install-recommends redis-server postgresql; }; \
		{ install || { apt-get update -qq && install; }; } >/dev/null 2>&1; \
	fi; \
	has || echo "redis-server or PostgreSQL is missing. Install them: apt-get install redis-server postgresql (Debian, Ubuntu), dnf install redis postgresql-server (Fedora)."

# tests open the dashboard in a real browser
needs-browser:
	@[ -n "$(CHROMIUM)" ] && exit 0; \
	[ -x /usr/bin/chromium ] && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing chromium (the tests open the dashboard in it)"; \
		apt-get install -y -qq chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1; \
	fi; \
	[ -x /usr/bin/chromium ] || { echo "/usr/bin/chromium is missing; the tests open the dashboard in it. Install it: apt-get install chromium (Debian, Ubuntu), dnf install chromium (Fedora); or name its path: make test CHROMIUM=/path."; exit 1; }

# makes the descriptions in tests/schemas from the whole ones, in the folder TREEHAND_SCHEMAS
schemas: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.schemas.making

# without the font, emoji are empty boxes; without pngquant, pictures are four times as large
needs-pictures:
	@has() { command -v pngquant >/dev/null 2>&1 && fc-list 2>/dev/null | grep -q 'Noto Color Emoji'; }; \
	has && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		echo "Installing fonts-noto-color-emoji and pngquant (the pictures need them)"; \
		{ apt-get install -y -qq fontconfig fonts-noto-color-emoji pngquant || { apt-get update -qq && apt-get install -y -qq fontconfig fonts-noto-color-emoji pngquant; }; } >/dev/null 2>&1; \
	fi; \
	has || { echo "pngquant or a font with colour emoji is missing. Install them: apt-get install fonts-noto-color-emoji pngquant (Debian, Ubuntu), dnf install google-noto-color-emoji-fonts pngquant (Fedora)."; exit 1; }

$(VENV)/.installed: pyproject.toml requirements.lock | needs
	@echo "Creating $(VENV) (about 500 MB, once; most of it is the agent's own program)"
	@$(MAKE_VENV)
	@$(INSTALL) --require-hashes --requirement requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@$(INSTALL) --no-deps --require-hashes --requirement requirements-dev.lock
	@touch $@

# writes every version and the hashes of all files that were published of it, for every Python and machine; names no registry
LOCK = $(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-emit-index-url --no-annotate --custom-compile-command 'make lock' pyproject.toml

# wherever they are installed, each process that imports jsonschema first builds grammars of addresses, for a second
LEFT_OUT = --no-emit-package rfc3987-syntax --no-emit-package lark

lock:
	@rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(LOCK) --extra build --extra dev $(LEFT_OUT) --output-file requirements-dev.lock
	@$(LOCK) --extra build --constraint requirements-dev.lock --output-file requirements.lock
	@rm -rf $(VENV)/lock
