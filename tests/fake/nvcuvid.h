// SPDX-License-Identifier: Apache-2.0
/* nvcuvid.h - a video engine that decodes nothing, as its test sets and sees it. */
#ifndef BURIN_FAKE_NVCUVID_H
#define BURIN_FAKE_NVCUVID_H

#include <stdbool.h>
#include <stdint.h>

#include <ffnvcodec/dynlink_cuda.h>

#include <ffnvcodec/dynlink_cuviddec.h>

enum { FAKE_SESSIONS = 64, FAKE_SURFACES = 32, FAKE_PICTURES = 512, FAKE_HEIGHT = 512 };

struct fake_session {
    bool open;
    CUVIDDECODECREATEINFO info;
    int submitted[FAKE_SURFACES]; /* the picture's number, by surface; -1: none */
    bool mapped[FAKE_SURFACES];
};

struct fake {
    /* set by the test */
    int engines, supported, creates_allowed;
    int damaged, unmappable, undecodable; /* the picture of that number; -1: none */
    /* seen by it */
    struct fake_session sessions[FAKE_SESSIONS];
    int created, create_calls, destroyed, pictures, mapped, most_mapped, faults;
    CUVIDHEVCPICPARAMS parameters; /* of the last picture */
    CUVIDPICPARAMS picture;
    unsigned char bytes[64]; /* of its slice */
};

#endif
