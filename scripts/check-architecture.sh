#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the tree to its rules (docs/architecture.md). Prints each violation as "file:line: what is
# wrong" and exits 1 when there is one. Needs bash, coreutils, findutils, awk and clang-format-14.
#   scripts/check-architecture.sh [ROOT]     ROOT is the tree to check, this one by default
set -euo pipefail

cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

# Which folders of src/ a folder may include from, besides itself, its subfolders and weft/. The
# longest name that fits a file counts. Dependencies point down; this is the only list. Unit tests
# (x_test.cpp, and their helpers: x_for_test.hpp, test_x.cpp) may include anything.
allowed_includes='
base:
faults:       base
wire:         base
wire/capture: base wire
net:          base wire
net/rc:       base wire/capture
rdma:         base net wire
rdma/verbs:   base fabric/registration rdma wire
sim:          base wire net
sim/topology: base
sim/routing:  base sim/topology
sim/engine:   base
sim/network:  base net sim/engine sim/routing sim/topology
sim/partition: base sim/engine sim/network sim/topology
sim/mpi:      base sim/partition
sim/telemetry: base net sim/network sim/topology
sim/traffic:  base sim/engine sim/network sim/telemetry
sim/workload: base net sim/engine sim/network
sim/scenario: base net/rc wire/capture sim/network sim/topology sim/traffic
sim/run:      base sim/engine sim/network sim/partition sim/routing sim/scenario sim/telemetry sim/topology sim/traffic
sim/rc:       base net/rc wire/capture sim/engine sim/network
sim/fabric:   base net net/rc sim/engine sim/network sim/rc
sim/faults:   base faults sim/engine sim/run sim/scenario
sim/record:   base report sim/telemetry sim/topology sim/traffic
sim/traffic_run: base faults sim/faults sim/partition sim/record sim/run sim/scenario sim/traffic
sim/job:      base sim/engine sim/fabric sim/faults sim/partition sim/run sim/scenario sim/topology sim/workload
fabric:       base wire net
fabric/shaped: base wire net fabric
fabric/job_key: base
fabric/registration: base
fabric/choice: base wire net fabric
core:         base wire net
runtime/memory: base
runtime/manager: base
runtime/membership: base
runtime:      base wire net core fabric metrics
spmd:         base
process:      base wire net core fabric runtime
process/simulated: base core fabric faults jobs process runtime sim
mpi:          base core process runtime
mpi/clocks:
program:      base process trace/events trace/record
launch:       base wire fabric runtime process
jobs:         base core sim trace/replay
qos:          base core jobs sim trace/replay
qos/live:     base core fabric jobs process qos runtime sim testbed
trace/events: base core
trace/goal:   base trace/events
trace/otf2:   base trace/events
trace/record: base trace/events trace/otf2
trace/replay: base core sim trace/events trace/goal trace/otf2
stream/shm:   base wire runtime/memory stream
stream/simulated: base core fabric faults runtime report sim stream testbed
stream/swarm: base core faults report runtime sim stream
stream/local: base wire net sim core fabric faults runtime metrics report testbed stream
stream:       base faults wire net core fabric runtime metrics report
metrics:      base
report:       base wire metrics
testbed:      base faults
emulate/policy:
emulate/control: emulate/policy
emulate/ucx:  emulate/control emulate/policy
emulate/libfabric: emulate/control emulate/policy
emulate/verbs: emulate/control emulate/policy
emulate/probe:
emulate:      base emulate net runtime sim/routing sim/topology testbed
emulate/sweep: base core emulate runtime
cli:          base emulate faults jobs wire net sim core fabric runtime metrics stream qos report testbed launch rdma trace
'

longest_file=600      # lines
longest_function=60   # lines between its braces
longest_prose=120     # characters of a line of documentation

