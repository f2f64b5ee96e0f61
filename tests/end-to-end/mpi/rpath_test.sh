#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program whose DT_RPATH holds its own MPI, which the dynamic linker finds before LD_LIBRARY_PATH, runs on weft's.
#   rpath_test.sh WEFT PROGRAMS PREFIX ABI LIBRARY     the program is PREFIX_wrapped, whose DT_RPATH is $ORIGIN/own
set -euo pipefail
weft=$1 programs=$2 prefix=$3 abi=$4 library=$5
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

program=$dir/program
cp "$programs/${prefix}_wrapped" "$program"
mkdir "$dir/own"
cp -L "$(ldd "$program" | awk -v name="$library" '$1 == name { print $3 }')" "$dir/own/"
own=$(dirname -- "$weft")/weft-mpi/$abi
[[ $(LD_LIBRARY_PATH=$own ldd "$program") == *"$dir/own/$library"* ]] || fail "its DT_RPATH does not come first"

# prints WANTED COMMAND…: its first line
prints() {
  local got
  got=$(timeout 60 "${@:2}" 2>"$dir/err") || fail "${*:2} ended with $?: $(cat "$dir/err")"
  [[ ${got%%$'\n'*} == "$1" ]] || fail "${*:2} prints '$got': $(cat "$dir/err")"
}
wanted='sum 6, wrapped 1, child 3'
prints "$wanted" "$weft" run -n 3 -- "$program"
prints "$wanted" "$weft" run -n 3 --fabric tcp -- "$program"
prints "$wanted" "$weft" run -n 3 --restart on-failure -- "$program"
printf '[network]\ntopology = "star:4"\npreset = "ib-edr"\n' >"$dir/star.toml"
prints "$wanted" "$weft" run -n 3 --fabric "sim:$dir/star.toml" -- "$program"

# What the user preloads stays in front of weft's MPI, and the recording module before both.
if [[ -e $(dirname -- "$weft")/libweft_record_$abi.so ]]; then
  prints "$wanted" "$weft" trace record --out "$dir/trace" -- "$weft" run -n 3 -- "$program"
  "$weft" trace info "$dir/trace/traces.otf2" >"$dir/out"
  grep -qE 'collectives +1$' "$dir/out" || fail "the recording is $(cat "$dir/out")"
fi

# Programs of Spack's MPICH need it by another name, which weft's preloaded library does not have: the original is
# loaded, and nothing calls it.
if [[ $abi == mpich ]]; then
  sed 's/libmpich\.so\.12/libmpi.so.12\x00\x00/' "$program" >"$dir/other"
  chmod +x "$dir/other"
  cp "$dir/own/$library" "$dir/own/libmpi.so.12"
  prints "$wanted" "$weft" run -n 3 -- "$dir/other"
fi

# LD_PRELOAD has no way to write such a path.
mkdir "$dir/a b"
cp -r "$(dirname -- "$weft")/weft-mpi" "$dir/a b/"
cp "$weft" "$dir/a b/weft"
code=0
"$dir/a b/weft" run -n 1 -- "$program" >"$dir/out" 2>&1 || code=$?
((code == 127)) && grep -q 'its DT_RPATH hides weft' "$dir/out" || fail "with $code: $(cat "$dir/out")"
