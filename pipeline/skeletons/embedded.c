// SPDX-License-Identifier: Apache-2.0
#include "pipeline/skeletons/embedded.h"

const char embedded_rows[] = {
#include "embedded/pipeline/skeletons/twin/rows.h.inc"
};
const char embedded_prelude[] = {
#include "embedded/pipeline/skeletons/twin/prelude.h.inc"
};
const char embedded_exact_math[] = {
#include "embedded/pipeline/skeletons/exact_math.h.inc"
};
const char embedded_main[] = {
#include "embedded/pipeline/skeletons/convert/main.c.in.inc"
};
const char embedded_makefile[] = {
#include "embedded/pipeline/skeletons/convert/Makefile.in.inc"
};
const char embedded_p2p[] = {
#include "embedded/pipeline/skeletons/twin/p2p.h.inc"
};
const char embedded_pixel[] = {
#include "embedded/pipeline/skeletons/twin/pixel.h.inc"
};
const char embedded_n2p[] = {
#include "embedded/pipeline/skeletons/twin/n2p.h.inc"
};
const char embedded_r2s[] = {
#include "embedded/pipeline/skeletons/twin/r2s.h.inc"
};
const char embedded_r2v[] = {
#include "embedded/pipeline/skeletons/twin/r2v.h.inc"
};
