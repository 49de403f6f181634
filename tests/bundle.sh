#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bundle.sh BUILD-FOLDER PROGRAM [LADDER...] - pack program, GPU tests, benchmarks, ladders and the shared libraries that
# they need into build/bundle, which then runs on a machine that has only the NVIDIA driver.
set -e
build=$1 program=$2
shift 2
out=build/bundle
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/tests" "$out/kernels" "$out/photos"
cp "$program" "$(dirname "$program")/burin-bench" "$out/bin/"
# A test is named by its path: cuda/ops/carve is cuda-ops-carve there.
for t in "$build"/tests/pipeline/ops/* "$build"/tests/pipeline/rows/* "$build"/tests/cuda/* "$build"/tests/cuda/ops/* "$build"/tests/cuda/skeletons/* "$build"/tests/cuda/codecs/*; do
    [ -x "$t" ] && [ ! -d "$t" ] && case $t in *.d) ;; *) cp "$t" "$out/tests/$(echo "${t#"$build"/tests/}" | tr / -)" ;; esac
done
for t in "$build"/tests/bench/* ; do [ -x "$t" ] && [ ! -d "$t" ] && cp "$t" "$out/bin/"; done
[ $# = 0 ] || cp "$@" "$out/kernels/"
# All libraries but those of every glibc system.
ldd "$out"/bin/* "$out"/tests/* "$@" | awk '/=> \// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s)\.so' | while read -r lib; do cp -L "$lib" "$out/lib/"; done
# Only `burin bench jpeg` opens it, for rows beside ours; NVJPEG=/path/libnvjpeg.so.12 names a different file.
for lib in $NVJPEG /usr/local/cuda/lib64/libnvjpeg.so.1?; do [ -e "$lib" ] && cp -L "$lib" "$out/lib/"; done
command -v wrk >/dev/null && cp "$(command -v wrk)" "$out/bin/" && ldd "$out/bin/wrk" | awk '/=> \// { print $3 }' |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libgcc_s)\.so' | while read -r lib; do cp -L "$lib" "$out/lib/"; done
# A command with the bundle's libraries, for it alone: the machine's own programs keep theirs.
cat >"$out/with" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$here/bin:$PATH exec "$@"
END
printf '#!/bin/sh\nexec "$(dirname "$0")/with" burin "$@"\n' >"$out/burin"
chmod +x "$out/with" "$out/burin"
cp tests/gpu.sh "$out/test-gpu"
cp tests/bench/bench.sh "$out/bench" 2>/dev/null || true
cp tests/bench/peers.py tests/bench/rates.py tests/bench/fairness.py tests/bench/hard_jpeg.py tests/service_gpu.sh tests/mixed_load.py tests/digests.py "$out/"
/usr/bin/python3 tests/bench/photos.py "$out/photos" || echo "no photographs: the service is not measured there"
cp -r tests/golden "$out/" 2>/dev/null || true
cp -r tests/http "$out/http" 2>/dev/null || true
cp -r tests/reference "$out/reference" 2>/dev/null || true
cp -r tests/operators "$out/operators"
chmod +x "$out"/test-gpu "$out"/bench 2>/dev/null || true
strip --strip-debug "$out"/bin/* "$out"/tests/* "$out"/kernels/* "$out"/lib/libburin.so 2>/dev/null || true
du -sh "$out"
echo "run build/bundle/test-gpu and build/bundle/bench on the GPU machine"
