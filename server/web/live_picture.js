// A picture whose width can be set: its pixels are assembled when it is drawn, so at most one width
// per frame, however often it was set.
import { drawPart, setSmoothing } from './picture.js';
import { retarget } from './retarget.js';

export class LivePicture {
    /**
     * PLAN: see retarget.js. SCALE: its pixels per pixel of the full picture. UNIT: see Picture.
     */
    constructor(plan, { scale, unit }) {
        this.plan = plan;
        this.scale = scale;
        this.unit = unit;
        this.name = 'Live';
        this.width = plan.width;
        this.height = plan.height;
        this.words = new Uint32Array((plan.width + plan.most) * plan.height + 1);
        this.canvas = new OffscreenCanvas(plan.width, plan.height);
        this.context = this.canvas.getContext('2d');
        this.made = 0; // the width on the canvas
        this.ms = 0; // the time it took
    }

    /** Does nothing: unlike other pictures, this one is shown again later. */
    close() {}

    get fullWidth() {
        return this.width * this.unit[0];
    }

    get fullHeight() {
        return this.height * this.unit[1];
    }

    /** In pixels of the full picture: the smallest and largest width, and the unchanged one. */
    get range() {
        const { width, most } = this.plan;
        const full = (pixels) => Math.max(1, Math.round(pixels / this.scale));
        return { min: full(width - most), max: full(width + most), now: full(width) };
    }

    /** FULL: in pixels of the full picture. Returns false if it is out of range. */
    setWidth(full) {
        const width = Math.round(full * this.scale);
        if (!(Math.abs(width - this.plan.width) <= this.plan.most) || width < 1) return false;
        this.width = width;
        return true;
    }

    make() {
        if (this.made === this.width) return;
        const start = performance.now();
        retarget(this.plan, this.width, this.words);
        const bytes = new Uint8ClampedArray(this.words.buffer, 0, 4 * this.width * this.height);
        this.canvas.width = this.width; // not wider: smoothing would include pixels beside it
        this.context.putImageData(new ImageData(bytes, this.width, this.height), 0, 0);
        this.made = this.width;
        this.ms = performance.now() - start;
    }

    /** The same as in Picture. */
    draw(context, place) {
        this.make();
        const across = place.across * this.unit[0],
            down = place.down * this.unit[1];
        setSmoothing(context, place, across);
        const { width, height } = this;
        drawPart(context, this.canvas, { ...place, width, height, across, down });
    }

    /** The same as in Picture. */
    pixel(x, y) {
        const column = Math.floor(x / this.unit[0]),
            row = Math.floor(y / this.unit[1]);
        if (column < 0 || row < 0 || column >= this.width || row >= this.height) return null;
        this.make();
        return new Uint8ClampedArray(this.words.buffer, 4 * (row * this.width + column), 4);
    }
}
