# For the CPU, where the tests run the CUDA kernels, too; for GPUs with nvcc, where that is there, or by `make BACKEND=nvrtc`.
BACKEND ?= $(if $(shell command -v nvcc),nvcc)

all: $(SETUP)
	@OPWRIGHT_COMPILE_COMMANDS=. $(PYTHON) -m opwright build csrc/*.cpp
	@OPWRIGHT_COMPILE_COMMANDS=. $(PYTHON) -m opwright build csrc/*.cu --backend emulate
	@$(if $(BACKEND),$(PYTHON) -m opwright build csrc/*.cu --backend $(BACKEND),echo "There is no nvcc: for GPUs the kernels are compiled when a GPU's tensor arrives.")
