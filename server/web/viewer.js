// Shows one picture, or two with a divider between them, at the same position and zoom. Pixels are
// the screen's unless they are called the picture's; at a zoom of 1 they have the same size.
import { byId } from './element.js';

const ZOOM_MAX = 64;

export class Viewer {
    constructor() {
        this.canvas = byId('canvas');
        this.context = this.canvas.getContext('2d');
        this.divider = byId('divider');
        this.before = null;
        this.after = null;
        this.overlay = null; // drawn over the picture before
        this.names = ['', ''];
        this.split = 0.5; // the divider's position in the width
        this.comparing = true;
        this.fitted = true;
        this.zoom = 1;
        this.centre = [0, 0]; // the picture's point at the canvas's centre
        new ResizeObserver(() => this.resize()).observe(this.canvas);
        this.listen();
    }

    // ---- what is shown

    /**
     * BEFORE: null if there is nothing to compare with. Keeps zoom and position for the same
     * picture.
     */
    show(before, after, names) {
        const first = !this.after;
        this.before = before;
        this.after = after;
        this.names = names ?? this.names;
        if (first || this.fitted) this.fit();
        else this.paint();
    }

    clear() {
        this.before = this.after = null;
        this.fitted = true;
        this.paint();
    }

    get isComparing() {
        return this.comparing && this.before !== null && this.before !== this.after;
    }

    setComparing(on) {
        this.comparing = on;
        if (this.fitted) this.fit();
        else this.paint();
    }

    // ---- place and zoom

    /** The size that contains both pictures. */
    get extent() {
        const shown = this.isComparing ? [this.before, this.after] : [this.after];
        return [
            Math.max(...shown.map((p) => p.fullWidth)),
            Math.max(...shown.map((p) => p.fullHeight)),
        ];
    }

    resize() {
        const ratio = window.devicePixelRatio || 1;
        const width = Math.round(this.canvas.clientWidth * ratio),
            height = Math.round(this.canvas.clientHeight * ratio);
        if (width && height && (width !== this.canvas.width || height !== this.canvas.height)) {
            this.canvas.width = width;
            this.canvas.height = height;
        }
        if (this.fitted) this.fit();
        else this.paint(true);
    }

    fit() {
        this.fitted = true;
        if (this.after) {
            const [width, height] = this.extent;
            this.zoom = Math.min(1, this.canvas.width / width, this.canvas.height / height);
            this.centre = [width / 2, height / 2];
        }
        this.paint();
    }

    get zoomMin() {
        const [width, height] = this.extent;
        return Math.min(1, this.canvas.width / width, this.canvas.height / height) / 4;
    }

    bounded(zoom) {
        return Math.min(ZOOM_MAX, Math.max(this.zoomMin, zoom));
    }

    /** X, Y: the fixed point of the canvas. */
    zoomTo(zoom, x = this.canvas.width / 2, y = this.canvas.height / 2) {
        if (this.after) this.zoomAbout(...this.exactPlace(x, y), this.bounded(zoom), x, y);
    }

    /** PX, PY: the picture's point that is moved to X, Y. */
    zoomAbout(px, py, zoom, x, y) {
        this.fitted = false;
        this.zoom = zoom;
        this.centre = [
            px - (x - this.canvas.width / 2) / zoom,
            py - (y - this.canvas.height / 2) / zoom,
        ];
        this.hold();
        this.paint();
    }

    pan(dx, dy) {
        if (!this.after) return;
        this.fitted = false;
        this.centre = [this.centre[0] - dx / this.zoom, this.centre[1] - dy / this.zoom];
        this.hold();
        this.paint();
    }

    /** Keeps the picture in the window. */
    hold() {
        const [width, height] = this.extent;
        this.centre = [
            Math.min(width, Math.max(0, this.centre[0])),
            Math.min(height, Math.max(0, this.centre[1])),
        ];
    }

    /** The pictures' corner, on a whole pixel of the screen. */
    get corner() {
        return [
            Math.round(this.canvas.width / 2 - this.centre[0] * this.zoom),
            Math.round(this.canvas.height / 2 - this.centre[1] * this.zoom),
        ];
    }

    /** The exact corner, without rounding that would add up over many small steps. */
    exactPlace(x, y) {
        return [
            this.centre[0] + (x - this.canvas.width / 2) / this.zoom,
            this.centre[1] + (y - this.canvas.height / 2) / this.zoom,
        ];
    }

    /** The picture's point under a point of the canvas, as it is painted. */
    place(x, y) {
        const [left, top] = this.corner;
        return [(x - left) / this.zoom, (y - top) / this.zoom];
    }

    // ---- painting

    paint(now = false) {
        if (now) return this.paintNow();
        if (this.waiting) return undefined;
        this.waiting = true;
        requestAnimationFrame(() => this.paintNow());
        return undefined;
    }

