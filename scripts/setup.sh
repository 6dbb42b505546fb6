#!/usr/bin/env bash
# Makes sure that everything Casemate needs is on this machine, and says exactly what is missing where it may not install.
# Usage: scripts/setup.sh VENV_DIRECTORY [bench | sqlite3]
# With `bench`, also what the comparison with other libraries needs; with `sqlite3`, that program.
set -euo pipefail
venv=$1

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

command -v cargo >/dev/null || fail "Rust is missing: install it from https://rustup.rs (1.91 or newer)"
command -v cc >/dev/null || fail "a C compiler is missing: install the package 'gcc' (Debian, Ubuntu) or another that provides 'cc'"
python=$(command -v python3) || fail "Python is missing: install the package 'python3' (3.10 or newer)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$("$python" --version) is too old: Python 3.10 or newer is needed"

# System packages: name of the package, and how to see that it is there.
missing=()
command -v qemu-x86_64 >/dev/null || missing+=(qemu-user)
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if [ "${2-}" = bench ]; then
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    command -v valgrind >/dev/null || missing+=(valgrind)
    echo '#include <openssl/evp.h>' | cc -E - >/dev/null 2>&1 || missing+=(libssl-dev)
fi
if [ "${2-}" = sqlite3 ]; then
    command -v sqlite3 >/dev/null || missing+=(sqlite3)
fi
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    if command -v apt-get >/dev/null && { [ ${#as_root[@]} -eq 0 ] || sudo -n true 2>/dev/null; }; then
        say "installing ${missing[*]}"
        "${as_root[@]}" apt-get update -qq
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    else
        fail "these packages are missing and cannot be installed from here: ${missing[*]} (try: sudo apt-get install ${missing[*]})"
    fi
fi

if [ ! -x "$venv/bin/python" ]; then
    say "creating the virtual environment $venv"
    "$python" -m venv "$venv"
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "maturin>=1.9,<2"
