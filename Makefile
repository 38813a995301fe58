# The doors of this checkout; `make` lists them. Each one sets up what it needs.
# Needed beforehand: make, and Python 3.11 or later with venv.

PYTHON ?= python3
WORKERS ?= 4

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RAY := $(VENV)/.ray-installed
PIP := $(BIN)/python -m pip --disable-pip-version-check

# An environment holds the paths of the folder that it was made in. One that came here by a copy, or
# whose installation was interrupted, is made again.
HOME_OF_VENV := $(shell cat $(STAMP) 2>/dev/null)
ifneq ($(HOME_OF_VENV),$(CURDIR))
.PHONY: $(STAMP)
endif

NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))'

.DEFAULT_GOAL := help
.PHONY: help setup demo test two-hosts quick facts hadoop test-ray cluster lab-cluster traces why papers fairness rest-samples lint format bench bench-compare bench-rival screenshots site docs dist packages fresh image soak lock protocols clean

help: ## list these doors
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv with the locked versions; does nothing when nothing changed

SUPERVISOR := setup.py $(wildcard src/fairshare/engines/local/native/*.[ch])
$(STAMP): pyproject.toml requirements-dev.lock $(SUPERVISOR)
	@if [ "$(HOME_OF_VENV)" = "$(CURDIR)" ] && $(BIN)/python $(NEW_ENOUGH) 2>/dev/null; then exit; fi; \
	$(PYTHON) $(NEW_ENOUGH) 2>/dev/null || { \
	  echo "fairshare needs Python 3.11 or later, and '$(PYTHON)' is" \
	    "$$($(PYTHON) -V 2>/dev/null || echo 'not there')." >&2; \
	  echo "Name another one: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }; \
	echo "Making $(VENV) with $$($(PYTHON) -V)"; \
	$(PYTHON) -m venv --clear $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "Installing the versions of requirements-dev.lock"
	@$(PIP) install --quiet --require-hashes --requirement requirements-dev.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@echo "$(CURDIR)" > $@

demo: $(STAMP) ## show the scheduler at work (SCHEDULER=... another one; CRASH=1 kills the server; KEEP=DIR keeps its record)
	@$(BIN)/fairshare demo $(if $(SCHEDULER),--scheduler $(SCHEDULER)) $(if $(CRASH),--crash) $(if $(KEEP),--keep $(KEEP))

# What pytest makes of a test file is kept, whatever the shell says: else it is made at every run.
test quick: export PYTHONDONTWRITEBYTECODE :=
# A file stays in one process, so that its tests share what it has started. Files are dealt out in
# the order of their folders: those with servers, the longest, come first.
DEALT = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# The tests with real servers, whose state may as well be in a database. Left out is what says that a
# lost journal is lost, counts the memory or reads the output of a server alone, or writes a
# configuration of its own.
SHARED := tests/e2e $(addprefix --deselect tests/e2e/,hostile/test_another_life.py \
  hostile/test_submitted_bytes.py::test_what_was_refused_or_is_forgotten_stays_nowhere_in_memory \
  test_server.py::test_a_signal_ends_the_server_and_what_runs \
  test_init.py::test_a_server_of_ones_own_works_at_once \
  test_faults.py::test_a_full_disk_ends_the_server_with_a_word_and_nothing_acknowledged_is_lost)
test: $(STAMP) ## run the whole suite (less than ten minutes); STATE=postgresql: servers with their state there
	$(if $(filter postgresql,$(STATE)),$(BIN)/python -m tests.postgres $(DEALT) -rfEs $(SHARED),$(BIN)/python -m pytest $(DEALT) -rfEs)

# These tests wait for nothing: more processes than processors would only collect them once more.
quick: WORKERS := $(shell nproc 2>/dev/null || echo 2)
quick: export FAIRSHARE_QUICK := 1
quick: $(STAMP) ## run the tests that start no server, random ones briefly (less than a minute)
	$(BIN)/python -m pytest $(DEALT) \
	  $(wildcard tests/property tests/scenarios tests/tidy tests/unit)

facts: $(STAMP) ## run a folder of facts: make facts DIR=... (KINDS=a,b runs only these kinds)
	@$(if $(DIR),,echo "Name a folder of facts: make facts DIR=../shared/facts" >&2; exit 2)
	@$(BIN)/python -m tests.facts "$(DIR)" $(if $(KINDS),--kinds "$(KINDS)")

hadoop: $(STAMP) ## run the own programs of Hadoop, Spark, Tez and Flink on our server (needs Java 17 and Maven)
	@$(BIN)/python -m tests.hadoop $(PROGRAMS) $(if $(CLUSTERS),--clusters $(CLUSTERS))

$(RAY): requirements-ray.lock $(STAMP)
	@echo "Installing the versions of requirements-ray.lock"
	@$(PIP) install --quiet --require-hashes --requirement requirements-ray.lock
	@touch $@

test-ray: $(RAY) ## run containers on a real Ray cluster, whose parts are killed (root runs more of them)
	TEST_RAY=1 $(BIN)/python -m pytest -rfEs tests/ray_cluster

cluster: $(RAY) ## show two teams that share a real Ray cluster of three nodes on this machine
	@$(BIN)/python -m tests.ray_cluster.demonstration

lab-cluster: $(RAY) ## show a day of three "hosts" under users' accounts, with faults (root; 3 minutes)
	@$(BIN)/python -m tests.ray_cluster.lab $(ROUNDS)

why: $(STAMP) ## judge what why says of planted situations and random states, and carry each remedy out (STATES=1000; 15 minutes)
	@$(BIN)/python -m tests.why $(if $(STATES),--states $(STATES))

papers: $(STAMP) ## write docs/papers.md: published results beside ours (3 minutes)
	@$(BIN)/python -m benchmarks.papers

fairness: $(STAMP) ## write the measured part of docs/fairness.md, with its plots (3 minutes)
	@$(BIN)/python -m benchmarks.fairness

traces: $(STAMP) ## write docs/traces.md: traces of real clusters under four configurations (15 minutes; TRACES=DIR)
	@$(BIN)/python -m benchmarks.traces $(TRACES)

rest-samples: $(STAMP) ## compare with answers of a real ResourceManager: make rest-samples DIR=...
	@$(if $(DIR),,echo "Name a folder: make rest-samples DIR=../shared/rest-samples" >&2; exit 2)
	@$(BIN)/python -m tests.rest_samples "$(DIR)"

lint: $(STAMP) ## check style, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## bring the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## measure the scheduler, the server, a restart, commands, tasks and calls
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks --policy capacity
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.documents
	$(BIN)/python -m benchmarks.documents --scheduler capacity
	$(BIN)/python -m benchmarks.recovery --containers 100000
	$(BIN)/python -m benchmarks.commands
	$(BIN)/python -m benchmarks.memory
	$(BIN)/python -m benchmarks.tasks
	$(BIN)/python -m benchmarks.calls

bench-compare: $(STAMP) ## measure the core beside an earlier commit: make bench-compare BASE=<commit> (POLICY=fair, POINTS=q10-; INSTRUCTIONS=1 counts them, on a busy machine)
	@$(if $(BASE),,echo "Name a commit: make bench-compare BASE=<commit>" >&2; exit 2)
	@$(BIN)/python -m benchmarks.compare --base "$(BASE)" \
	  $(if $(POLICY),--policy "$(POLICY)") $(if $(POINTS),--points "$(POINTS)") $(if $(INSTRUCTIONS),--instructions)

bench-rival: RIVAL ?= $(wildcard ../shared/rival-bench)
bench-rival: $(STAMP) ## measure the core beside YARN's own schedulers (needs Java and Maven; RIVAL=DIR has them)
	@RIVAL="$(RIVAL)" $(BIN)/python -m benchmarks.rival $(if $(POLICY),--policy "$(POLICY)")

screenshots: $(STAMP) ## make the pictures of the pages in docs/screenshots (needs Chromium)
	$(BIN)/python -m tests.browser.screenshots docs/screenshots

# The tools have an environment of their own: only these pages need them.
SITE := build/docs
$(SITE)/.installed: requirements-docs.lock
	@$(PYTHON) -m venv --clear $(SITE)
	@echo "Installing the versions of requirements-docs.lock"
	@$(SITE)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# The pages of this checkout alone. Each release must have this door: versions.py calls it in a copy of the tag.
site: $(SITE)/.installed $(STAMP)
	@rm -rf build/site
	@$(BIN)/python -m tests.browser.pictures docs/screenshots
	@$(BIN)/python -m tests.references docs/generated
	@trap 'rm -rf docs/generated' EXIT; $(SITE)/bin/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet \
	  --doctree-dir build/doctrees docs build/site/development

docs: site ## write the site of these pages and of each release to build/site; a broken link, an unknown anchor, a load from another host or an old picture fails
	@$(PYTHON) docs/site/versions.py build/site
	@echo "open build/site/index.html"

# A wheel is made from the source distribution, so that neither has what only this folder has.
RELEASE := build/release
$(RELEASE)/.installed: requirements-release.lock
	@$(PYTHON) -m venv --clear $(RELEASE)
	@echo "Installing the versions of requirements-release.lock"
	@$(RELEASE)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

dist: $(RELEASE)/.installed ## make the files of a release in dist: source, wheel, bill of materials, checksums
	@rm -rf dist
	@$(RELEASE)/bin/python -m build --no-isolation --outdir dist . >build/release/log 2>&1 || { cat build/release/log; exit 1; }
	@$(RELEASE)/bin/twine check --strict dist/*
	@$(RELEASE)/bin/python -W ignore -m cyclonedx_py requirements requirements.lock --pyproject pyproject.toml \
	  --output-reproducible --output-file dist/fairshare.cdx.json
	@cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

packages: $(STAMP) ## install the wheel under each Python of this machine: upgrade, way back, removal (3 minutes each; BASE=<commit>, BRIEF=1)
	@$(BIN)/python -m tests.packages $(if $(BASE),--base "$(BASE)") $(if $(BRIEF),--brief) $(PYTHONS)

fresh: $(STAMP) ## visit a Debian with nothing installed: demo, quick tests, first tutorial (root, debootstrap; FULL=1, FRESH=DIR)
	@$(BIN)/python -m tests.fresh_machine $(if $(FULL),--full) $(if $(FRESH),--root "$(FRESH)")

image: $(STAMP) ## build and use the images of examples/deploy (root, podman; BASE=IMAGE)
	@$(BIN)/python -m tests.image $(if $(BASE),--base "$(BASE)")

soak: $(STAMP) ## kill servers for some minutes, and see that nothing is lost (SEED=... repeats a run)
	$(BIN)/python -m soak $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m soak.plans --lives 100 $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m soak.questions $(if $(SEED),--seed $(SEED))

two-hosts: $(STAMP) ## two hosts, their state in PostgreSQL, and many faults (FAULTS=18; as root; with Java, Spark and MapReduce too)
	$(BIN)/python -m soak.two_hosts --faults $(or $(FAULTS),18) $(if $(SEED),--seed $(SEED))
	@if command -v java >/dev/null && command -v mvn >/dev/null; then \
	  $(BIN)/python -m tests.hadoop.two_hosts $(if $(SEED),--seed $(SEED)); \
	else echo "Spark and MapReduce are left out: they need Java 17 and Maven"; fi

# The oldest supported Python is what pins are chosen with: it needs every backport that a later one
# does without. The locks keep their versions unless pyproject.toml asks otherwise.
lock: export CUSTOM_COMPILE_COMMAND := make lock
lock: LOCK := build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links $(if $(UPGRADE),--upgrade)
lock: ## write the lock files from pyproject.toml and the requirements.in of docs (UPGRADE=1 takes newer versions)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "Lock with Python 3.11: make lock PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv --clear build/lock
	@build/lock/bin/pip install --quiet --disable-pip-version-check pip-tools==7.6.2
	$(LOCK) --output-file requirements.lock pyproject.toml
	$(LOCK) --extra dev --extra hadoop --extra mcp --extra postgres --constraint requirements.lock --output-file requirements-dev.lock \
	  pyproject.toml
	$(LOCK) --extra ray --constraint requirements-dev.lock --output-file requirements-ray.lock \
	  pyproject.toml
	$(LOCK) --output-file requirements-docs.lock docs/requirements.in
	$(LOCK) --output-file requirements-release.lock docs/contributing/requirements.in

# The four jars of one version of Hadoop that hold the classes with the descriptors.
HADOOP := 3.4.1
HADOOP_JARS ?= $(foreach jar,hadoop-common hadoop-yarn-api hadoop-yarn-common \
  hadoop-yarn-server-common,$(HOME)/.m2/repository/org/apache/hadoop/$(jar)/$(HADOOP)/$(jar)-$(HADOOP).jar)
protocols: $(STAMP) ## write Hadoop's protobuf descriptors from its jars (HADOOP_JARS=... names them)
	@for jar in $(HADOOP_JARS); do \
	  [ -f "$$jar" ] || mvn --batch-mode --quiet dependency:get -Dtransitive=false \
	    -Dartifact=org.apache.hadoop:$$(basename "$$jar" -$(HADOOP).jar):$(HADOOP) || exit 1; \
	done
	$(BIN)/python -m tests.protocols src/fairshare/yarn/rpc/wire/files/hadoop.desc \
	  src/fairshare/yarn/rpc/wire/messages.pyi $(HADOOP_JARS)

clean: ## remove all that these doors have made, the environment too
	rm -rf $(VENV) build dist src/*.egg-info .hypothesis
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find $(wildcard src tests benchmarks examples) -name __pycache__ -type d -prune -exec rm -rf {} +
