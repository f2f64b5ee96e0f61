#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `weft odp bench` on software RDMA adapters: two hosts as network namespaces of one emulated machine
# (a guest of QEMU, without KVM), and requests lost on the wire between them, which `weft odp
# diagnose` finds. Ends with 77, skipped, where the programs or the kernel cannot be had.
#   rdma_test.sh WEFT WIRE WORK_DIR PING_PONG
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
weft=$1 wire=$2 work=$3 ping_pong=$4
limit_s=420
mkdir -p "$work"

for program in qemu-system-x86_64 busybox cpio xz zstd rdma ip node; do
  command -v "$program" >/dev/null && continue
  echo "rdma_test: $program is missing: scripts/install-packages.sh rdma" >&2
  exit 77
done
if ! "$here/fetch_kernel.sh" "$work/kernel"; then
  echo "rdma_test: the kernel cannot be had from deb.debian.org (trixie-backports)" >&2
  exit 77
fi
"$here/make_guest.sh" "$work/kernel" "$weft" "$wire" "$here/guest_init.sh" "$work/initramfs.gz" "$ping_pong"

log=$work/console.log
status=0
timeout --kill-after=10 "$limit_s" qemu-system-x86_64 \
  -accel tcg,thread=multi -cpu max -smp 2 -m 768 -no-reboot -nodefaults -nographic -serial stdio \
  -kernel "$work/kernel/vmlinuz" -initrd "$work/initramfs.gz" \
  -append 'console=ttyS0 quiet loglevel=1 panic=-1' < /dev/null > "$log" 2>&1 || status=$?
if ((status != 0)); then
  tail -n 40 "$log"
  echo "rdma_test: the guest did not end within $limit_s s, or QEMU failed ($status), see $log" >&2
  exit 1
fi
node "$here/judge.mjs" "$log"
