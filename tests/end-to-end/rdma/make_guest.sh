#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the guest's initial file system of the programs of this machine and the modules of a kernel.
#   make_guest.sh KERNEL_DIR WEFT WIRE INIT OUT.gz PING_PONG
set -euo pipefail
kernel=$1 weft=$2 wire=$3 init=$4 out=$5 ping_pong=$6
root=$(mktemp -d)
trap 'rm -rf -- "$root"' EXIT
mkdir -p "$root"/{bin,etc,modules,usr/bin,usr/sbin}

# A module behind those that it needs: insmod looks for none.
order=()
declare -A seen=()
add_module() {
  local name=${1//-/_} file depends
  [[ -z ${seen[$name]:-} ]] || return 0
  seen[$name]=yes
  file=$(find "$kernel/modules" -name "$name.ko*" -o -name "${name//_/-}.ko*" | head -n 1)
  [[ -n $file ]] || return 0  # built in
  case $file in
    *.xz) xz -dc "$file" ;;
    *.zst) zstd -qdc "$file" ;;
    *) cat "$file" ;;
  esac > "$root/modules/$name.ko"
  depends=$(tr '\0' '\n' < "$root/modules/$name.ko" | sed -n 's/^depends=//p' | head -n 1)
  for module in $(tr ',' ' ' <<< "$depends"); do add_module "$module"; done
  order+=("$name")
}
for module in rdma_rxe ib_uverbs tun; do add_module "$module"; done
echo "${order[@]}" > "$root/modules/order"

# A file and the libraries that it is linked to.
add_file() {  # add_file FILE [PLACE]
  local place=${2:-$1} library
  install -D "$1" "$root$place"
  { ldd "$1" 2>/dev/null | grep -oE '/[^ ]+' || true; } | sort -u | while read -r library; do
    [[ -e $root$library ]] || install -D "$library" "$root$library"
  done
}
add_file "$(command -v busybox)" /bin/busybox
add_file "$(command -v ip)" /usr/sbin/ip
add_file "$(command -v rdma)" /usr/bin/rdma
add_file "$weft" /bin/weft
add_file "$wire" /bin/odp_wire
add_file "$ping_pong" /bin/verbs_pingpong
# Modules of weft emulate lie beside weft.
for module in "$(dirname "$weft")"/libweft_emulate_*.so; do add_file "$module" "/bin/$(basename "$module")"; done
driver=$(find /usr/lib -path '*/libibverbs/librxe-*.so' | head -n 1)
[[ -n $driver ]] || { echo "make_guest: ibverbs-providers is not installed" >&2; exit 1; }
add_file "$driver"
add_file /etc/libibverbs.d/rxe.driver
install -m 755 "$init" "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) | gzip -1 > "$out"