find_files() {
  find . \( -name build -o -name node_modules -o -name .git \) -prune -o -type f "$@" -print |
    sed 's|^\./||' | LC_ALL=C sort
}
mapfile -t cpp_files < <(find_files \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' \))
mapfile -t pages < <(find_files \( -path './README.md' -o -path './src/README.md' -o -path './docs/*.md' \))
mapfile -t other_files < <(find_files \( -name 'CMakeLists.txt' -o -name '*.cmake' -o -name '*.sh' \
  -o -name '*.py' -o -name '*.js' -o -name '*.mjs' -o -path './run' -o -path './test' \
  -o -path './.ci/run' \))

violations="$(mktemp)"
trap 'rm -f -- "$violations"' EXIT

# ---- every kind of source file: licence line, length, nothing left to do
awk -v longest="$longest_file" '
  function finish() {
    if (file == "") return
    if (!licensed) print file ":1: the first line (after #!) is not SPDX-License-Identifier: Apache-2.0"
    if (lines > longest) print file ":" lines ": the file has more than " longest " lines"
  }
  FNR == 1 { finish(); file = FILENAME; licensed = 0 }
  { lines = FNR }
  FNR <= 2 && /^(\/\/|#) SPDX-License-Identifier: Apache-2\.0$/ { licensed = 1 }
  /(^|[^[:alnum:]_])(TO''DO|FIX''ME|XX''X)([^[:alnum:]_]|$)/ {
    print FILENAME ":" FNR ": something is left to do"
  }
  END { finish() }
' "${cpp_files[@]}" "${other_files[@]}" >>"$violations"

# ---- C++: dependencies, forbidden facilities, long functions
awk -v allowed_includes="$allowed_includes" -v longest="$longest_function" '
  BEGIN {
    n = split(allowed_includes, rows, "\n")
    for (i = 1; i <= n; i++) {
      if (split(rows[i], sides, ":") < 2) continue
      folder = sides[1]
      known[folder] = 1
      m = split(sides[2], names, " ")
      for (j = 1; j <= m; j++) may[folder, names[j]] = 1
    }
  }
  function report(message) { print FILENAME ":" FNR ": " message }

  # The longest known folder that the path (relative to src/) lies in.
  function folder_of(path) {
    while (sub("/[^/]*$", "", path)) if (path in known) return path
    return ""
  }
  # Whether files in `from` may include from `to`: `to` itself or a folder above it is allowed.
  function may_include(from, to) {
    if (from == to || index(to, from "/") == 1) return 1
    for (;;) {
      if ((from, to) in may) return 1
      if (!sub("/[^/]*$", "", to)) return 0
    }
  }
  function check_include(target,    to) {
    if (target ~ /\.\./) report("an include goes through ..: name it from src/ or include/")
    if (target ~ /^weft\//) return
    if (FILENAME ~ /^examples\// && target !~ /\//) return  # beside it
    if (is_public) report("a public header includes " target ", which is not installed")
    if (from == "" || is_test) return
    to = folder_of(target)
    if (to == "") report("cannot tell which folder " target " belongs to: name it from src/")
    else if (!may_include(from, to)) report(from " must not include " target)
  }
  function check_header(name) {
    if (is_header && name ~ /^(spdlog|nlohmann|CLI|toml\+\+)\// && FILENAME != "src/base/log.hpp" &&
        FILENAME != "src/base/json_members.hpp" && FILENAME != "src/report/record_reader.hpp" &&
        FILENAME != "src/base/parse_toml.hpp" && FILENAME != "src/sim/scenario/toml_section.hpp" &&
        FILENAME !~ /^tests\//)
      report("a header includes " name ": only .cpp files may")
    if (!is_machine) return
    if (name ~ /^(chrono|ctime|time\.h|sys\/time.*)$/) report("a machine knows a clock: " name)
    if (name ~ /^(thread|mutex|shared_mutex|condition_variable|future|semaphore|pthread\.h)$/)
      report("a machine knows threads: " name)
    if (name ~ /^(sys\/socket\.h|sys\/un\.h|netinet\/.*|arpa\/.*|netdb\.h|sys\/epoll\.h|poll\.h)$/)
      report("a machine knows sockets: " name)
    if (name == "random") report("a machine has randomness of its own: use the seeded base/rng.hpp")
    if (name ~ /^spdlog\// || name == "base/log.hpp") report("a machine logs: it emits events")
    if (!is_test && name ~ /^(fstream|iostream|cstdio|stdio\.h|filesystem|unistd\.h|fcntl\.h)$/)
      report("a machine does input or output: " name)
  }
  function check_code(code) {
    if (code ~ /(^|[^[:alnum:]_])if *\(.*(is_|in_)?simulat(ed|ion)([^[:alnum:]_]|$)/ &&
        FILENAME !~ /^(src\/sim|tests)\//)
      report("code asks whether it is simulated")
    if (!is_machine) return
    if (code ~ /std::chrono|(^|[^[:alnum:]_.>:])(clock_gettime|gettimeofday|time) *\(/)
      report("a machine asks for the time: it is given it")
    if (code ~ /std::(jthread|thread|mutex|async)([^[:alnum:]_]|$)|pthread_/)
      report("a machine uses threads")
    if (code ~ /std::(random_device|mt19937)|(^|[^[:alnum:]_.>:])s?rand(om)? *\(/)
      report("a machine has randomness of its own: use the seeded base/rng.hpp")
    if (code ~ /(^|[^[:alnum:]_>])::(socket|connect|send|recv|sendmsg|recvmsg|open|read|write) *\(/)
      report("a machine calls the system")
    if (!is_test && code ~ /std::(cout|cerr|[io]?fstream)|(^|[^[:alnum:]_.>:])(fopen|f?printf|getenv) *\(/)
      report("a machine does input or output")
  }

  FNR == 1 {
    is_header = FILENAME ~ /\.hp?p?$/
    is_test = FILENAME ~ /_(test|fuzz)\.[ch]pp$|\/test_[^\/]*$/
    is_machine = FILENAME ~ /^src\/(core|net)\//
    is_public = FILENAME ~ /^include\// || FILENAME ~ /^examples\//
    from = ""
    if (FILENAME ~ /^src\//) {
      from = folder_of(substr(FILENAME, 5))
      if (from == "") report("no line for this folder in scripts/check-architecture.sh")
    }
    start = 0; in_class = 0; raw = 0
  }
  /^#include "/ { split($0, part, "\""); check_include(part[2]); check_header(part[2]); next }
  /^#include </ { split($0, part, /[<>]/); check_header(part[2]); next }
  {
    # Long functions: clang-format puts a body between a line that ends in "{" and one that is "}",
    # both at column 0, or at column 2 within a class.
    if (raw) { if (index($0, ")\"")) raw = 0; next }
    if ($0 ~ /R"[a-z]*\($/) { raw = 1; next }
    code = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
    sub(/ *\/\/.*$/, "", code)
    if (code !~ /^#/) check_code(code)
    if (code ~ /^(template.*)?(class|struct|union) / && code ~ /\{$/) { in_class = 1; next }
    if (code ~ /^}/) {
      if (start && indent == "" && FNR - start - 1 > longest)
        print FILENAME ":" start ": the function has " FNR - start - 1 " lines, more than " longest
      start = 0; in_class = 0; next
    }
    if (in_class && code ~ /^  }/) {
      if (start && indent == "  " && FNR - start - 1 > longest)
        print FILENAME ":" start ": the function has " FNR - start - 1 " lines, more than " longest
      start = 0; next
    }
    if (start || code !~ /\{$/ || code ~ /= *\{$/) next
    if (!in_class && code ~ /^[^ }#]|^    [^ ].*\) .*\{$/ && code !~ /^(namespace|enum|extern "")/) {
      start = FNR; indent = ""
    } else if (in_class && code ~ /^  [^ }]|^      [^ ].*\) .*\{$/ &&
               code !~ /^  (class|struct|union|enum) /) {
      start = FNR; indent = "  "
    }
  }
' "${cpp_files[@]}" >>"$violations"

# ---- documentation: lines that fit a window, of prose, tables and code
if ((${#pages[@]} > 0)); then
  LC_ALL=C awk -v longest="$longest_prose" '
    {
      text = $0
      gsub(/[\200-\277]/, "", text)  # characters, not bytes
      if (length(text) > longest && text ~ /[^ ] +[^ ]/)
        print FILENAME ":" FNR ": the line has more than " longest " characters: wrap it"
    }
  ' "${pages[@]}" >>"$violations"
fi

# ---- layout
format="$(command -v clang-format-14 || command -v clang-format || true)"
if [[ -n $format ]]; then
  printf '%s\0' "${cpp_files[@]}" |
    xargs -0 -n 64 "$format" --dry-run -Werror 2>&1 |
    awk -F: '/: error: / && !seen[$1]++ { print $1 ":" $2 ": not laid out by clang-format -i" }' \
      >>"$violations" || true
else
  echo "scripts/packages.txt:1: clang-format-14 is missing: run scripts/install-packages.sh" \
    >>"$violations"
fi

if [[ -s $violations ]]; then
  cat -- "$violations"
  echo "weft: $(wc -l <"$violations") violations of the architecture's rules" >&2
  exit 1
fi
