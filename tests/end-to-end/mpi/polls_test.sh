#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that share one core and ask again and again whether a message is there.
#   polls_test.sh WEFT PROGRAM
set -euo pipefail
weft=$1 program=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

allowed=$(taskset -cp $$)  # "pid 1's current affinity list: 0,2-5"
allowed=${allowed##* }
got=$(taskset -c "${allowed%%[,-]*}" "$weft" run -n 2 -- "$program") || fail "they end with $?"
[[ $got == "" ]] || fail "$got"