    paintNow() {
        this.waiting = false;
        const { context, canvas } = this;
        context.clearRect(0, 0, canvas.width, canvas.height);
        const comparing = this.after !== null && this.isComparing;
        if (this.after) {
            const x = Math.round(this.split * canvas.width);
            if (comparing) this.paintSide(this.before, 0, x);
            if (comparing && this.overlay) this.paintSide(this.overlay, 0, x);
            this.paintSide(this.after, comparing ? x : 0, canvas.width);
        }
        this.showDivider(comparing);
        byId('zoom').textContent = this.after
            ? `${Number((this.zoom * 100).toPrecision(this.zoom < 0.1 ? 2 : 3))} %`
            : '–';
        this.painted?.();
    }

    paintSide(picture, from, to) {
        const { context, canvas } = this;
        context.save();
        context.beginPath();
        context.rect(from, 0, to - from, canvas.height);
        context.clip();
        const [x, y] = this.corner;
        picture.draw(context, x, y, this.zoom);
        context.restore();
    }

    showDivider(on) {
        this.divider.hidden = !on;
        this.divider.style.left = `${this.split * 100}%`;
        this.divider.setAttribute('aria-valuenow', String(Math.round(this.split * 100)));
        for (const [i, side] of ['before', 'after'].entries()) {
            const label = byId(`label-${side}`);
            label.hidden = !on;
            label.textContent = this.names[i];
        }
    }

    // ---- pointer and keys

    listen() {
        const pointers = new Map();
        const at = (event) => {
            const box = this.canvas.getBoundingClientRect(),
                ratio = this.canvas.width / box.width;
            return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
        };
        this.canvas.addEventListener('pointerdown', (event) => {
            this.canvas.setPointerCapture(event.pointerId);
            pointers.set(event.pointerId, at(event));
        });
        this.canvas.addEventListener('pointermove', (event) => {
            const now = at(event),
                before = pointers.get(event.pointerId);
            this.pointed?.(...this.place(...now));
            if (!before) return;
            if (pointers.size === 2 && this.after) this.pinch(pointers, event.pointerId, now);
            else this.pan(now[0] - before[0], now[1] - before[1]);
            pointers.set(event.pointerId, now);
        });
        for (const end of ['pointerup', 'pointercancel'])
            this.canvas.addEventListener(end, (event) => pointers.delete(event.pointerId));
        this.canvas.addEventListener('pointerleave', () => this.pointed?.(NaN, NaN));
        this.canvas.addEventListener(
            'wheel',
            (event) => {
                event.preventDefault();
                this.zoomTo(
                    this.zoom * 2 ** (-event.deltaY / (event.deltaMode ? 6 : 240)),
                    ...at(event),
                );
            },
            { passive: false },
        );
        this.canvas.addEventListener('dblclick', (event) =>
            this.fitted ? this.zoomTo(1, ...at(event)) : this.fit(),
        );
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        this.listenToDivider();
    }

    /** Keeps the point between two fingers between them. */
    pinch(pointers, id, now) {
        const [other] = [...pointers].filter(([key]) => key !== id).map(([, point]) => point);
        const before = pointers.get(id);
        const length = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
        const middle = (point) => [(point[0] + other[0]) / 2, (point[1] + other[1]) / 2];
        const zoom = this.bounded((this.zoom * length(now)) / length(before));
        this.zoomAbout(...this.exactPlace(...middle(before)), zoom, ...middle(now));
    }

    listenToDivider() {
        const { divider } = this;
        const move = (share) => {
            this.split = Math.min(1, Math.max(0, share));
            this.paint();
        };
        divider.addEventListener('pointerdown', (event) =>
            divider.setPointerCapture(event.pointerId),
        );
        divider.addEventListener('pointermove', (event) => {
            if (!divider.hasPointerCapture(event.pointerId)) return;
            const box = this.canvas.getBoundingClientRect();
            move((event.clientX - box.left) / box.width);
        });
        divider.addEventListener('keydown', (event) => {
            const by = {
                ArrowLeft: -0.02,
                ArrowDown: -0.02,
                ArrowRight: 0.02,
                ArrowUp: 0.02,
                PageDown: -0.1,
                PageUp: 0.1,
                Home: -1,
                End: 1,
            }[event.key];
            if (by === undefined) return;
            event.preventDefault();
            move(this.split + by);
        });
    }

    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const step = 60 * (window.devicePixelRatio || 1);
        const actions = {
            ArrowLeft: () => this.pan(step, 0),
            ArrowRight: () => this.pan(-step, 0),
            ArrowUp: () => this.pan(0, step),
            ArrowDown: () => this.pan(0, -step),
            '+': () => this.zoomTo(this.zoom * 1.5),
            '=': () => this.zoomTo(this.zoom * 1.5),
            '-': () => this.zoomTo(this.zoom / 1.5),
            0: () => this.fit(),
            1: () => this.zoomTo(1),
        };
        if (!actions[event.key]) return;
        event.preventDefault();
        actions[event.key]();
    }
}
