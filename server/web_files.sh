#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# web_files.sh FILE... - the page's files as C, for server/http/handle_document.c: the bytes of each, plain and compressed, and a
# table of them. The same files give the same text: gzip stores neither name nor time. index.html names the others in a folder
# whose name is a digest of all of them, so that a browser may keep them.
set -eu

bytes() { # NAME, from standard input
    echo "static const unsigned char $1[] = {"
    od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
    echo "};"
}

media_type() {
    case "$1" in
    *.html) echo "text/html; charset=utf-8" ;;
    *.css) echo "text/css; charset=utf-8" ;;
    *.js) echo "text/javascript; charset=utf-8" ;;
    *.svg) echo "image/svg+xml" ;;
    *.webp) echo "image/webp" ;;
    *) echo "web_files.sh: $1 is of no type that the page is made of" >&2 && exit 1 ;;
    esac
}

# The headers belong to it: a worker has its own policy.
version=$(sha256sum "$@" "${0%/*}/http/handle_document.c" | sed 's/ .*//' | sha256sum | cut -c1-24)
content() { # FILE
    case "$1" in
    */index.html) sed "s|\"/web/|&$version/|" "$1" ;;
    *) cat "$1" ;;
    esac
}

count=0
rows=
for file in "$@"; do
    content "$file" | bytes "web_$count"
    content "$file" | gzip -9nc | bytes "web_${count}_gzip"
    digest=$(content "$file" | sha256sum | cut -c1-24)
    type=$(media_type "$file")
    rows="$rows    { \"${file##*/}\", \"$type\", web_$count, web_${count}_gzip, sizeof web_$count, sizeof web_${count}_gzip,
      \"\\\"$digest\\\"\", \"\\\"$digest-gzip\\\"\" },
"
    count=$((count + 1))
done
echo "static const char page_version[] = \"$version\";"
echo "static const struct page_file page_files[] = {"
printf '%s' "$rows"
echo "};"
