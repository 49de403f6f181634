#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man.sh PROGRAM VERSION - burin.1 on standard output, made of what the program says of itself under --help, so that
# the page and the program cannot differ.
set -eu
program=$1
version=$2

# Roff reads \ and, at the start of a line, . and ' as its own.
quote() { sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\\&&/" -e 's/-/\\-/g'; }
verbatim() { printf '.nf\n' && quote && printf '.fi\n'; }

commands=$("$program" --help | awk '/^  [a-z]+ +[^ ]/ && $1 != "burin" { print $1 }')
[ -n "$commands" ] || { echo "man.sh: $program --help names no command" >&2; exit 1; }

printf '.TH BURIN 1 "" "burin %s" "User Commands"\n' "$(echo "$version" | quote)"
printf '.SH NAME\nburin \\- image processing daemon for NVIDIA GPUs and CPUs\n.SH SYNOPSIS\n'
"$program" --help | verbatim
for command in $commands; do
    printf '.SH BURIN %s\n' "$(echo "$command" | tr '[:lower:]' '[:upper:]')"
    case $command in
    bench) echo 'Starts burin-bench, a program of its own, which "make tools" builds in the source tree.' ;;
    *) "$program" "$command" --help 2>&1 | verbatim ;;
    esac
done
printf '.SH FILES\n.TP\n/etc/burin/burin.json\nThe settings where no other file is named: every key with its default.\n'
printf '.SH ENVIRONMENT\n.TP\nBURIN_KEY\nAny key of the file in capitals: BURIN_LISTEN, BURIN_PIXELS_MAX.\n'
