# Installs what this project needs, and the project itself so that edits are seen: where Opwright is installed already,
# or else in a new virtual environment, .venv.
#   sh tools/setup.sh PYTHON
set -eu
python=$1

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    fail "error: there is no $python" \
        "Install Python 3.10 or newer (Debian, Ubuntu: sudo apt install python3 python3-venv), or name one: make PYTHON=..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "error: $("$python" --version 2>&1) is too old: expected Python 3.10 or newer" \
        "Name a newer one: make PYTHON=python3.12 ..."
[ -n "${CXX:-}" ] || command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 ||
    command -v clang++ >/dev/null 2>&1 ||
    fail "error: there is no C++ compiler (looked for c++, g++, clang++)" \
        "Install one (Debian, Ubuntu: sudo apt install g++; Fedora: sudo dnf install gcc-c++)"

if ! "$python" -c 'import opwright' >/dev/null 2>&1; then
    echo "$python has no Opwright: it goes into .venv, with PyTorch (once; a minute or more, mostly downloads)"
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        fail "error: $python has no venv module" "Install it: Debian, Ubuntu: sudo apt install python3-venv"
    "$python" -m venv .venv
    python=.venv/bin/python
    "$python" -m pip install --quiet --disable-pip-version-check -r tools/opwright.txt ||
        fail "error: pip can't install Opwright from where tools/opwright.txt says; above stands why" \
            "Say there where it is, or in which folder its wheel is: PIP_FIND_LINKS=FOLDER make" \
            "or name a Python that has it: make PYTHON=.../bin/python"
fi
# Without isolation, so that the package is built by the Opwright that will run it.
"$python" -m pip install --quiet --disable-pip-version-check "setuptools>=77" "setuptools-scm>=8" "@OPWRIGHT_HERE@>=@VERSION@" ||
    fail "error: pip can't install what the project needs; above stands why" \
        "If it finds no Opwright, say in tools/opwright.txt where it is" \
        "or name a Python that has it: make PYTHON=.../bin/python"
"$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[dev]'
echo "my_op is installed; make test, make bench, make lint"
