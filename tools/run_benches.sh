#!/usr/bin/env bash
# run_benches.sh [NAME] [--quick]: runs the benchmarks of the optimised build, or those whose names hold NAME. The
# server's comes last, with its table. --quick runs that one only, with small numbers, to see that it works.
set -euo pipefail
cd "$(dirname "$0")/.."
name="" quick=""
for argument in "$@"; do
  case "$argument" in
    --quick) quick=--quick name=server_bench ;;
    *) name=$argument ;;
  esac
done
# On the disk of the checkout: fsyncs are part of what is measured.
folder=$(mktemp -d "$PWD/build-release/bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
run() { # program [arguments]
  case "$1" in
    *"$name"*) echo "== $(basename "$1")"; "$@" ;;
  esac
}
for bench in $(find build-release -type f -perm -u+x -name '*_bench' -not -name server_bench -not -name store_bench | sort); do
  run "$bench"
done
run build-release/bench/store_bench "$folder"
run bench/testserver_bench.py build-release/flyball
run build-release/bench/server_bench --folder "$folder" $quick
