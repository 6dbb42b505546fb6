#!/usr/bin/env bash
# Installs the programs and packages that Casemate needs. Without permission to install, prints the names of those that are
# missing.
# Usage: scripts/setup.sh VENV_DIRECTORY [studies | report | browser | bench | fast | sqlite3 | hw | ecp5 | nextest | wheel | site]
# `studies` adds the libraries of studies: 470 MB on disk.
# `report` adds the libraries of reports: 250 MB on disk.
# `browser` adds Chromium and the libraries that open reports in it, for tests: 450 MB.
# `bench` adds the libraries for the comparison with other programs.
# `fast` adds the tool that merges the compiler's profiles.
# `sqlite3` adds this program.
# `hw` adds the tools that lint, simulate, prove and synthesise the hardware: 300 MB.
# `ecp5` adds the tool that places and routes the hardware in an FPGA.
# `wheel` adds the tools that name and check the package as a wheel.
# `site` adds the tools that build the site of the documentation.
# `nextest` adds cargo-nextest, which runs the Rust tests of all programs in parallel: 35 MB.
set -euo pipefail
venv=$1

bold='' plain=''
[ ! -t 2 ] || bold=$'\033[1m' plain=$'\033[0m'
say() { printf '%s==> %s%s\n' "$bold" "$*" "$plain" >&2; }
fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 2
}

command -v cargo >/dev/null || fail "Rust is missing: install it from https://rustup.rs (1.91 or newer)"
command -v cc >/dev/null || fail "a C compiler is missing: install the package 'gcc' (Debian, Ubuntu) or another that provides 'cc'"
python=$(command -v python3) || fail "Python is missing: install the package 'python3' (3.10 or newer)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$("$python" --version) is too old: Python 3.10 or newer is needed"

# System packages: a test whether each is installed, and its name. Casemate works without the packages in `useful`.
missing=()
useful=()
command -v qemu-x86_64 >/dev/null || missing+=(qemu-user)
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if [ "${2-}" = bench ]; then
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    command -v valgrind >/dev/null || missing+=(valgrind)
    echo '#include <openssl/evp.h>' | cc -E - >/dev/null 2>&1 || missing+=(libssl-dev)
fi
if [ "${2-}" = wheel ]; then
    command -v readelf >/dev/null || missing+=(binutils)
fi
if [ "${2-}" = sqlite3 ]; then
    command -v sqlite3 >/dev/null || missing+=(sqlite3)
fi
if [ "${2-}" = browser ]; then
    command -v chromium >/dev/null || missing+=(chromium)
fi
if [ "${2-}" = hw ]; then
    command -v g++ >/dev/null || missing+=(g++)
    command -v make >/dev/null || missing+=(make)
    command -v ccache >/dev/null || useful+=(ccache)
    command -v perl >/dev/null || missing+=(perl)
    # Simulations load Python as a library, which Debian's Python leaves out.
    "$python" -c 'import ctypes, os, sysconfig as s; name = s.get_config_var("INSTSONAME"); path = os.path.join(s.get_config_var("LIBDIR"), name)
ctypes.CDLL(path if os.path.exists(path) else name)' 2>/dev/null ||
        missing+=("$("$python" -c 'import sys; print("libpython%d.%d" % sys.version_info[:2])')")
    command -v sta >/dev/null || missing+=(opensta)
    [ -d /usr/share/qflow/tech/osu018 ] || missing+=(qflow-tech-osu018)
fi
if [ ${#missing[@]} -gt 0 ] || [ ${#useful[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    if command -v apt-get >/dev/null && { [ ${#as_root[@]} -eq 0 ] || sudo -n true 2>/dev/null; }; then
        say "installing ${missing[*]} ${useful[*]}"
        "${as_root[@]}" apt-get update -qq || [ ${#missing[@]} -eq 0 ]
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" "${useful[@]}" >/dev/null ||
            [ ${#missing[@]} -eq 0 ]
    elif [ ${#missing[@]} -gt 0 ]; then
        fail "these packages are missing and cannot be installed from here: ${missing[*]} (try: sudo apt-get install ${missing[*]})"
    fi
fi

if [ ! -x "$venv/bin/python" ]; then
    say "creating the virtual environment $venv"
    "$python" -m venv "$venv"
fi
if [ "${2-}" = fast ] && ! ls "$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata >/dev/null 2>&1; then
    command -v rustup >/dev/null || fail "llvm-profdata is missing next to rustc, and there is no rustup to add it: install Rust from https://rustup.rs"
    say "installing rustup's llvm-tools"
    rustup component add llvm-tools ||
        fail "llvm-profdata is missing next to rustc, and rustup could not add it: see above, then try: rustup component add llvm-tools"
fi
say "checking for maturin, which builds the package, in $venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "maturin>=1.9,<2"
if [[ "${2-}" =~ ^(hw|ecp5|studies|report|browser|nextest|wheel|site)$ ]]; then
    # The pins are the package's extra of this name; make builds the package itself.
    mapfile -t pins < <(sed -n "/^$2 = \[\$/,/^\]\$/s/^ *\"\(.*\)\",\$/\1/p" "$(dirname "$0")/../pyproject.toml")
    [ ${#pins[@]} -gt 0 ] || fail "pyproject.toml has no extra '$2'"
    say "installing ${pins[*]}"
    # The tools never import most of their modules; Python compiles a module at its first import.
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "${pins[@]}"
fi
