#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check-architecture.sh finds each kind of violation where it is, and nothing in a tree without any.
set -euo pipefail

check="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/check-architecture.sh"
tree="$(mktemp -d)"
trap 'rm -rf -- "$tree"' EXIT
mkdir -p "$tree"/src/{base,core/schedule,net,sim,stream/shm} "$tree"/include/weft
printf 'BasedOnStyle: Google\nColumnLimit: 100\n' >"$tree/.clang-format"

failed=0
# put FILE < text: writes a source file with its licence line (line 1)
put() {
  { echo "// SPDX-License-Identifier: Apache-2.0"; cat; } >"$tree/$1"
}
# expect "file:line: start of the message" (an empty text: no violation); then takes the file away
expect() {
  local file=$1 wanted=$2 got
  got="$("$check" "$tree" 2>/dev/null || true)"
  if [[ $wanted == "" && $got != "" ]] || [[ $got != "$wanted"* ]] || [[ $got == *$'\n'* ]]; then
    printf 'expected: %s\ngot:      %s\n' "$wanted" "$got" >&2
    failed=1
  fi
  rm -f -- "$tree/$file"
}

put src/base/good.cpp <<<$'#include "base/good.hpp"\n\n#include "weft/ids.hpp"\n\nint f() { return 1; }'
expect src/base/good.cpp ""

echo "int x;" >"$tree/src/base/a.cpp"
expect src/base/a.cpp "src/base/a.cpp:1: the first line"

for ((i = 0; i < 600; ++i)); do echo "int x$i;"; done | put src/base/a.cpp
expect src/base/a.cpp "src/base/a.cpp:601: the file has more"

{ echo "void f() {"; for ((i = 0; i < 61; ++i)); do echo "  g();"; done; echo "}"; } |
  put src/base/a.cpp
expect src/base/a.cpp "src/base/a.cpp:2: the function has 61 lines"

{ echo "class C {"; echo "  void f() {"; for ((i = 0; i < 61; ++i)); do echo "    g();"; done
  echo "  }"; echo "};"; } | put src/base/a.cpp
expect src/base/a.cpp "src/base/a.cpp:3: the function has 61 lines"

{ echo "namespace weft {"; for ((i = 0; i < 70; ++i)); do echo "void f$i() {}"; done; echo "}"
} | sed '$s|$|  // namespace weft|' | put src/base/a.cpp
expect src/base/a.cpp ""

put src/base/a.cpp <<<"int x;  // TO""DO: y"
expect src/base/a.cpp "src/base/a.cpp:2: something is left to do"

put src/base/a.cpp <<<"int   x;"
expect src/base/a.cpp "src/base/a.cpp:2: not laid out"

put src/core/schedule/a.cpp <<<'#include "fabric/x.hpp"'
expect src/core/schedule/a.cpp "src/core/schedule/a.cpp:2: core must not include fabric/x.hpp"

put src/core/schedule/a.cpp <<<'#include "core/stream/x.hpp"'
expect src/core/schedule/a.cpp ""

put src/stream/shm/a.cpp <<<'#include "runtime/driver/x.hpp"'
expect src/stream/shm/a.cpp "src/stream/shm/a.cpp:2: stream/shm must not include runtime/driver/x.hpp"

put src/stream/shm/a.cpp <<<'#include "runtime/memory/x.hpp"'
expect src/stream/shm/a.cpp ""

put src/base/a.cpp <<<'#include "../wire/x.hpp"'
got="$("$check" "$tree" 2>/dev/null || true)"
[[ $got == "src/base/a.cpp:2: an include goes through .."* ]] || { echo "$got" >&2; failed=1; }
rm -f -- "$tree/src/base/a.cpp"

put include/weft/a.hpp <<<'#include "base/check.hpp"'
expect include/weft/a.hpp "include/weft/a.hpp:2: a public header includes base/check.hpp"

put src/base/a.hpp <<<'#include <spdlog/spdlog.h>'
expect src/base/a.hpp "src/base/a.hpp:2: a header includes spdlog/spdlog.h"

while IFS='|' read -r code message; do
  put src/net/a.cpp <<<"$code"
  expect src/net/a.cpp "src/net/a.cpp:2: $message"
  put src/base/a.cpp <<<"$code"
  expect src/base/a.cpp ""
done <<'CASES'
#include <chrono>|a machine knows a clock
#include <thread>|a machine knows threads
#include <random>|a machine has randomness
#include <sys/socket.h>|a machine knows sockets
#include <fstream>|a machine does input or output
#include <spdlog/spdlog.h>|a machine logs
auto t = std::chrono::steady_clock::now();|a machine asks for the time
int t = time(nullptr);|a machine asks for the time
int t = rand();|a machine has randomness
int n = ::read(0, b, 1);|a machine calls the system
auto f = fopen(name, mode);|a machine does input or output
CASES

put src/net/a.cpp <<<'int t = me.time(1) + Sender::send(2) + start_time(3);  // not std::chrono'
expect src/net/a.cpp ""

put src/stream/shm/a.cpp <<<$'void f() {\n  if (is_simulated()) g();\n}'
expect src/stream/shm/a.cpp "src/stream/shm/a.cpp:3: code asks whether it is simulated"

mkdir "$tree/docs"
long="$(printf 'word %.0s' {1..25})"
echo "$long" >"$tree/docs/a.md"
expect docs/a.md "docs/a.md:1: the line has more than 120 characters"

for line in "| $long |" "    $long"; do
  echo "$line" >"$tree/docs/a.md"
  expect docs/a.md "docs/a.md:1: the line has more than 120 characters"
done

printf '%s\n' "| a | table |" "$(printf 'µs…%.0s' {1..40})" "https://$(printf 'x%.0s' {1..130})" >"$tree/docs/a.md"
expect docs/a.md ""

exit "$failed"
