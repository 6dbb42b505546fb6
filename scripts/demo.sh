#!/usr/bin/env bash
# The main job, on a program that every machine has.
set -euo pipefail
casemate=${CASEMATE:-casemate}
run() {
    printf '\n\033[1m$ casemate %s\033[0m\n' "$*"
    "$casemate" "$@"
}
run run --design none --design ctr-mac --design sc64-bmt --limit 10M -- gzip -9 -c /usr/bin/python3
run explain sc64-bmt --against ctr-mac
