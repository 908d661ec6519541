all: $(SETUP)
	@OPWRIGHT_COMPILE_COMMANDS="$(CURDIR)" $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
