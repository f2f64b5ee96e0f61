#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-counts.sh LOG [TESTS]: the counts in ctest's output LOG, as "PASSED FAILED SKIPPED". Exits 1
# when ctest did not finish. A test that could not run here does not count as passed. With TESTS,
# ctest's LastTest.log, an entry NAME/all counts as the GoogleTest tests that its program ran.
set -euo pipefail
summary=$(grep -E ' tests? failed out of [0-9]+' "$1" | tail -n 1) || exit 1
all=$(sed -nE 's/.* failed out of ([0-9]+).*/\1/p' <<< "$summary")
failed=$(sed -nE 's/.* ([0-9]+) tests? failed out of .*/\1/p' <<< "$summary")
# ctest names them after its summary, each in a line of its own: "  12 - name (Skipped)".
skipped=$(grep -cE '^[[:space:]]+[0-9]+ - .* \((Skipped|Disabled)\)$' "$1") || true
passed=$((all - failed - skipped))
if [ $# -gt 1 ]; then
  read -r more_passed more_failed more_skipped < <(awk '
    /^[0-9]+\/[0-9]+ Testing: / { is_program = / Testing: .*\/all$/; good = bad = out = 0 }
    is_program && /^\[  PASSED  \] [0-9]+ tests?\.$/ { good = $4 }
    is_program && /^\[  SKIPPED \] [0-9]+ tests?, listed below:$/ { out = $4 }
    is_program && /^\[  FAILED  \] [0-9]+ tests?, listed below:$/ { bad = $4 }
    is_program && /^Test Passed\.$/ { passed += good - 1; skipped += out }
    # A program that died says nothing of the tests before.
    is_program && /^Test (Failed|Timeout)/ { passed += good; skipped += out; failed += bad > 0 ? bad - 1 : 0 }
    END { print passed + 0, failed + 0, skipped + 0 }' "$2")
  passed=$((passed + more_passed))
  failed=$((failed + more_failed))
  skipped=$((skipped + more_skipped))
fi
echo "$passed $failed $skipped"
