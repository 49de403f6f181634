#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu.sh [check] [sanitize] [bench] [profile] - tests that need a machine with a GPU; all four without arguments.
# Runs out of build/bundle (there it is called test-gpu), where `make bundle` has packed everything that it needs.
# Logs, times and machine code go to $OUT, or to out/ beside it. JPEG_SETS: folders of JPEGs beside photos/; JPEG_SECONDS:
# how long a million damaged copies may take.
here=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$here/out}
export OUT LD_LIBRARY_PATH="$here/lib:$LD_LIBRARY_PATH" BURIN="$here/bin/burin"
PATH=$PATH:/usr/local/cuda/bin
[ $# -gt 0 ] || set -- check sanitize bench profile
mkdir -p "$OUT"
cd "$here" || exit 1
chmod -R go-w operators || exit 1 # operators that others may write are refused, and some unpack so
failed=0

# NAME COMMAND...: one line on the terminal, the rest in a file.
step() {
    name=$1 start=$(date +%s)
    shift
    timeout "${LIMIT:-300}" "$@" >"$OUT/$name.log" 2>&1
    code=$?
    case $code in
    0) verdict=passed ;;
    77) verdict="skipped: $(tail -1 "$OUT/$name.log")" ;;
    124) verdict="out of time" failed=1 ;;
    *) verdict="FAILED ($code)" failed=1 ;;
    esac
    echo "$name: $verdict, $(($(date +%s) - start)) s"
    [ $code = 0 ] || [ $code = 77 ] || grep -E 'ERROR|FAILED|=====.*(Error|error|Race|Barrier)' "$OUT/$name.log" | head -5
}

have() {
    command -v "$1" >/dev/null || { echo "no $1 on this machine: left out"; return 1; }
}

# Every operator's twin against its reference, lanes side by side, the device, waits that never end, launches that the
# GPU refuses; everything else that was bundled passes here too. Users' operators need NVIDIA's libnvrtc. Tests whose names
# end in _ptx75 are intermediate code for the oldest GPU alone: the driver compiles it when they start.
check() {
    for t in tests/*; do step "$(basename "$t")" "$t"; done
    step users-operators tests/cuda-every_op small operators
    [ ! -x tests/cuda-codecs-jpeg_copies ] || step jpeg-million tests/cuda-codecs-jpeg_copies --copies 1000000 \
        --seconds "${JPEG_SECONDS:-200}" $(find photos $JPEG_SETS -maxdepth 0 2>/dev/null)
}

# Small sizes. Expected failures (the allocation in test_memory, refused launches) are no errors: API errors are not
# reported.
sanitize() {
    have compute-sanitizer || return
    for tool in memcheck synccheck racecheck; do
        step $tool compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
            tests/cuda-every_op $([ $tool = racecheck ] && echo tiny || echo small)
        [ -x tests/cuda-ops-carve ] || continue # built without it
        step $tool-carve compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
            tests/cuda-ops-carve$([ $tool = racecheck ] && echo _checked) small
        step $tool-carve_widths compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
            tests/cuda-ops-carve_widths $([ $tool = racecheck ] && echo tiny || echo small)
        step $tool-carve_many compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
            tests/cuda-ops-carve_many $([ $tool = racecheck ] && echo tiny || echo small)
    done
    for tool in memcheck synccheck racecheck; do
        for op in clahe resize; do
            step $tool-$op compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 tests/cuda-ops-$op tiny
        done
    done
    for tool in memcheck synccheck; do
        step $tool-histeq compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 tests/cuda-ops-histeq
        step $tool-reduction compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 tests/cuda-reduction
    done
    for part in memory_pool cooperative_lane; do
        step memcheck-$part compute-sanitizer --report-api-errors no --error-exitcode 9 tests/cuda-$part small
    done
    for codec in jpeg_encode jpeg_decode; do
        [ -x tests/cuda-codecs-$codec ] && for tool in memcheck synccheck racecheck initcheck; do
            step $tool-$codec compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
                tests/cuda-codecs-$codec small
        done
    done
    for tool in memcheck synccheck; do
        step $tool-lane_codec compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 tests/cuda-lane_codec small
    done
    step memcheck-users-operators compute-sanitizer --report-api-errors no --error-exitcode 9 tests/cuda-every_op tiny operators
    step memcheck-device compute-sanitizer --report-api-errors no --error-exitcode 9 tests/cuda-device
}

bench() {
    for k in kernels/*; do
        step "kernel-$(basename "$k")" "$k"
        tail -n +1 "$OUT/kernel-$(basename "$k").log"
    done
}

# The bounds of the shipped kernels: their time, and how busy memory, shared memory and the issue slots are.
profile() {
    metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
    metrics=$metrics,dram__bytes_read.sum,dram__bytes_write.sum,sm__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active
    metrics=$metrics,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active,l1tex__data_bank_conflicts_pipe_lsu.sum
    metrics=$metrics,lts__t_sectors.avg.pct_of_peak_sustained_elapsed,launch__registers_per_thread
    have ncu && for k in kernels/*; do
        step "ncu-$(basename "$k")" ncu --clock-control none --profile-from-start off --metrics $metrics --csv "$k" --profile
    done
    have cuobjdump && for k in kernels/*; do
        name=$(basename "$k")
        cuobjdump --dump-resource-usage "$k" 2>&1 | grep -A1 Function >"$OUT/$name.resources"
        cuobjdump --dump-sass -arch sm_90 "$k" 2>/dev/null | gzip >"$OUT/$name.sass.gz"
        echo "$name.sass.gz: $(wc -c <"$OUT/$name.sass.gz") bytes"
    done
}

for part in "$@"; do
    case $part in
    check | sanitize | bench | profile) $part ;;
    *) echo "gpu.sh [check] [sanitize] [bench] [profile]" >&2 && exit 2 ;;
    esac
done
exit $failed
