#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Question: how much faster is one simulation when several processes, or threads, share it? Uniform
# random traffic at 70 % load. Prints packet-hops per second, medians over rounds; the trace hash must
# be the same for all, or the exit code is 1. Figures mean something on a machine with a core per
# process, and nothing else to do.
#   bench/simulate/scaling.sh WEFT [ROUNDS]     WEFT: the program, such as build/release/weft
set -euo pipefail

weft="${1:?usage: scaling.sh WEFT [ROUNDS]}"
rounds="${2:-5}"
networks=("fat-tree:1024 400us" "fat-tree:4096 100us" "fat-tree:16384 30us"
  "dragonfly:2304,shape=xc40 200us")

# field NAME: its value in the JSON object on standard input.
field() { grep -o "\"$1\":[^,}]*" | cut -d: -f2 | tr -d '"'; }

# measure NETWORK DURATION LAUNCHER... -- OPTIONS...: sets `rate` and `hash`.
measure() {
  local topology="$1" duration="$2" launcher=() rates=() output
  shift 2
  while [[ $1 != -- ]]; do launcher+=("$1"); shift; done
  shift
  for ((i = 0; i < rounds; ++i)); do
    output="$("${launcher[@]}" "$weft" simulate uniform --topology "$topology" \
      --duration "$duration" --levels 2 --json "$@")"
    rates+=("$(field packet_hops_per_s <<<"$output")")
    hash="$(field trace_hash <<<"$output")"
  done
  rate="$(printf '%s\n' "${rates[@]}" | sort -n | sed -n "$(((rounds + 1) / 2))p")"
}

mpi=(mpirun --oversubscribe --allow-run-as-root -n)
printf '%-28s %-14s %16s  %s\n' network 'divided among' packet-hops/s trace
status=0
for network in "${networks[@]}"; do
  read -r topology duration <<<"$network"
  measure "$topology" "$duration" env --
  expected="$hash"
  printf '%-28s %-14s %16.0f  %s\n' "$topology" nobody "$rate" "$hash"
  for parts in 1 2; do
    measure "$topology" "$duration" "${mpi[@]}" "$parts" --
    [[ $hash == "$expected" ]] || status=1
    printf '%-28s %-14s %16.0f  %s\n' "$topology" "$parts processes" "$rate" "$hash"
  done
  measure "$topology" "$duration" env -- --parts 2
  [[ $hash == "$expected" ]] || status=1
  printf '%-28s %-14s %16.0f  %s\n' "$topology" '2 threads' "$rate" "$hash"
done
exit "$status"
