#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of scripts/packages.txt, as root or through sudo; does nothing (and needs
# no privilege) when nothing is missing. Needs bash, coreutils and apt, no more.
#   scripts/install-packages.sh [SECTION…]            installs; by default all but rdma
#   scripts/install-packages.sh --missing [SECTION…]  only names what is missing
set -euo pipefail

list="$(dirname -- "${BASH_SOURCE[0]}")/packages.txt"

fail() {
  printf 'weft: %s\n' "$*" >&2
  exit "${status:-3}"
}

only_name=no
if [[ ${1:-} == --missing ]]; then
  only_name=yes
  shift
fi
(($# > 0)) || set -- build charts test

declare -A sections=() wanted_sections=()
for section in "$@"; do wanted_sections[$section]=yes; done
wanted=()
section=
while read -r package _ || [[ -n $package ]]; do
  [[ -z $package || $package == '#'* ]] && continue
  if [[ $package == '['*']' ]]; then
    section=${package:1:-1}
    sections[$section]=yes
  elif [[ -n ${wanted_sections[$section]:-} ]]; then
    wanted+=("$package")
  fi
done <"$list" || fail "cannot read $list"
for section in "$@"; do
  [[ -n ${sections[$section]:-} ]] ||
    status=2 fail "install-packages: '$section' is no section of $list: use ${!sections[*]}"
done

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  fail "this is no Debian system (no apt-get): install by other means what $list names"

# Names that an installed package provides count too: other vendors' nodejs brings npm along.
declare -A installed=()
while read -r status names; do
  [[ $status == installed ]] || continue
  for name in ${names//,/ }; do installed[$name]=yes; done
done < <(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n')
unset status

missing=()
for package in "${wanted[@]}"; do
  [[ -n ${installed[$package]:-} ]] || missing+=("$package")
done

if [[ $only_name == yes ]]; then
  ((${#missing[@]} == 0)) || printf '%s\n' "${missing[@]}"
  exit 0
fi
((${#missing[@]} > 0)) || exit 0
by_hand="run as root: apt-get install --no-install-recommends ${missing[*]}"
if ((EUID == 0)); then
  as_root=(env)
elif ! command -v sudo >/dev/null; then
  fail "packages are missing and there is neither root nor sudo; $by_hand"
elif sudo -n true 2>/dev/null; then
  as_root=(sudo -n env)
elif [[ -t 0 && -t 2 ]]; then
  as_root=(sudo env)  # asks for the password on the terminal
else
  fail "packages are missing and sudo wants a password; $by_hand"
fi

printf 'weft: installing %d packages: %s\n' "${#missing[@]}" "${missing[*]}" >&2
log="$(mktemp)"
trap 'rm -f -- "$log"' EXIT
apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 "$@" </dev/null >>"$log" 2>&1
}
# An update that fails matters only when the install then finds nothing.
apt update || true
if ! apt install --no-install-recommends "${missing[@]}"; then
  tail -n 15 -- "$log" >&2
  fail "apt-get could not install the missing packages (its last lines are above); $by_hand"
fi
