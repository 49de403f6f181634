#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh SECONDS FUZZER... - run each fuzzer for SECONDS on its corpus; new inputs stay in build/fuzz/new.
set -e
seconds=$1
shift
for fuzzer in "$@"; do
    name=$(basename "$fuzzer")
    mkdir -p "build/fuzz/new/$name" "tests/fuzz/corpus/$name"
    echo "== $name, $seconds s"
    "$fuzzer" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/$name-" "build/fuzz/new/$name" "tests/fuzz/corpus/$name"
done
