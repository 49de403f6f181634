#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [OUT] - everything that is measured on the GPU machine, out of build/bundle: operators, textbook ways beside them,
# launch shapes, ladders of kernels, the GPU's answers beside the CPU's, CPU beside OpenCV, the service. Results go to OUT
# (default: bench-results) as text and JSON.
if [ "${1:-}" = --help ]; then sed -n '3,5s/^# //p' "$0"; exit 0; fi
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-bench-results}
mkdir -p "$out"
burin=$here/burin
say() { echo; echo "== $*"; }
wait_ready() { for _ in $(seq 100); do "$burin" health --url "http://127.0.0.1:$1" >/dev/null 2>&1 && return 0; sleep 0.1; done; return 1; }

# serve PORT FLAGS...: starts a daemon (2 cores of its own where CORES is set), sets $pid
serve() {
    port=$1
    shift
    ${CORES:+taskset -c $CORES} "$burin" serve --listen "127.0.0.1:$port" --log-level error "$@" >/dev/null &
    pid=$!
    wait_ready "$port" || echo "the daemon on port $port is not ready"
}
stop() { kill -TERM "$pid"; wait "$pid" 2>/dev/null; }
# load FILES CONCURRENCY FLAGS...: on cores of its own where there are enough
load() {
    files=$1 concurrency=$2
    shift 2
    ${CLIENT_CORES:+taskset -c $CLIENT_CORES} "$here/with" load --port "$port" --seconds ${LOAD_SECONDS:-4} --concurrency "$concurrency" "$@" $files
}

{
    say "machine"
    "$burin" devices
    "$burin" version
    say "operators"
    for operator in histeq edge carve; do
        "$burin" ops $operator >/dev/null 2>&1 || continue # built without it
        "$burin" bench $operator
        "$burin" bench $operator --json >"$out/$operator.json"
    done
    "$burin" bench skeletons # compiled there: without a C compiler the rows of the CPU's operators are left out
    "$burin" bench skeletons --json >"$out/skeletons.json"
    photos=$([ -e "$here/photos/large0.jpg" ] && echo "--photos $here/photos")
    "$burin" bench jpeg $photos --json >"$out/jpeg.json"
    "$burin" bench jpeg $photos --quick
    for program in edge_ways energy_ways launch_shapes carve_widths operators; do
        [ -x "$here/bin/$program" ] || continue
        say "$program"
        "$here/with" $program
        "$here/with" $program --json >"$out/$program.json"
    done
    for kernel in "$here"/kernels/*; do
        say "ladder of $(basename "$kernel")"
        "$here/with" "$kernel" | tee "$out/ladder-$(basename "$kernel").txt" | tail -3
    done
    say "every operator on photographs, CPU beside GPU"
    photographs=$(ls "$here"/photos/twelve/*.jpg 2>/dev/null || ls "$here"/photos/large*.jpg)
    python3 "$here/digests.py" "$burin" $photographs | tee "$out/digests.txt"
    say "one core beside OpenCV"
    python3 "$here/peers.py" "$burin"
    say "codecs, one core"
    "$here/with" codec "$here"/photos/large0.jpg

    cores=$(nproc)
    if [ "$cores" -ge 6 ]; then CLIENT_CORES=4-$((cores - 1)); fi
    say "front alone: 64x64 P5, daemon on 2 cores"
    CORES=0-1 serve 8191 --devices cpu
    load "$here/photos/tiny.pgm" 1,4,16,64 --raw
    curl -s --data-binary @"$here/photos/tiny.pgm" "http://127.0.0.1:$port/histeq" -o /dev/null -D - | grep -i server-timing
    stop
    say "JPEG 320x240, then 1920x1080, daemon on 2 cores, CPU worker"
    CORES=0-1 serve 8192 --devices cpu
    load "$(echo "$here"/photos/small*.jpg)" 1,2,16
    load "$(echo "$here"/photos/large*.jpg)" 1,2,16
    stop
    unset CLIENT_CORES
    say "JPEG 320x240, then 1920x1080, every core, CPU worker"
    serve 8193 --devices cpu
    load "$(echo "$here"/photos/small*.jpg)" 16,64
    load "$(echo "$here"/photos/large*.jpg)" 16,64
    stop
    if [ "$("$burin" worker --count)" -gt 0 ]; then
        say "JPEG 320x240, then 1920x1080, every core, GPU worker"
        serve 8194
        load "$(echo "$here"/photos/small*.jpg)" 1,16,64,128
        load "$(echo "$here"/photos/large*.jpg)" 1,16,64,128
        curl -s -F image=@"$here/photos/large0.jpg" "http://127.0.0.1:$port/histeq" -o /dev/null -D - | grep -i -E 'server-timing|x-burin'
        stop
        say "320x240 beside two carves of 800 seams out of 8192 x 8192"
        python3 "$here/fairness.py" "$burin"
    fi
} 2>&1 | tee "$out/bench.txt"
