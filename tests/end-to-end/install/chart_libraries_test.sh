#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When npm's registry cannot be reached the build goes on without charts, soon, and says so in one
# line. The limit of the whole is far above the time needed and far below npm's own six minutes.
#   chart_libraries_test.sh SOURCE_DIR NPM NODE
set -euo pipefail
source=$1 npm=$2 node=$3
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

# Nobody listens at port 1, and nothing is in this cache.
export npm_config_registry=http://127.0.0.1:1/ npm_config_cache="$dir/cache"
timeout 60 "$source/src/report/web/fetch-libraries.sh" "$npm" "$node" "$dir/web" 2>"$dir/said" ||
  fail "the build would fail: $(cat "$dir/said")"
[[ $(grep -c '' "$dir/said") == 1 ]] || fail "it said: $(cat "$dir/said")"
grep -q "no charts: npm's registry http://127.0.0.1:1/ cannot be reached" "$dir/said" ||
  fail "it said: $(cat "$dir/said")"
fetch() {  # fetch NPM: what the script says
  timeout 60 "$source/src/report/web/fetch-libraries.sh" "$1" "$node" "$dir/of-$(basename "$1")" 2>"$dir/said"
}
fetch "$dir/no-npm" || fail "the build would fail without npm: $(cat "$dir/said")"
grep -q 'no charts: there is no npm; install it' "$dir/said" || fail "it said: $(cat "$dir/said")"
cmp -s "$dir/web/libraries.js" "$dir/of-no-npm/libraries.js" || fail "no libraries.js without npm"
# An npm that is being installed is there once the script has waited for the lock.
export WEFT_NPM_LOCK="$dir/lock"
mkdir "$dir/bin"
printf '#!/bin/sh\n[ "$1" = "%s" ] && ln -s "%s" "%s"\n' "$dir/lock" "$(command -v "$npm")" "$dir/npm-later" \
  >"$dir/bin/flock"
chmod +x "$dir/bin/flock"
PATH="$dir/bin:$PATH" fetch "$dir/npm-later" || fail "the build would fail: $(cat "$dir/said")"
grep -q "no charts: npm's registry" "$dir/said" || fail "it did not wait for npm: $(cat "$dir/said")"
grep -q '^// weft was built without its chart libraries' "$dir/web/libraries.js" ||
  fail "no libraries.js that says so"
