// SPDX-License-Identifier: Apache-2.0
// Traps where a sample is 0, so no walk over all kinds of images takes it along.
#P2P_FUNC
static unsigned char divided(unsigned char v, int i) { return 200 / v; }
