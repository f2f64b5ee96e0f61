# SPDX-License-Identifier: Apache-2.0
# The beginning of most scripts here, which source this: `dir` is a directory that lasts as long as the script, and
# `fail MESSAGE` ends it. A script that is run with a seed sets `again` to the arguments that repeat a failure.
# shellcheck shell=bash
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT

fail() {
  echo "$(basename -- "$0" .sh): $*${again:+; again: $0 $again}" >&2
  exit 1
}
