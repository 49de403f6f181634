# SPDX-License-Identifier: Apache-2.0
"""Values that are words: names of colours, and percentages of a side.

covers: pipeline/colour_names.c
"""
import json
import re
import urllib.parse

import numpy as np
from PIL import ImageColor

from conftest import check_problem, from_pnm, needs, noise, pnm


@needs("resize")
def test_every_name_of_a_colour(daemon):
    """As Pillow knows them, and as the pattern of OpenAPI allows them."""
    pattern = daemon.get("/openapi.json").json["components"]["parameters"]["background"]["schema"]["pattern"]
    assert len(ImageColor.colormap) == 148
    for name in ImageColor.colormap:
        answer = daemon.post(f"/resize?width=1&height=3&fit=contain&background={name}", pnm(noise(1, 1, 3)))
        assert from_pnm(answer.body)[0, 0].tolist() == list(ImageColor.getrgb(name)), name
        assert re.search(pattern, name)
    check_problem(daemon.post("/resize?width=1&background=redd", pnm(noise(1, 1, 3))), 400, "CSS colour name")


@needs("crop")
def test_percentages(daemon):
    """In the query, as a form's field, in operations, where they are of each step's image, and of several results."""
    image = noise(60, 40, 3)
    answer = daemon.post("/crop?width=25%25&height=50%25", pnm(image))
    assert from_pnm(answer.body).shape == (20, 15, 3)
    steps = [{"operation": "crop", "params": {"width": "50%"}}, {"operation": "crop", "params": {"width": "10%", "height": "30%"}}]
    answer = daemon.post("/pipeline?operations=" + urllib.parse.quote(json.dumps(steps)), pnm(image))
    assert np.array_equal(from_pnm(answer.body), image[14:26, 28:31])
    check_problem(daemon.post("/crop?width=0%25", pnm(image)), 400, "width must be 1..65535, and 0% of 60 pixels is 0")
    check_problem(daemon.post("/crop?width=100001%25", pnm(image)), 400, "1..65535 or a percentage up to 100000%")
    check_problem(daemon.post("/histeq?bins=5%25", pnm(image)), 400, "bins must be an integer")
