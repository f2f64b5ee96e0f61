#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-counts.sh LOG: the counts in ctest's output, as "PASSED FAILED SKIPPED". Exits 1 when ctest
# did not finish. A test that could not run here does not count as passed.
set -euo pipefail
summary=$(grep -E ' tests? failed out of [0-9]+' "$1" | tail -n 1) || exit 1
all=$(sed -nE 's/.* failed out of ([0-9]+).*/\1/p' <<< "$summary")
failed=$(sed -nE 's/.* ([0-9]+) tests? failed out of .*/\1/p' <<< "$summary")
# ctest names them after its summary, each in a line of its own: "  12 - name (Skipped)".
skipped=$(grep -cE '^[[:space:]]+[0-9]+ - .* \((Skipped|Disabled)\)$' "$1") || true
echo "$((all - failed - skipped)) $failed $skipped"
