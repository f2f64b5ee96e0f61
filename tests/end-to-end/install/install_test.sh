#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Others can use the files of `cmake --install`: builds the examples against them, once with
# find_package and once with pkg-config, and runs one of them.
#   install_test.sh CMAKE BUILD_DIR SOURCE_DIR CXX_COMPILER
set -euo pipefail

cmake=$1 build=$2 source=$3 compiler=$4
# shellcheck source=../common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../common.sh"

"$cmake" --install "$build" --prefix "$dir/first" >"$dir/log" 2>&1 ||
  { cat "$dir/log" >&2; fail "cmake --install failed"; }
mv "$dir/first" "$dir/prefix"  # the installed tree can be moved
prefix="$dir/prefix"

# Public headers are all there and each can be included alone, with nothing of weft's own sources.
for header in "$source"/include/weft/*.h "$source"/include/weft/*.hpp; do
  name="weft/$(basename -- "$header")"
  [[ -f $prefix/include/$name ]] || fail "$name was not installed"
  echo "#include \"$name\"" >"$dir/alone.cpp"
  "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$dir/alone.cpp" ||
    fail "$name cannot be included alone"
done

# So are the pages that help and errors name, and the scenarios that the pages name.
for file in docs/mpi.md docs/qos.md examples/scenarios/programs.toml examples/traces/ring-8.goal; do
  [[ -f $prefix/share/doc/weft/$file ]] || fail "$file was not installed"
done

# find_package, in a copy that knows nothing of the tree.
cp -r "$source/examples" "$dir/examples"
"$cmake" -S "$dir/examples" -B "$dir/by-cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >"$dir/log" 2>&1 &&
  "$cmake" --build "$dir/by-cmake" >>"$dir/log" 2>&1 ||
  { cat "$dir/log" >&2; fail "the examples do not build with find_package(weft)"; }

# pkg-config
pc="$(find "$prefix" -name weft.pc)"
export PKG_CONFIG_PATH="${pc%/*}"
libdir="$(pkg-config --variable=libdir weft)"
[[ $(realpath -- "$libdir") == "$(realpath -- "$prefix")"/* ]] || fail "weft.pc names $libdir"
for example in "$dir"/examples/*.cpp; do
  # shellcheck disable=SC2046  # the flags are several words
  "$compiler" "$example" -o "$dir/by-pkg-config" $(pkg-config --cflags --libs weft) ||
    fail "$(basename -- "$example") does not build with pkg-config"
done

# It runs, and says how.
usage="$(LD_LIBRARY_PATH="$libdir" "$dir/by-cmake/example_consumer" 2>&1)" &&
  fail "example_consumer runs without a name"
[[ $usage == usage:* ]] || fail "example_consumer said: $usage"
for example in source sink; do
  usage=$(LD_LIBRARY_PATH="$libdir" "$dir/by-cmake/example_$example" --help) || fail "example_$example has no --help"
  [[ $usage == usage:* ]] || fail "example_$example --help said: $usage"
done

# The first program of docs/spmd.md, by the commands that it shows, in a home where weft is installed.
mkdir "$dir/home"
ln -s "$prefix" "$dir/home/weft"
between() { awk -v open="$1" '$0 == "```" && on { exit } on { print } $0 == open { on = 1 }' "$2"; }
between '```cpp' "$source/docs/spmd.md" >"$dir/home/sum.cpp"
between '```sh' "$source/docs/spmd.md" >"$dir/home/commands"
grep -q sum.cpp "$dir/home/commands" || fail "docs/spmd.md does not say how sum.cpp is compiled"
sum="$(cd "$dir/home" && HOME="$dir/home" && . ./commands && ./sum)" ||
  fail "docs/spmd.md's first program does not build as it says"
[[ $sum == 499999500000 ]] || fail "docs/spmd.md's first program prints $sum"

# The program with its manual page and completion, where it was built.
if [[ -x $prefix/bin/weft ]]; then
  "$prefix/bin/weft" --version >/dev/null || fail "the installed weft does not run"
  for file in share/man/man1/weft.1 share/bash-completion/completions/weft \
    share/zsh/vendor-completions/_weft share/fish/vendor_completions.d/weft.fish; do
    [[ -s $prefix/$file ]] || fail "$file was not installed"
  done
  bash -n "$prefix/share/bash-completion/completions/weft" || fail "bash cannot read its completion"
fi
