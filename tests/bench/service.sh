#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# service.sh [BURIN] - the service beside its peer and beside its own codecs, on this machine's cores, in one run:
#   codec   decode + histeq + encode alone, a process a core (`burin run` in a loop would measure process starts, so this is
#           tests/bench/throughput: the same code that a worker runs, without HTTP)
#   burin   JPEG through the whole service at concurrency 16, the client on the same cores
#   sharp   fastify + sharp (npm), decode + encode only, at concurrency 16
# Needs: make tools; npm install in tests/bench/sharp; photographs (tests/bench/photos.py).
# Prints requests a second (load: latencies too), three rounds of each, for 320x240 and 1920x1080.
set -u
if [ "${1:-}" = --help ]; then sed -n '3,/^set/s/^# //p' "$0"; exit 0; fi
cd "$(dirname "$0")/../.." || exit 1
burin=${1:-build/burin}
tools=$(dirname "$(ls -t build/*/tests/bench/load | head -1)")
photos=build/photos
[ -d $photos ] || /usr/bin/python3 tests/bench/photos.py $photos
wait_port() { for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return; sleep 0.1; done; }

"$burin" serve --listen 127.0.0.1:8195 --log-level error >/dev/null & ours=$!
(cd tests/bench/sharp && exec node server.mjs 8196 >/dev/null) & theirs=$!
trap 'kill $ours $theirs 2>/dev/null' EXIT
wait_port 8195
wait_port 8196
for size in small large; do
    for round in 1 2 3; do
        echo "== $size, round $round"
        echo "codec and operator alone:"
        "$tools/throughput" --seconds 4 $photos/$size*.jpg
        echo "burin:"
        "$tools/load" --port 8195 --seconds 4 --concurrency 1,16 $photos/$size*.jpg
        echo "fastify + sharp:"
        "$tools/load" --port 8196 --path /decode --seconds 4 --concurrency 1,16 $photos/$size*.jpg
    done
done
