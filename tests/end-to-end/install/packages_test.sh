#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./run installs nothing that starts daemons, and no package that only tests use. The ordinary
# ./test installs no emulator.
#   packages_test.sh SOURCE_DIR
set -euo pipefail
cd "$1"
fail() {
  printf 'packages_test: %s\n' "$*" >&2
  exit 1
}
section() {
  awk -v wanted="[$1]" '/^\[/ { on = $0 == wanted; next } on && !/^#/ && NF { print $1 }' scripts/packages.txt
}
build=$(section build)
charts=$(section charts)
tests=$(section test)
rdma=$(section rdma)
[[ -n $build && $charts == npm && -n $tests && -n $rdma ]] || fail "a section is empty"
twice=$(printf '%s\n' "$build" "$charts" "$tests" "$rdma" | sort | uniq -d)
[[ -z $twice ]] || fail "listed twice: $twice"
for package in openssh-server slurm-wlm munge chromium libgtest-dev clang-14; do
  grep -qx "$package" <<<"$build" && fail "$package is not for building"
  grep -qx "$package" <<<"$tests" || fail "$package is missing from [test]"
done
for package in make g++ cmake ninja-build nodejs; do
  grep -qx "$package" <<<"$build" || fail "$package is missing from [build]"
done
for package in qemu-system-x86 busybox-static cpio; do
  grep -qx "$package" <<<"$rdma" || fail "$package is missing from [rdma]"
done
# Without sections: those three, as for the ordinary ./test. An empty dpkg database lacks all of them.
stand_in=$(mktemp -d)
trap 'rm -rf -- "$stand_in"' EXIT
printf '#!/bin/sh\n' >"$stand_in/dpkg-query"
chmod +x "$stand_in/dpkg-query"
lacking=$(PATH=$stand_in:$PATH scripts/install-packages.sh --missing)
[[ $lacking == "$build"$'\n'"$charts"$'\n'"$tests" ]] || fail "without sections it would install: $lacking"
status=0
said=$(scripts/install-packages.sh --missing nonsense 2>&1) || status=$?
[[ $status == 2 && $said == *"'nonsense' is no section"* ]] || fail "said '$said', exit $status"
