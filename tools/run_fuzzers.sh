#!/usr/bin/env bash
# Runs every fuzzer for FUZZ_SECONDS (default 60) on its corpus, the others too when one finds something. Inputs that
# break it are left in build-fuzz/found; the last line counts.
set -euo pipefail
cd "$(dirname "$0")/.."
found=build-fuzz/found
mkdir -p "$found"
clean=0 broken=()
for fuzzer in $(find build-fuzz -type f -perm -u+x -name '*_fuzz' | sort); do
  name=$(basename "$fuzzer" _fuzz)
  scratch=$(mktemp -d)
  echo "== $name"
  if "$fuzzer" -max_total_time="${FUZZ_SECONDS:-60}" -print_final_stats=1 -artifact_prefix="$found/$name-" "$scratch" \
    "fuzz/corpus/$name"; then
    clean=$((clean + 1))
  else
    broken+=("$name")
  fi
  rm -rf "$scratch"
done
echo "$clean fuzzers found nothing, ${#broken[@]} found something: ${broken[*]-}"
[ ${#broken[@]} = 0 ] && [ "$clean" -gt 0 ]
