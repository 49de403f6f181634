#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# service_gpu.sh - the daemon on a machine with a GPU, out of build/bundle: CPU and GPU give the same bytes on photographs,
# /readyz knows the GPU, a mixed load comes back right, its worker is killed under load and no client sees it. Ends 0 when
# all of this holds.
here=$(cd "$(dirname "$0")" && pwd)
failed=0
check() { if "${@:2}"; then echo "ok: $1"; else echo "FAILED: $1"; failed=1; fi; }
work=$(mktemp -d)

same() { # FILE STEP
    "$here/burin" run "$2" --device cpu --type png "$1" "$work/cpu.png" && "$here/burin" run "$2" --device cuda --type png "$1" "$work/gpu.png" &&
        cmp "$work/cpu.png" "$work/gpu.png"
}
for photo in "$here"/photos/*.jpg "$here"/photos/tiny.pgm "$here"/golden/photos/rocket.jpg; do
    for step in grayscale histeq histeq:bins=1000,scale=maxabs histeq:channel=luma histeq:channel=each,bins=33; do
        same "$photo" "$step" || { echo "FAILED: $step differs on $photo"; failed=1; }
    done
done
echo "compared CPU and GPU on $(ls "$here"/photos | wc -l) files"

"$here/burin" serve --listen 127.0.0.1:8291 --log-level error >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 100); do curl -fs http://127.0.0.1:8291/readyz >"$work/ready" && grep -q '"cuda:0"[^}]*"healthy":true' "$work/ready" && break; sleep 0.1; done
cat "$work/ready"; echo
check "the GPU's worker is healthy" grep -q '"cuda:0"[^}]*"healthy":true' "$work/ready"
curl -s -F image=@"$here/golden/photos/rocket.jpg" http://127.0.0.1:8291/histeq -o "$work/a.jpg" -D "$work/head"
grep -iE 'server-timing|x-burin' "$work/head"
check "the GPU answered" grep -qi 'x-burin-device: cuda:0' "$work/head"
curl -s -F image=@"$here/golden/photos/rocket.jpg" 'http://127.0.0.1:8291/histeq?device=cpu' -o "$work/b.jpg" -D "$work/head"
check "device=cpu is the CPU" grep -qi 'x-burin-device: cpu' "$work/head"
check "both give the same bytes" cmp "$work/a.jpg" "$work/b.jpg"

check "many kinds of image at once, each answer as the CPU gives it alone" python3 "$here/mixed_load.py" --port 8291
# A reading of the GPU comes soon after the worker's start, and every 5 s from then on.
for _ in $(seq 50); do curl -s http://127.0.0.1:8291/metrics >"$work/metrics" && grep -q '^burin_gpu_memory' "$work/metrics" && break; sleep 0.1; done
grep '{gpu=\|,gpu=' "$work/metrics"
for series in gpu_up workers gpu_memory_used_bytes gpu_memory_total_bytes gpu_utilization_ratio gpu_energy_joules_total pinned_pool_bytes; do
    check "burin_$series is printed for cuda:0" grep -q "^burin_$series{gpu=\"cuda:0\"" "$work/metrics"
done

"$here/with" load --port 8291 --seconds 6 --concurrency 16 "$here"/photos/small*.jpg >"$work/load" &
loader=$!
sleep 2
victim=$(pgrep -P "$pid" -f 'cuda:0')
kill -KILL "$victim"
start=$(date +%s%N)
for _ in $(seq 100); do curl -s http://127.0.0.1:8291/readyz | grep -q '"cuda:0"[^}]*"healthy":true[^}]*"restarts":1' && break; sleep 0.02; done
echo "the GPU's worker was back after $((($(date +%s%N) - start) / 1000000)) ms"
wait $loader
check "no client saw the killed worker" test $? = 0
cat "$work/load"
curl -s http://127.0.0.1:8291/readyz; echo
kill -TERM $pid
wait $pid
check "SIGTERM ends with 0" test $? = 0
cat "$work/err"

# Users' operators: their kernels are there before the first job, are kept, and are taken from there the next time.
mkdir -m 755 "$work/ops"
cat >"$work/ops/soft.c" <<'END'
#N2P_FUNC
static unsigned char soft(unsigned char p[3][3], int x, int y) { return (p[0][1] + p[1][0] + p[1][2] + p[2][1]) / 4; }
END
chmod 644 "$work/ops/soft.c"
with_operators() { # serves while the commands behind it run
    CACHE_DIRECTORY="$work/cache" "$here/burin" serve --listen 127.0.0.1:8292 --devices cuda:0 --operators-dir "$work/ops" --log-level info >"$work/log" 2>&1 &
    pid=$!
    for _ in $(seq 150); do curl -fs http://127.0.0.1:8292/readyz >"$work/ready" && grep -q '"operators"[^}]*"healthy":true' "$work/ready" && break; sleep 0.1; done
    "$@"
    kill -TERM $pid
    wait $pid
}
kept() { ls "$work"/cache/*.kernel 2>/dev/null | wc -l; }
first_job() {
    for _ in $(seq 150); do [ "$(kept)" -ge 2 ] && break; sleep 0.1; done
    check "kernels are kept before the first job" test "$(kept)" -ge 2
    curl -s -F image=@"$here/golden/photos/rocket.jpg" 'http://127.0.0.1:8292/soft?type=png' -o "$work/$1.png" -D "$work/head"
    grep -iE 'server-timing|x-burin' "$work/head"
    grep 'operators.* ready' "$work/log"
}
if ls /usr/local/cuda/lib64/libnvrtc.so* >/dev/null 2>&1 || ldconfig -p | grep -q libnvrtc; then
    with_operators first_job compiled
    before=$(ls -l --time-style=+ "$work"/cache/*.kernel)
    with_operators first_job cached
    check "the same kernels are kept" test "$before" = "$(ls -l --time-style=+ "$work"/cache/*.kernel)"
    for kernel in "$work"/cache/*.kernel; do printf X | dd of="$kernel" bs=1 seek=$(($(stat -c %s "$kernel") - 1000)) conv=notrunc 2>/dev/null; done
    with_operators first_job damaged
    check "compiled, cached and damaged kernels give the same bytes" cmp "$work/compiled.png" "$work/cached.png"
    check "a damaged file is compiled anew" cmp "$work/compiled.png" "$work/damaged.png"
    CACHE_DIRECTORY="$work/cache" "$here/burin" run --operators-dir "$work/ops" --device cuda soft "$here/golden/photos/rocket.jpg" "$work/run.png" &&
        check "and so does the command" cmp "$work/compiled.png" "$work/run.png"
else
    echo "no libnvrtc here: users' operators are left out"
fi
rm -rf "$work"
exit $failed
