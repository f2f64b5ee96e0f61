#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Case 0 of a source compiles; each of the others is an error of types.
#   must_not_compile_test.sh SOURCE CASES COMPILER…
set -euo pipefail
source=$1 cases=$2
shift 2
compile() { LC_ALL=C "$@" -std=c++20 -fsyntax-only -DCASE="$number" "$source" 2>&1; }
number=0
said=$(compile "$@") || { echo "case 0 does not compile: $said" >&2; exit 1; }
for ((number = 1; number <= cases; ++number)); do
  if said=$(compile "$@"); then
    echo "$source: case $number compiles" >&2
    exit 1
  fi
  # Any other error, such as a missing header, would show nothing.
  if ! grep -qE 'error: (no match for|no matching|invalid operands|no viable|cannot convert|could not convert)' \
    <<<"$said"; then
    echo "$source: case $number fails for another reason: $said" >&2
    exit 1
  fi
done
