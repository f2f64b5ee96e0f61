#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# slurm_test.sh WEFT PROGRAM: `srun weft stream node …`, and a program, in a real Slurm of one node, which this starts on
# loopback with keys, ports and folders of its own, and stops again. Needs root and the packages
# slurm-wlm and munge; exits 77 ("skipped") without them.
set -euo pipefail
weft=$1 program=$2

skip() {
  echo "skipped: $*"
  exit 77
}
[ "$(id -u)" -eq 0 ] || skip "Slurm's daemons want root"
for program in munged slurmctld slurmd srun sinfo; do
  command -v "$program" >/dev/null || skip "there is no $program"
done

dir=$(mktemp -d /tmp/weft-slurm-XXXXXX)
chmod 711 "$dir"
mkdir "$dir/state" "$dir/spool" "$dir/munge"
host=$(hostname -s)
port=$((20000 + $$ % 10000 * 2))

# Ends the daemons and waits for their ends: nothing of the test stays.
stop() {
  local file pids=()
  for file in "$dir"/slurmd.pid "$dir"/slurmctld.pid "$dir"/munge/pid; do
    [ ! -s "$file" ] || pids+=("$(cat "$file")")
  done
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  for pid in "${pids[@]}"; do
    timeout 10 tail --pid="$pid" -f /dev/null || kill -9 "$pid" 2>/dev/null || true
  done
  if [ "${failed:-yes}" = yes ]; then tail -n 20 "$dir"/*.log >&2 || true; fi
  rm -rf "$dir"
}
trap stop EXIT

head -c 128 /dev/urandom >"$dir/munge/key"
chmod 600 "$dir/munge/key"
munged --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
  --log-file="$dir/munge.log" --seed-file="$dir/munge/seed"
cat >"$dir/slurm.conf" <<CONF
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/linear
MpiDefault=pmix
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
CONF
export SLURM_CONF=$dir/slurm.conf
slurmctld
slurmd

# Both daemons come up in their own time; sinfo asks them.
for ((tries = 0; ; ++tries)); do
  ! grep -q '^idle' <<<"$(sinfo --noheader --format=%t 2>/dev/null)" || break
  [ "$tries" -lt 200 ] || { echo "Slurm did not start" >&2; exit 1; }
  sleep 0.1
done

# Rank, size and peers from PMIx; nothing else is said.
srun -n 4 "$weft" stream node --timeslices 300 --sink check: --json >"$dir/out.json"
grep -q '"inputs":2,"computes":2' "$dir/out.json"
grep -q '"timeslices_complete":300' "$dir/out.json"
grep -q '"timeslices_lost":0' "$dir/out.json"

# Without PMIx processes do not know their ranks: one line with the fix, and not a job of one.
if srun --mpi=none -n 2 "$weft" stream node --timeslices 10 >"$dir/none.out" 2>&1; then
  echo "srun --mpi=none did not fail" >&2
  exit 1
fi
grep -q 'srun --mpi=pmix' "$dir/none.out"

# Programs, with every interface of Slurm: the result of one process alone.
expected=$("$program" 60 20 | sed -n 1p)
for mpi in pmix pmi2; do
  got=$(srun --mpi=$mpi -n 4 "$program" 60 20 | sed -n 1p)
  [ "$got" = "$expected" ] || { echo "srun --mpi=$mpi: '$got', not '$expected'" >&2; exit 1; }
done
failed=no
echo "a Slurm job of 4 tasks built 300 timeslices"
