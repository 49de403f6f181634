// Paints the texts of placeholders: a BlurHash (github.com/woltapp/blurhash) and a ThumbHash
// (github.com/evanw/thumbhash), both sums of a few cosines.

const SIDE = 32; // pixels of the longer side

const DIGITS =
    '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~';

/** cos(pi wave (x + offset) / length), by wave and x. */
const cosines = (waves, length, offset) =>
    Array.from({ length: waves }, (_, wave) =>
        Array.from({ length }, (_, x) => Math.cos((Math.PI * wave * (x + offset)) / length)),
    );

const byte = (share) => Math.round(255 * Math.min(1, Math.max(0, share)));

/** PIXEL(x, y) returns red, green, blue and alpha, 0..1. */
function painted(width, height, pixel) {
    const image = new ImageData(width, height);
    for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++)
            image.data.set(pixel(x, y).map(byte), 4 * (y * width + x));
    return image;
}

// ---- BlurHash

const number83 = (text) => [...text].reduce((sum, digit) => 83 * sum + DIGITS.indexOf(digit), 0);

const toLinear = (sample) =>
    sample <= 0.04045 ? sample / 12.92 : ((sample + 0.055) / 1.055) ** 2.4;

const fromLinear = (light) =>
    light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055;

const squared = (value) => Math.sign(value) * value * value;

/** RATIO: width by height of the picture, which the text does not have. */
export function blurhashPixels(text, ratio) {
    const counts = number83(text[0]);
    const across = (counts % 9) + 1,
        down = Math.floor(counts / 9) + 1;
    const most = (number83(text[1]) + 1) / 166;
    const mean = number83(text.slice(2, 6));
    const terms = [[mean >> 16, (mean >> 8) & 255, mean & 255].map((sample) => toLinear(sample / 255))];
    for (let i = 1; i < across * down; i++) {
        const term = number83(text.slice(4 + 2 * i, 6 + 2 * i));
        const parts = [Math.floor(term / 361), Math.floor(term / 19) % 19, term % 19];
        terms.push(parts.map((part) => squared((part - 9) / 9) * most));
    }
    const width = Math.max(1, Math.round(SIDE * Math.min(1, ratio))),
        height = Math.max(1, Math.round(SIDE / Math.max(1, ratio)));
    const alongX = cosines(across, width, 0),
        alongY = cosines(down, height, 0);
    return painted(width, height, (x, y) => {
        const light = [0, 0, 0];
        terms.forEach((term, i) => {
            const wave = alongX[i % across][x] * alongY[Math.floor(i / across)][y];
            term.forEach((part, channel) => (light[channel] += part * wave));
        });
        return [...light.map(fromLinear), 1];
    });
}

// ---- ThumbHash

/** The facts before the terms, of BYTES. */
function thumbhashHead(bytes) {
    const [first, second] = [bytes[0] | (bytes[1] << 8) | (bytes[2] << 16), bytes[3] | (bytes[4] << 8)];
    const hasAlpha = first >> 23 === 1;
    const most = hasAlpha ? 5 : 7; // waves along the longer side
    const sides = second >> 15 ? [most, second & 7] : [second & 7, most];
    return {
        hasAlpha,
        sides,
        luma: [(first & 63) / 63, ((first >> 18) & 31) / 31],
        yellow: [((first >> 6) & 63) / 31.5 - 1, (((second >> 3) & 63) / 63) * 1.25],
        red: [((first >> 12) & 63) / 31.5 - 1, (((second >> 9) & 63) / 63) * 1.25],
        alpha: hasAlpha ? [(bytes[5] & 15) / 15, (bytes[5] >> 4) / 15] : [1, 0],
    };
}

/** The terms of a triangle of waves, [wave across, wave down, factor]...; NEXT reads four bits. */
function triangle(across, down, scale, next) {
    const terms = [];
    for (let v = 0; v < down; v++)
        for (let u = v ? 0 : 1; u * down < across * (down - v); u++)
            terms.push([u, v, (next() / 7.5 - 1) * scale * 2]);
    return terms;
}

export function thumbhashPixels(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const head = thumbhashHead(bytes);
    let at = 2 * (head.hasAlpha ? 6 : 5);
    const next = () => (bytes[at >> 1] >> (4 * (at++ & 1))) & 15;
    const [across, down] = head.sides.map((waves) => Math.max(3, waves));
    const channels = [
        [head.luma[0], triangle(across, down, head.luma[1], next)],
        [head.yellow[0], triangle(3, 3, head.yellow[1], next)],
        [head.red[0], triangle(3, 3, head.red[1], next)],
        [head.alpha[0], head.hasAlpha ? triangle(5, 5, head.alpha[1], next) : []],
    ];
    const ratio = head.sides[0] / head.sides[1];
    const width = Math.round(SIDE * Math.min(1, ratio)),
        height = Math.round(SIDE / Math.max(1, ratio));
    const alongX = cosines(7, width, 0.5),
        alongY = cosines(7, height, 0.5);
    return painted(width, height, (x, y) => {
        const [luma, yellow, red, alpha] = channels.map(([mean, terms]) =>
            terms.reduce((sum, [u, v, factor]) => sum + factor * alongX[u][x] * alongY[v][y], mean),
        );
        const blue = luma - (2 / 3) * yellow;
        const redder = (3 * luma - blue + red) / 2;
        return [redder, redder - red, blue, alpha];
    });
}
