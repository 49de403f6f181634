# SPDX-License-Identifier: Apache-2.0
# flatten.awk - a header with the headers of ours that it includes put into their places, each once.
function put(path,    line, name) {
    if (path in seen) return
    seen[path] = 1
    while ((getline line < path) > 0) {
        if (match(line, /^#include "(pipeline|cuda)\/[^"]*"/)) {
            name = substr(line, 11, RLENGTH - 11)
            put(name)
        } else print line
    }
    close(path)
}
BEGIN { for (i = 1; i < ARGC; i++) put(ARGV[i]) }
