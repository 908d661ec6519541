all: $(SETUP)
	@OPWRIGHT_COMPILE_COMMANDS=. $(PYTHON) -m opwright build csrc/*.c*
