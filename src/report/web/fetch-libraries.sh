#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fetch-libraries.sh NPM NODE DIRECTORY: makes DIRECTORY/libraries.js of the chart libraries at the
# versions of package-lock.json. npm checks the packages against the hashes there. When the registry
# cannot be reached, the script says so in one line and leaves a libraries.js without charts, with
# which reports have tables only; so it does without NPM. Any other failure is an error. While the file
# WEFT_NPM_LOCK is locked, NPM is being installed.
set -euo pipefail
npm=$1 node=$2 out=$3
web=$(cd "$(dirname "$0")" && pwd)

mkdir -p "$out"
no_charts() {  # no_charts WHY
  echo "weft: reports will have tables and no charts: $1" >&2
  echo "// weft was built without its chart libraries." >"$out/libraries.js"
  exit 0
}

[ -z "${WEFT_NPM_LOCK:-}" ] || flock "$WEFT_NPM_LOCK" true
command -v "$npm" >/dev/null || no_charts "there is no npm; install it, configure and build again"
cp "$web/package.json" "$web/package-lock.json" "$out"
install=("$npm" ci --prefix "$out" --ignore-scripts --no-audit --no-fund --no-update-notifier
  --loglevel=error)

# Packages in npm's cache need no network. Without one npm would try for six minutes: a single
# request tells whether the registry answers.
if ! "${install[@]}" --offline >/dev/null 2>&1; then
  if ! timeout 20 "$npm" view vega-embed version --fetch-retries=0 --fetch-timeout=8000 \
    --prefer-online --no-update-notifier --loglevel=silent >/dev/null 2>&1; then
    no_charts "npm's registry $("$npm" config get registry --loglevel=silent) cannot be reached;\
 configure and build again when it can"
  fi
  "${install[@]}" --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
    --fetch-timeout=60000
fi
"$node" "$web/bundle.mjs" "$out/node_modules" "$out/libraries.js"
