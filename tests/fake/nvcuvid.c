// SPDX-License-Identifier: Apache-2.0
/* A library that answers as libnvcuvid does. A frame's address says which picture it is. A call
 * that an engine would not survive is a fault. */
#include "tests/fake/nvcuvid.h"

#include <string.h>

struct fake fake;

static struct fake_session *session_of(CUvideodecoder decoder) {
    struct fake_session *session = (struct fake_session *)decoder;
    if (session < fake.sessions || session >= fake.sessions + FAKE_SESSIONS || !session->open) {
        fake.faults++;
        return fake.sessions;
    }
    return session;
}

CUresult cuvidGetDecoderCaps(CUVIDDECODECAPS *caps) {
    fake.faults += caps->eCodecType != cudaVideoCodec_HEVC;
    caps->bIsSupported = (unsigned char)fake.supported;
    caps->nNumNVDECs = (unsigned char)fake.engines;
    return CUDA_SUCCESS;
}

CUresult cuvidCreateDecoder(CUvideodecoder *decoder, CUVIDDECODECREATEINFO *info) {
    int i = 0;
    while (i < FAKE_SESSIONS - 1 && fake.sessions[i].open) i++;
    fake.create_calls++;
    if (fake.creates_allowed <= 0) return CUDA_ERROR_UNKNOWN;
    fake.creates_allowed--;
    fake.created++;
    fake.sessions[i] = (struct fake_session){ .open = true, .info = *info };
    for (int s = 0; s < FAKE_SURFACES; s++) fake.sessions[i].submitted[s] = -1;
    fake.faults += info->ulNumDecodeSurfaces > FAKE_SURFACES || info->ulNumOutputSurfaces < 1;
    *decoder = (CUvideodecoder)&fake.sessions[i];
    return CUDA_SUCCESS;
}

CUresult cuvidDestroyDecoder(CUvideodecoder decoder) {
    struct fake_session *session = session_of(decoder);
    for (int s = 0; s < FAKE_SURFACES; s++) fake.faults += session->mapped[s];
    session->open = false;
    fake.destroyed++;
    return CUDA_SUCCESS;
}

CUresult cuvidDecodePicture(CUvideodecoder decoder, CUVIDPICPARAMS *picture) {
    struct fake_session *session = session_of(decoder);
    const int surface = picture->CurrPicIdx, number = fake.pictures++;
    if (surface < 0 || (unsigned long)surface >= session->info.ulNumDecodeSurfaces ||
        session->mapped[surface] || picture->nNumSlices != 1 || picture->pSliceDataOffsets[0]) {
        fake.faults++;
        return CUDA_ERROR_UNKNOWN;
    }
    if (number == fake.undecodable) return CUDA_ERROR_UNKNOWN;
    session->submitted[surface] = number;
    fake.picture = *picture;
    fake.parameters = picture->CodecSpecific.hevc;
    memcpy(fake.bytes, picture->pBitstreamData,
           picture->nBitstreamDataLen < sizeof fake.bytes ? picture->nBitstreamDataLen
                                                          : sizeof fake.bytes);
    return CUDA_SUCCESS;
}

CUresult cuvidGetDecodeStatus(CUvideodecoder decoder, int surface, CUVIDGETDECODESTATUS *status) {
    struct fake_session *session = session_of(decoder);
    fake.faults += !session->mapped[surface];
    status->decodeStatus = session->submitted[surface] == fake.damaged ? cuvidDecodeStatus_Error
                                                                       : cuvidDecodeStatus_Success;
    return CUDA_SUCCESS;
}

CUresult cuvidMapVideoFrame64(CUvideodecoder decoder, int surface, unsigned long long *address,
                              unsigned *pitch, CUVIDPROCPARAMS *how) {
    struct fake_session *session = session_of(decoder);
    unsigned long mapped = 1;
    for (int s = 0; s < FAKE_SURFACES; s++) mapped += session->mapped[s];
    if (session->submitted[surface] < 0 || session->mapped[surface] || !how->progressive_frame ||
        mapped > session->info.ulNumOutputSurfaces) {
        fake.faults++;
        return CUDA_ERROR_UNKNOWN;
    }
    if (session->submitted[surface] == fake.unmappable) return CUDA_ERROR_UNKNOWN;
    session->mapped[surface] = true;
    fake.mapped++;
    if (fake.mapped > fake.most_mapped) fake.most_mapped = fake.mapped;
    *address = ((unsigned long long)session->submitted[surface] + 1) << 32;
    *pitch = 1024;
    return CUDA_SUCCESS;
}

CUresult cuvidUnmapVideoFrame64(CUvideodecoder decoder, unsigned long long address) {
    struct fake_session *session = session_of(decoder);
    for (int s = 0; s < FAKE_SURFACES; s++) {
        if (!session->mapped[s] || address >> 32 != (unsigned long long)session->submitted[s] + 1)
            continue;
        session->mapped[s] = false;
        fake.mapped--;
        return CUDA_SUCCESS;
    }
    fake.faults++;
    return CUDA_ERROR_UNKNOWN;
}
