#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The counts that ./test takes from ctest's output, on a project of four tests and on whole programs.
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
# Whole programs: what they say of their tests counts, also below text of their own.
cat >"$dir/program.sh" <<'END'
echo "[  PASSED  ] 90 tests that are none"
echo "[  PASSED  ] $1 tests."
if [ "$2" != 0 ]; then echo "[  SKIPPED ] $2 tests, listed below:"; fi
if [ "$3" = 0 ]; then exit 0; fi
echo "[  FAILED  ] $3 tests, listed below:"
exit 1
END
cat >"$dir/CTestTestfile.cmake" <<END
add_test(one/all "/bin/bash" "$dir/program.sh" 5 2 0)
add_test(two/all "/bin/bash" "$dir/program.sh" 7 0 3)
add_test(dead/all "/bin/bash" "-c" "kill -9 \$\$")
add_test(good "/bin/true")
END
ctest --test-dir "$dir" >"$dir/log" 2>&1 || true
counts=$("$source/scripts/ctest-counts.sh" "$dir/log" "$dir/Testing/Temporary/LastTest.log")
[[ $counts == "13 4 2" ]] || { cat "$dir/log" >&2; echo "counted $counts of whole programs" >&2; exit 1; }
echo "killed on the way" >"$dir/log"
if "$source/scripts/ctest-counts.sh" "$dir/log"; then
  echo "it counted what did not finish" >&2
  exit 1
fi
