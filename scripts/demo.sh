#!/usr/bin/env bash
# Main use of Casemate, on a real program that misses the caches: look-ups in a table larger than the last-level cache.
set -euo pipefail
casemate=${CASEMATE:-casemate}
here=$(dirname "$0")
table=target/demo/account.db
bold='' plain=''
[ ! -t 1 ] || bold=$'\033[1m' plain=$'\033[0m'
run() {
    printf '\n%s$ casemate %s%s\n' "$bold" "$*" "$plain"
    "$casemate" "$@"
}
if [ ! "$table" -nt "$here/demo-table.sql" ]; then
    printf '\n%s$ sqlite3 %s < %s%s\n' "$bold" "$table" "$here/demo-table.sql" "$plain"
    mkdir -p "$(dirname "$table")"
    rm -f "$table.partial"
    sqlite3 -init /dev/null "$table.partial" <"$here/demo-table.sql" >/dev/null
    mv "$table.partial" "$table"
fi
run run --design none --design xts --design ctr-mac-version --design sc64-bmt --warm-up 5M --limit 15M \
    --report target/demo/report.html -- sqlite3 -init "$here/demo.sql" "$table" .quit
run explain sc64-bmt --against ctr-mac-version
