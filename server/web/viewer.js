// Shows one picture, or two: with a divider between them, or beside each other. Pixels are the
// screen's unless they are called the scene's (scene.js); at a zoom of 1 they have the same size.
import { showBackdrop } from './backdrop.js';
import { byId } from './element.js';
import { aloneScene, besideScene, fittingZoom, overScene, pointIn } from './scene.js';

const ZOOM_MAX = 64;
const BLOCKS = 2; // the zoom from which on pixels are to be seen as such
const SHADE = 0.25; // of the input around the part that the result shows
const LABEL = 8; // between a picture's corner and its label

export class Viewer {
    constructor() {
        this.canvas = byId('canvas');
        this.context = this.canvas.getContext('2d');
        this.divider = byId('divider');
        this.before = null;
        this.after = null;
        this.cover = null; // the rectangle of the picture before that the one after covers
        this.scene = null;
        this.painted = []; // called after painting
        this.overlay = null; // drawn over the picture before
        this.pointers = new Map(); // that are down, by number: their points of the canvas
        this.masks = null; // { layer, side } of the picture that they are drawn over
        this.names = ['', ''];
        this.split = 0.5; // the divider's position in the width
        this.comparing = true;
        this.fitted = true;
        this.zoom = 1;
        this.centre = [0, 0]; // the scene's point at the canvas's centre
        new ResizeObserver(() => this.resize()).observe(this.canvas);
        this.listen();
    }

    // ---- what is shown

    /**
     * BEFORE: null if there is nothing to compare with. COVER: null if the pictures are shown beside
     * each other. Keeps the place of what is shown unless it is fitted.
     */
    show(before, after, { names, cover = null, masks = null }) {
        Object.assign(this, { before, after, cover, masks });
        this.names = names ?? this.names;
        this.arrange();
    }

    clear() {
        this.before = this.after = this.scene = this.masks = null;
        this.fitted = true;
        this.paint();
    }

    get isComparing() {
        return this.comparing && this.before !== null && this.before !== this.after;
    }

    setComparing(on) {
        this.comparing = on;
        this.arrange();
    }

    makeScene() {
        if (!this.isComparing) return aloneScene(this.after);
        if (this.cover) return overScene(this.before, this.cover);
        return besideScene(this.before, this.after, this.canvas);
    }

    arrange() {
        if (!this.after) return this.paint();
        const old = this.scene;
        this.scene = this.makeScene();
        if (!old || this.fitted) this.fit();
        else this.stay(old, this.scene);
        this.showCover();
        return this.paint();
    }

    /** Keeps the picture before in its place, or else the one after. */
    stay(old, scene) {
        if (old.kind === 'alone' && scene.kind === 'alone') return;
        const side = old.before && scene.before ? 'before' : 'after';
        const ratio = scene[side].width / old[side].width;
        const moved = (at, edge) => scene[side][edge] + (at - old[side][edge]) * ratio;
        this.centre = [moved(this.centre[0], 'left'), moved(this.centre[1], 'top')];
        this.zoom = this.bounded(this.zoom / ratio);
        this.hold();
    }

    /** Moves the divider onto the part that the result shows, if it is beside it. */
    showCover() {
        const { kind, after, width } = this.scene;
        if (kind !== 'over' || after.width >= width) return;
        const share = (x) => (this.corner[0] + x * this.zoom) / this.canvas.width;
        const from = share(after.left),
            to = share(after.left + after.width);
        if (this.split > from && this.split < to) return;
        this.split = Math.min(1, Math.max(0, (from + to) / 2));
    }

    // ---- place and zoom

    resize() {
        const ratio = window.devicePixelRatio || 1;
        const width = Math.round(this.canvas.clientWidth * ratio),
            height = Math.round(this.canvas.clientHeight * ratio);
        if (width && height && (width !== this.canvas.width || height !== this.canvas.height)) {
            this.canvas.width = width;
            this.canvas.height = height;
        }
        if (this.fitted) this.arrange();
        else this.paint(true);
    }

    fit() {
        this.fitted = true;
        if (this.scene) {
            this.zoom = fittingZoom(this.scene, this.canvas);
            this.centre = [this.scene.width / 2, this.scene.height / 2];
        }
        this.paint();
    }

    bounded(zoom) {
        return Math.min(ZOOM_MAX, Math.max(fittingZoom(this.scene, this.canvas) / 4, zoom));
    }

    /** X, Y: the fixed point of the canvas. */
    zoomTo(zoom, x = this.canvas.width / 2, y = this.canvas.height / 2) {
        if (this.scene) this.zoomAbout(...this.exactPlace(x, y), this.bounded(zoom), x, y);
    }

