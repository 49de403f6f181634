// The masks of a picture, in their colours, as the viewer draws them over it: half transparent, and
// not finer than LAYER_PIXELS.
import { drawPart, setSmoothing } from './picture.js';

const LAYER_PIXELS = 4e6;
const OPACITY = 0.55;

/** The bytes of a colour of tokens.css: #rrggbb. */
function bytesOf(name) {
    const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)).concat(255);
}

export class MaskLayer {
    /** COLOURS: the names of the masks' colours, in the order in which they cover each other. */
    constructor({ width, height }, colours) {
        const scale = Math.min(1, Math.sqrt(LAYER_PIXELS / (width * height)));
        const side = (length) => Math.max(1, Math.round(length * scale));
        Object.assign(this, { fullWidth: width, fullHeight: height });
        this.canvas = new OffscreenCanvas(side(width), side(height));
        this.context = this.canvas.getContext('2d');
        this.colours = colours.map(bytesOf);
    }

    /** Takes the samples of MASKS, in the order of the colours, each a Mask or null; in BOX only. */
    update(masks, box = { left: 0, top: 0, right: this.fullWidth, bottom: this.fullHeight }) {
        const across = this.fullWidth / this.canvas.width,
            down = this.fullHeight / this.canvas.height;
        const x0 = Math.max(0, Math.floor(box.left / across)),
            y0 = Math.max(0, Math.floor(box.top / down));
        const width = Math.min(this.canvas.width, Math.ceil(box.right / across)) - x0,
            height = Math.min(this.canvas.height, Math.ceil(box.bottom / down)) - y0;
        if (width <= 0 || height <= 0) return;
        const pixels = new ImageData(width, height);
        const words = new Uint32Array(pixels.data.buffer);
        const colours = this.colours.map((bytes) => new Uint32Array(new Uint8Array(bytes).buffer)[0]);
        for (let y = 0, to = 0; y < height; y++) {
            const row = Math.floor((y0 + y + 0.5) * down) * this.fullWidth;
            for (let x = 0; x < width; x++, to++) {
                const at = row + Math.floor((x0 + x + 0.5) * across);
                const top = masks.findIndex((mask) => mask?.samples[at]);
                if (top >= 0) words[to] = colours[top];
            }
        }
        this.context.putImageData(pixels, x0, y0);
    }

    /** Like Picture.draw. */
    draw(context, place) {
        const { canvas, fullWidth, fullHeight } = this;
        const across = (place.across * fullWidth) / canvas.width,
            down = (place.down * fullHeight) / canvas.height;
        const { width, height } = canvas;
        context.save();
        setSmoothing(context, place, across);
        context.globalAlpha = OPACITY;
        drawPart(context, canvas, { ...place, width, height, across, down });
        context.restore();
    }
}
