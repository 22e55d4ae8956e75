#!/usr/bin/env bash
# Runs every benchmark of the optimised build, or those whose names hold the first argument.
set -euo pipefail
cd "$(dirname "$0")/.."
for bench in $(find build-release -type f -perm -u+x -name '*_bench' | sort); do
  case "$bench" in
    *"${1:-}"*) echo "== $(basename "$bench")"; "$bench" ;;
  esac
done
