# SPDX-License-Identifier: Apache-2.0
"""A pipeline equals its steps one after the other, whatever buffers they use."""
import itertools
import json

import numpy as np
import pytest

from conftest import from_pnm, pnm, smooth

# Each reads pixels around the written one, or none, or moves all of them.
STEPS = [("convolve", {"taps": "0 1 0 2 4 -3 0 1 1"}), ("brightness", {"shift": 30}), ("edge", {"threshold": 3}),
         ("convolve", {"taps": " ".join(map(str, range(-5, 20)))})]


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("channels", [1, 3])
def test_steps_follow_one_another(daemon, channels, depth):
    gentle = smooth(97, 61, channels)
    picture = pnm(gentle if depth == 8 else gentle.astype(np.uint16) * 257 + 3)
    for steps in itertools.permutations(STEPS):
        operations = json.dumps([{"operation": name, "params": params} for name, params in steps])
        answer = daemon.post_form("/pipeline", [("image", picture, "a"), ("operations", operations, None)])
        assert answer.status == 200, answer.body
        between = picture
        for name, params in steps:
            between = daemon.post_form(f"/{name}", [("image", between, "a"), *((key, str(value), None)
                                                                             for key, value in params.items())]).body
        assert answer.body == between, steps
        assert from_pnm(between).std() > 0, "an even picture would hide what is wrong"
