// Counts of the 256 levels of a picture, by channel: HSV value, luma as in Burin, red, green, blue.

const channels = ['value', 'luma', 'red', 'green', 'blue'];

export function newCounts() {
    const counts = { transparent: false, gray: true };
    for (const channel of channels) counts[channel] = new Uint32Array(256);
    return counts;
}

/** Adds RGBA samples. A picture is gray if the samples of every pixel are equal. */
export function countStrip(counts, data) {
    const { value, luma, red, green, blue } = counts;
    let coloured = 0;
    let opaque = 255;
    for (let i = 0; i < data.length; i += 4) {
        const r = data[i],
            g = data[i + 1],
            b = data[i + 2];
        red[r]++;
        green[g]++;
        blue[b]++;
        const higher = r > g ? r : g;
        value[higher > b ? higher : b]++;
        luma[(77 * r + 150 * g + 29 * b + 128) >> 8]++;
        coloured |= (r ^ g) | (g ^ b);
        opaque &= data[i + 3];
    }
    if (coloured) counts.gray = false;
    if (opaque !== 255) counts.transparent = true;
    return counts;
}
