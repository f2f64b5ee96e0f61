#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Messages that a rank keeps for restarts of others stay within its outbox, however many it sends.
#   many_test.sh WEFT PROGRAM MESSAGES
set -euo pipefail
weft=$1 program=$2 messages=$3
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# The outbox may end with one block of 64 KiB too many.
# run FILE OPTIONS…: a process of MPI has some 40 MiB besides.
run() {
  local file=$1
  shift
  timeout 200 "$weft" run -n 2 --restart on-failure "$@" -- "$program" "$messages" \
    $(((40 + 16) * 1024)) "$file" 2>"$directory/errors"
}

for file in absent killed; do
  [[ $file == absent ]] || : >"$directory/$file"
  got=$(run "$directory/$file" --outbox 16MiB) || fail "$file: it ends with $?"
  [[ $got == "$messages messages, 0 wrong" ]] || fail "$file: it prints '$got'"
  grep -Eq 'rank 0 keeps 16(\.0[0-9])? MiB of messages' "$directory/errors" ||
    fail "$file: no bound was reached: $(<"$directory/errors")"
done

# A rank that catches up alone, since the other keeps all.
: >"$directory/killed"
got=$("$weft" run -n 2 --restart on-failure --outbox 2GiB -- "$program" "$messages" 2000000 \
  "$directory/killed" 2>"$directory/errors") || fail "alone: it ends with $?"
[[ $got == "$messages messages, 0 wrong" ]] || fail "alone: it prints '$got'"
grep -q 'rank 1 was ended by signal 9 (Killed); starting it anew' "$directory/errors" ||
  fail "alone: $(<"$directory/errors")"
