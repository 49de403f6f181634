#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh - the rules of this tree that a machine can check: lengths, walls, twins, banned calls.
cd "$(dirname "$0")/.." || exit 1
bad=0
complain() { echo "tidy: $*" >&2; bad=1; }
files() { git ls-files --cached --others --exclude-standard "$@" | while read -r f; do [ -f "$f" ] && echo "$f"; done; }
# Users' operators are C under directives of ours, as users may write it.
sources=$(files '*.c' '*.h' '*.cu' '*.cuh' ':!tests/operators' ':!tests/reference/*.c')

# Lines and files: two files fit side by side; a file is one noun.
for f in $sources; do
    awk -v f="$f" 'length($0) > 100 { printf "tidy: %s:%d is %d columns long\n", f, NR, length($0); bad = 1 } END { exit bad }' "$f" >&2 || bad=1
    head -1 "$f" | grep -q SPDX-License-Identifier || complain "$f lacks its SPDX line"
    [ "$(wc -l <"$f")" -le 450 ] || complain "$f is over 450 lines: one file, one noun"
done

# Functions: 70 lines is the wall. A function begins in column 0 with its brace and ends with one there.
for f in $(echo "$sources" | grep -v '^tests/'); do
    awk -v f="$f" '/^[a-zA-Z].*\) *\{$|^[a-zA-Z ].*\{$/ && !/^(struct|enum|union|static const|const|extern)/ { start = NR } /^ .*\) \{$/ && !start { start = NR }
        /^}/ { if (start && NR - start > 70) { printf "tidy: %s:%d: a function of %d lines\n", f, start, NR - start; bad = 1 } start = 0 } END { exit bad }' "$f" >&2 || bad=1
done

# Walls: who may include whom.
wall() { # FILES-REGEX FORBIDDEN-REGEX REASON
    for f in $(echo "$sources" | grep -E "$1"); do
        grep -nE "^#include \"($2)" "$f" >/dev/null && complain "$f: $3"
    done
}
wall '^pipeline/' '(server|cuda|config)/' "pipeline/ is the ground floor: it knows no server, no CUDA, no config"
wall '^pipeline/(codecs|rows)/' 'pipeline/ops/' "codecs and row kernels know no operator"
wall '^cuda/' '(server|config)/' "cuda/ stands on pipeline/ alone"
wall '^(server|cuda|pipeline|config)/' 'tests/' "what is shipped includes nothing of its tests and benchmarks"
wall '^config/' '(server|cuda)/' "config/ stands on pipeline/ alone"
wall '^server/http/' 'pipeline/(run|device|codecs/|ops/)|server/jobs/(worker|executor|channel|self_test)|cuda/' "http/ links no codec, no operator and no device"
wall '^server/http/engine/' 'config/|server/jobs/|server/http/[a-z_]*\.h' "engine/ knows no request: nothing of http/ outside it"
wall '^server/jobs/' 'server/http/' "jobs/ does not know HTTP"
grep -nE 'ifdef.*CUDA' $(echo "$sources" | grep -v '^cuda/') | grep -vE '__CUDACC__|__CUDA_ARCH__' && complain "no #ifdef CUDA outside cuda/"

# Twins and tests: every operator has a test; every CUDA twin has its reference.
for f in $(files ':(glob)pipeline/ops/*.c'); do
    [ -f "tests/$f" ] || complain "$f has no tests/$f"
done
for f in $(files ':(glob)cuda/ops/*.cu'); do
    [ -f "pipeline/ops/$(basename "$f" .cu).c" ] || complain "$f has no reference in pipeline/ops/"
done
for name in $(files 'tests/*test_*.py' | sed 's|.*/||' | sort | uniq -d); do
    complain "two tests are called $name: pytest takes no more than one of a name"
done

# Headers: what it is in the first line, who uses it, and every label on a line of its own.
labels='Used by|Owns|Fails|Threads|Limits|Source|How|Why|Kinds|Bounds|Invariant|Method|Ownership|Ends|Names'
headers=$(echo "$sources" | grep -v '^tests/' | grep '\.h$')
for f in $(echo "$sources" | grep -v '^tests/' | grep '\.cuh$'); do
    grep -qF "#include \"$f\"" $sources && headers="$headers $f"
done
for f in $headers; do
    name=$(basename "$f")
    awk -v f="$f" -v name="$name" -v labels="$labels" '
        NR == 2 { first = index($0, "/* " name " - ") == 1 }
        NR > 1 && !closed { if ($0 ~ "^ \\* Used by:") used = 1
            if ($0 ~ "[^*] +(" labels "):  ") melted = NR
            if (/\*\//) closed = 1 }
        END { if (!first) printf "tidy: %s does not begin with \"/* %s - what it is\"\n", f, name
            else if (!used) printf "tidy: %s does not say who uses it (Used by:)\n", f
            if (melted) printf "tidy: %s:%d: a label in the middle of a line\n", f, melted
            exit !first || !used || melted }' "$f" >&2 || bad=1
done

# Sources that do not fit a screen or three say how they work before they begin.
for f in $(echo "$sources" | grep -v '^tests/' | grep -E '\.(c|cu|cuh)$'); do
    [ "$(wc -l <"$f")" -le 140 ] || head -40 "$f" | grep -qiE '^(/\*| \*) *how\b' || complain "$f is over 140 lines and does not open with How it works"
done

# Tests: the source's own path and name below tests/, or a test that says `covers:` and the path.
covered=$(files 'tests/*' | grep -E '\.(c|cu|h|cuh|py)$' | tr '\n' '\0' | xargs -0 awk '
    FNR == 1 { on = 0 } FNR > 30 { nextfile } / covers: |^covers: / { on = 1 }
    on { for (i = 1; i <= NF; i++) { gsub(/[,"]/, "", $i); if ($i ~ /^[a-z]+\/.*\.(c|cu|cuh|h)$/) print $i } }
    on && (/\*\// || /"""/ || !NF) { nextfile }' | sort -u)
for path in $covered; do [ -f "$path" ] || complain "a test covers $path, which is not there"; done
untested=
total=0
for f in $(echo "$sources" | grep -v '^tests/' | grep -E '\.(c|cu)$' | grep -vE '_none\.c$|^server/main\.c$'); do
    total=$((total + 1))
    stem=${f%.*}
    [ -f "tests/$stem.c" ] || [ -f "tests/$stem.cu" ] || [ -f "tests/$stem.py" ] || echo "$covered" | grep -qxF "$f" || untested="$untested $f"
done
[ -z "$untested" ] || complain "$(echo $untested | wc -w) of $total sources have no test:$(printf '\n      %s' $untested)"

# Deliberate mistakes: whoever changes a line that one stands in takes the table along.
stale=$(tests/mutants/run.py --check) || complain "tests/mutants/table.py: $stale"

# Calls that bound nothing, or end the process behind the caller's back.
grep -nE '\b(strcat|sprintf|gets|alloca|system|popen)\(' $(echo "$sources" | grep -v '^tests/') && complain "a banned call"
grep -nE '\b(abort|exit)\(' $(echo "$sources" | grep -E '^(pipeline|cuda|server/jobs)/' ) | grep -v '_exit' && complain "nothing below main.c ends the process"
[ $bad = 0 ] && echo "tidy: fine"
exit $bad
