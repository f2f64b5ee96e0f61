#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The counts that ./test takes from ctest's output, on a project of four tests.
#   ctest_counts_test.sh SOURCE_DIR
set -euo pipefail
source=$1
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"
cat >"$dir/CTestTestfile.cmake" <<'END'
add_test(good "/bin/true")
add_test(also_good "/bin/true")
add_test(bad "/bin/false")
add_test(not_here "/bin/sh" "-c" "exit 77")
set_tests_properties(not_here PROPERTIES SKIP_RETURN_CODE 77)
END
check() {  # check EXPECTED CTEST-ARGUMENTS…
  local expected=$1 counts
  shift
  ctest --test-dir "$dir" "$@" >"$dir/log" 2>&1 || true
  counts=$("$source/scripts/ctest-counts.sh" "$dir/log")
  [[ $counts == "$expected" ]] || { cat "$dir/log" >&2; echo "counted $counts, not $expected" >&2; exit 1; }
}
check "2 1 1"
check "2 0 1" -E bad
check "2 0 0" -R good
echo "killed on the way" >"$dir/log"
if "$source/scripts/ctest-counts.sh" "$dir/log"; then
  echo "it counted what did not finish" >&2
  exit 1
fi
