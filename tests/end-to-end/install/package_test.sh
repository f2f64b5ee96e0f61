#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `cpack` makes Debian packages that name their dependencies, and that dpkg installs into a root
# where nothing else is. The program runs from there, and the library is found by pkg-config.
#   package_test.sh CPACK BUILD_DIR
set -euo pipefail

cpack=$1 build=$2
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

"$cpack" --config "$build/CPackConfig.cmake" -B "$dir/packages" >"$dir/log" 2>&1 ||
  { cat "$dir/log" >&2; fail "cpack failed"; }
weft=("$dir"/packages/weft_*.deb)
mpi=("$dir"/packages/weft-mpi_*.deb)
[[ -s ${weft[0]} && -s ${mpi[0]} ]] || fail "cpack wrote $(ls "$dir/packages")"

# Libraries that files were linked to are among the packages that their package depends on.
needs() {  # needs PACKAGE NAME…
  local depends name
  depends="$(dpkg-deb --field "$1" Depends)"
  for name in "${@:2}"; do
    [[ $depends == *"$name"* ]] || fail "$1 does not depend on $name, only on $depends"
  done
}
needs "${weft[0]}" libc6 libfmt9 libre2-9 libsodium23 libzstd1
needs "${mpi[0]}" weft libmpich12 libopenmpi3
[[ $(dpkg-deb --field "${weft[0]}" Depends) != *mpi* ]] || fail "weft itself needs an MPI"
[[ -n "$(dpkg-deb --field "${weft[0]}" Description)" ]] || fail "the package has no description"

# A root with dpkg's own folders and nothing else; dependencies come from this machine.
root="$dir/root"
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root"/var/lib/dpkg/{status,available}
dpkg --root="$root" --log=/dev/null --force-not-root --force-depends --force-script-chrootless \
  -i "${weft[0]}" "${mpi[0]}" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; fail "dpkg -i failed"; }

libdir="$(dirname "$(find "$root/usr" -name 'libweft.so' -print -quit)")"
[[ -d $libdir ]] || fail "libweft.so is not in the package"
LD_LIBRARY_PATH="$libdir" "$root/usr/bin/weft" stream local --timeslices 20 --sink check: \
  >"$dir/log" 2>&1 || { cat "$dir/log" >&2; fail "the installed weft does not run"; }
flags="$(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags weft)"
[[ $flags == *-std=c++20* ]] || fail "pkg-config says '$flags'"
for file in bin/weft share/man/man1/weft.1 share/bash-completion/completions/weft; do
  [[ -e $root/usr/$file || -e $root/usr/$file.gz ]] || fail "$file is not in the package"
done
