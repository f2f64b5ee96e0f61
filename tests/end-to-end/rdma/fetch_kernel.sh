#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Downloads and unpacks Debian's newest packaged kernel with software RoCE that pages on demand and
# lives in network namespaces (7.2 or later: trixie-backports). Installs nothing, needs no root.
#   fetch_kernel.sh DIR      afterwards DIR/vmlinuz and DIR/modules/ are there
set -euo pipefail
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[[ -e $dir/vmlinuz && -d $dir/modules ]] && exit 0

apt=$dir/apt
mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial "$apt"/packages
cat > "$apt/sources.list" <<END
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie-backports main
END
cat > "$apt/apt.conf" <<END
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
Acquire::Retries "3";
APT::Sandbox::User "";
END
export APT_CONFIG=$apt/apt.conf
apt-get -qq update
# The packages that hold the kernel and its modules differ from release to release.
mapfile -t packages < <(apt-cache depends --recurse --important linux-image-amd64 |
  grep -E '^linux-(image|binary|modules)-[0-9]' | sort -u)
((${#packages[@]} > 0)) || { echo "fetch_kernel: trixie-backports has no linux-image-amd64" >&2; exit 1; }
(cd "$apt/packages" && apt-get -qq download "${packages[@]}")
for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$apt/tree"; done

modules=$(find "$apt/tree" -type d -path '*/modules/*' -name kernel | head -n 1)
kernel=$(find "$apt/tree" -name 'vmlinuz*' -type f | head -n 1)
[[ -n $modules && -n $kernel ]] || { echo "fetch_kernel: no kernel in ${packages[*]}" >&2; exit 1; }
mv "$modules" "$dir/modules"
mv "$kernel" "$dir/vmlinuz"
rm -rf "$apt"
