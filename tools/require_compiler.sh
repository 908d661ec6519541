#!/bin/sh
# Ends with status 1, and says which package to install, where there is no C++ compiler.
set -eu

found() { command -v "$1" >/dev/null 2>&1; }

if [ -n "${CXX:-}" ]; then
    # CXX may hold a launcher and options ("ccache g++"): its first word is what gets started.
    if found "${CXX%% *}"; then exit 0; fi
    echo "error: CXX is set to '$CXX', but '${CXX%% *}' is not on the PATH" >&2
else
    for name in c++ g++ clang++; do
        if found "$name"; then exit 0; fi
    done
    echo "error: no C++ compiler was found (looked for c++, g++, clang++)" >&2
fi

cat >&2 <<'EOF'
Install one, then run make again:
  Debian, Ubuntu     sudo apt install g++
  Fedora, RHEL       sudo dnf install gcc-c++
  Arch               sudo pacman -S gcc
  openSUSE           sudo zypper install gcc-c++
EOF
exit 1
