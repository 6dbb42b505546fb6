#!/usr/bin/env bash
# The main job, on a real program that feels its memory: look-ups in a table larger than the last-level cache.
set -euo pipefail
casemate=${CASEMATE:-casemate}
here=$(dirname "$0")
table=target/demo/account.db
run() {
    printf '\n\033[1m$ casemate %s\033[0m\n' "$*"
    "$casemate" "$@"
}
if [ ! "$table" -nt "$here/demo-table.sql" ]; then
    printf '\n\033[1m$ sqlite3 %s < %s\033[0m\n' "$table" "$here/demo-table.sql"
    mkdir -p "$(dirname "$table")"
    rm -f "$table.partial"
    sqlite3 -init /dev/null "$table.partial" <"$here/demo-table.sql" >/dev/null
    mv "$table.partial" "$table"
fi
run run --design none --design xts --design sc64-bmt --design sgx-mee --warm-up 5M --limit 15M \
    -- sqlite3 -init "$here/demo.sql" "$table" .quit
run explain sgx-mee --against sc64-bmt
