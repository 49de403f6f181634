// SPDX-License-Identifier: Apache-2.0
// The listings of the 2017 paper (Boeira, Ribeiro and others), code listings 3, 8 and 10, as they stand there.
#STRUCT typedef struct{ int tolerancia; } data; #P2P_FUNC static unsigned char binarizador(unsigned char pixel, int index, data parametro){ return pixel + parametro.tolerancia > 127 ? 255 : 0 ; }
#R2S_FUNC static T menor(E pixel1, E pixel2) { return pixel1 < pixel2 ? pixel1 : pixel2; }
#R2V_FUNC static void r2vProcessor(unsigned char entrada, int* saida, int bins){ atomicAdd(&saida[entrada], 1);}
