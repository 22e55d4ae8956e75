#!/usr/bin/env bash
# Runs every fuzzer for FUZZ_SECONDS (default 60) on its corpus. What is found stays in the working folder.
set -euo pipefail
cd "$(dirname "$0")/.."
for fuzzer in $(find build-fuzz -type f -perm -u+x -name '*_fuzz' | sort); do
  name=$(basename "$fuzzer" _fuzz)
  scratch=$(mktemp -d)
  echo "== $name"
  "$fuzzer" -max_total_time="${FUZZ_SECONDS:-60}" -print_final_stats=1 "$scratch" "fuzz/corpus/$name"
  rm -rf "$scratch"
done
