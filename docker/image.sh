#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# image.sh VERSION cuda|cpu [ARGUMENT=VALUE]... - builds docker/Dockerfile with whichever of docker, podman and buildah
# is here and works, tags the image with the version, and says how to run it. IMAGE_BUILDER=... chooses one.
set -eu
version=$1
kind=$2
shift 2
cd "$(dirname "$0")/.."
tag=$(echo "$version" | tr -c 'A-Za-z0-9_.\n-' -)
latest=latest
if [ "$kind" = cpu ]; then
    tag=$tag-cpu
    latest=latest-cpu
    set -- CPU_BASE=debian:bookworm-slim "$@"
fi

works() {
    case $1 in
    docker) docker info >/dev/null 2>&1 ;;
    podman | buildah) "$1" info >/dev/null 2>&1 ;;
    esac
}
builder=${IMAGE_BUILDER:-}
for candidate in docker podman buildah; do
    [ -z "$builder" ] && command -v "$candidate" >/dev/null && works "$candidate" && builder=$candidate
done
if [ -z "$builder" ]; then
    echo "make image: neither docker (with its daemon running), podman nor buildah works here" >&2
    exit 1
fi

set -- "VERSION=$version" "REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)" "$@"
for argument in "$@"; do
    set -- "$@" --build-arg "$argument"
    shift
done
run=docker
case $builder in
docker) build="docker build" ;;
podman) build="podman build --format docker" run=podman ;; # the other format has no place for HEALTHCHECK
buildah) build="buildah bud --format docker" run=podman ;;
*) build="$builder build" ;;
esac
$build -f docker/Dockerfile -t "burin:$tag" -t "burin:$latest" "$@" .

gpus="--gpus all "
[ "$run" = docker ] || gpus="--device nvidia.com/gpu=all "
[ "$kind" = cuda ] || gpus=
cat <<EOF
burin:$tag is built, and burin:$latest means it. To run it:

  $run run ${gpus}-p 127.0.0.1:8080:8080 -e BURIN_INSECURE=true --read-only --cap-drop=ALL --security-opt=no-new-privileges burin:$tag
EOF