    /** PX, PY: the scene's point that is moved to X, Y. */
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
        if (!this.scene) return;
        this.fitted = false;
        this.centre = [this.centre[0] - dx / this.zoom, this.centre[1] - dy / this.zoom];
        this.hold();
        this.paint();
    }

    /** Keeps the pictures in the window. */
    hold() {
        const { width, height } = this.scene;
        this.centre = [
            Math.min(width, Math.max(0, this.centre[0])),
            Math.min(height, Math.max(0, this.centre[1])),
        ];
    }

    /** The scene's corner, on a whole pixel of the screen. */
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

    /** The scene's point under one of the canvas, as the pictures are painted. */
    scenePoint(x, y) {
        const [left, top] = this.corner;
        return [(x - left) / this.zoom, (y - top) / this.zoom];
    }

    /** The points of both pictures under a point of the canvas; or null. */
    under(x, y) {
        const point = this.scenePoint(x, y);
        const of = (side) => this.scene?.[side] && pointIn(this.scene[side], this[side], point);
        return { before: of('before'), after: of('after'), isLeft: x < this.dividerX };
    }

    get dividerX() {
        return Math.round(this.split * this.canvas.width);
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
        const scene = this.after && this.scene;
        if (scene?.kind === 'over') this.paintOver();
        else if (scene) this.paintApart();
        this.showDivider(scene?.kind === 'over');
        this.showLabels(scene);
        byId('zoom').textContent = scene
            ? `${Number((this.zoom * 100).toPrecision(this.zoom < 0.1 ? 2 : 3))} %`
            : '';
        this.showFrames(scene);
        for (const act of this.painted) act();
    }

    paintOver() {
        const { width } = this.canvas;
        const x = this.dividerX;
        this.within([[0, 0, x, this.canvas.height]], () => {
            this.paintSide('before');
        });
        this.within([[x, 0, width - x, this.canvas.height]], () => {
            this.paintAround(x);
            this.paintSide('after');
        });
    }

    /** Shades the input around the part that the result shows. */
    paintAround(x) {
        const { left, top, width, height } = this.onCanvas(this.scene.after);
        const all = [x, 0, this.canvas.width - x, this.canvas.height];
        this.within([all, [left, top, width, height]], () => {
            this.context.globalAlpha = SHADE;
            this.paintPicture('before', this.before);
        });
    }

    paintApart() {
        if (this.scene.before) this.paintSide('before');
        this.paintSide('after');
    }

    /** Paints a picture and what lies over it. */
    paintSide(side) {
        this.paintPicture(side, this[side]);
        if (side === 'before' && this.overlay) this.paintPicture(side, this.overlay);
        if (side === this.masks?.side) this.paintPicture(side, this.masks.layer);
    }

    /** Paints within the first of the rectangles, without the second. */
    within(rectangles, paint) {
        const { context } = this;
        context.save();
        context.beginPath();
        for (const rectangle of rectangles) context.rect(...rectangle);
        context.clip('evenodd');
        paint();
        context.restore();
    }

    onCanvas(rectangle) {
        const [left, top] = this.corner;
        return {
            left: left + rectangle.left * this.zoom,
            top: top + rectangle.top * this.zoom,
            width: rectangle.width * this.zoom,
            height: rectangle.height * this.zoom,
        };
    }

    paintPicture(side, picture) {
        const { left, top, width, height } = this.onCanvas(this.scene[side]);
        const lies = side === 'after' && this.scene.kind === 'over';
        picture.draw(this.context, {
            left: lies ? left : Math.round(left),
            top: lies ? top : Math.round(top),
            across: width / picture.fullWidth,
            down: height / picture.fullHeight,
            blocks: this.zoom >= BLOCKS,
        });
    }

    showFrames(scene) {
        const ratio = this.canvas.width / this.canvas.clientWidth || 1;
        const frame = (rectangle) => rectangle && this.onCanvas(rectangle);
        const frames = { before: frame(scene?.before), after: frame(scene?.after) };
        showBackdrop(frames, scene?.kind === 'over' ? this.dividerX : null, ratio);
    }

    showDivider(on) {
        this.divider.hidden = !on;
        this.divider.style.left = `${this.split * 100}%`;
        this.divider.setAttribute('aria-valuenow', String(Math.round(this.split * 100)));
    }

    /** At the window's upper corners, or at the corner of each of two pictures beside each other. */
    showLabels(scene) {
        const ratio = this.canvas.width / this.canvas.clientWidth || 1;
        for (const [i, side] of ['before', 'after'].entries()) {
            const label = byId(`label-${side}`);
            label.hidden = !scene?.before;
            label.textContent = this.names[i];
            label.style.left = label.style.top = label.style.right = '';
            if (scene?.kind !== 'beside') continue;
            const { left, top } = this.onCanvas(scene[side]);
            const most = this.canvas.clientWidth - label.offsetWidth - LABEL;
            label.style.left = `${Math.max(LABEL, Math.min(left / ratio + LABEL, most))}px`;
            label.style.top = `${Math.max(LABEL, top / ratio + LABEL)}px`;
            label.style.right = 'auto';
        }
    }

    // ---- pointer and keys

    /** The point of the canvas under a pointer. */
    placeOf({ clientX, clientY }) {
        const box = this.canvas.getBoundingClientRect(),
            ratio = this.canvas.width / box.width;
        return [(clientX - box.left) * ratio, (clientY - box.top) * ratio];
    }

    listen() {
        const { pointers } = this;
        const at = (event) => this.placeOf(event);
        this.canvas.addEventListener('pointerdown', (event) => {
            this.canvas.setPointerCapture(event.pointerId);
            pointers.set(event.pointerId, at(event));
        });
        this.canvas.addEventListener('pointermove', (event) => {
            const now = at(event),
                before = pointers.get(event.pointerId);
            this.pointed?.(this.under(...now));
            if (!before) return;
            if (pointers.size === 2 && this.scene) this.pinch(pointers, event.pointerId, now);
            else this.pan(now[0] - before[0], now[1] - before[1]);
            pointers.set(event.pointerId, now);
        });
        for (const end of ['pointerup', 'pointercancel'])
            this.canvas.addEventListener(end, (event) => pointers.delete(event.pointerId));
        this.canvas.addEventListener('pointerleave', () => this.pointed?.(null));
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
