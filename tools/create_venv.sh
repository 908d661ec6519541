#!/bin/sh
# Creates a virtual environment and installs Opwright with some of its extras.
#   create_venv.sh PYTHON FOLDER EXTRAS
set -eu
python=$1
venv=$2
extras=$3

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    fail "error: '$python' was not found" \
        "Install Python 3.10 or newer (apt: python3 python3-venv; dnf: python3), or name one: make PYTHON=python3.12 ..."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "error: $("$python" --version 2>&1) is too old: Opwright needs Python 3.10 or newer" \
        "Name a newer one: make PYTHON=python3.12 ..."
"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
    fail "error: $python has no venv module" \
        "Install it, then run make again (Debian, Ubuntu: sudo apt install python3-venv; Fedora, RHEL: sudo dnf install python3)"

# torch is named together with everything else, pinned: no step may let pip choose a version of it.
torch=$(sed -n 's/^\(torch==[0-9][0-9.]*\).*/\1/p' constraints.txt)
[ -n "$torch" ] || fail "error: constraints.txt has no line 'torch==...'"

echo "Setting up $venv with $torch and opwright[$extras] (once; mostly downloads)"
# An environment that was left half made, or whose Python is gone, is begun anew.
"$venv/bin/python" -c 'import pip' >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
# Modules are compiled when they are imported: few of PyTorch's are.
"$venv/bin/python" tools/pip_install.py --no-compile --constraint constraints.txt "$torch" --editable ".[$extras]"
