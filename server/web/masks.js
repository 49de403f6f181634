// The masks of the step that takes files: read from its files, painted, and kept as its files.
import { failed } from './connection.js';
import { isSameFrame, madeFor, Mask, readMask, SET } from './mask.js';
import { MaskLayer } from './mask_layer.js';
import { page, stepList } from './page.js';
import { fileStep, neededParts } from './plan.js';

/** The kind of a mask, which has a colour; any part but `rmask` is as `mask`. */
export const kindOf = (part) => (part === 'rmask' ? 'remove' : 'keep');

export class Masks {
    constructor() {
        this.layer = null;
        this.frame = null; // of the picture that the step gets: see frameOf
        this.held = new Map(); // by part: { file, mask, changed }; mask: null if there is none
        this.keeping = Promise.resolve(); // the work of earlier strokes
    }

    /** The step that takes masks, if the plan's files are masks. */
    get step() {
        const step = fileStep(stepList.active);
        return step && !neededParts(step).length ? step : undefined;
    }

    get parts() {
        return this.step.operator.parts.map(({ name }) => name);
    }

    /** Reads the files after a change of the plan or of the picture. SHOWN is called when done. */
    async follow(shown) {
        const { step } = this;
        const frame = step && stepList.sizeBefore(step);
        if (!frame) return void this.drop();
        if (!this.layer || !isSameFrame(this.frame, frame)) {
            this.held.clear();
            this.frame = frame;
            this.layer = new MaskLayer(frame, this.parts.map((part) => `--mask-${kindOf(part)}`));
        }
        const { layer } = this;
        const isHeld = (part) => this.held.has(part) && this.held.get(part).file === step.files[part];
        const changed = this.parts.filter((part) => !isHeld(part));
        await Promise.all(changed.map((part) => this.read(part, step.files[part], frame)));
        if (layer !== this.layer || !changed.length) return;
        this.draw();
        shown();
    }

    async read(part, file, frame) {
        const held = { file, mask: null, changed: false };
        this.held.set(part, held);
        if (file) held.mask = await readMask(file, frame).catch(() => null);
    }

    drop() {
        this.layer = null;
        this.held.clear();
    }

    draw(box) {
        this.layer.update(this.parts.map((part) => this.held.get(part)?.mask), box);
    }

    // ---- painting

    /** A pixel is in one mask at most; PART null: in none. P, Q: see Mask.stroke. */
    stroke(part, p, q, radius) {
        const { fullWidth: width, fullHeight: height } = this.layer;
        for (const name of this.parts) {
            const held = this.held.get(name);
            if (name === part) held.mask ??= new Mask({ width, height });
            const value = name === part ? SET : 0;
            if (held.mask?.stroke(p, q, radius, value)) held.changed = true;
        }
        const ends = (i) => [Math.min(p[i], q[i]) - radius, Math.max(p[i], q[i]) + radius];
        const [[left, right], [top, bottom]] = [ends(0), ends(1)];
        this.draw({ left, top, right, bottom });
    }

    /** Takes back what is not kept yet. */
    discard(shown) {
        for (const [part, { changed }] of this.held) if (changed) this.held.delete(part);
        this.follow(shown);
    }

    clear() {
        for (const held of this.held.values()) Object.assign(held, { mask: null, changed: true });
        this.draw();
    }

    /**
     * Makes files of what has been painted: one edit, in the order of the strokes. A plan that has
     * come meanwhile, as by the browser's Back, has other files, and does not get them.
     */
    keep() {
        const { layer, frame } = this;
        const { files } = this.step;
        const painted = this.parts
            .map((part) => [part, this.held.get(part)])
            .filter(([, held]) => held.changed);
        const writing = painted.map(async ([part, held]) => {
            held.changed = false;
            const isEmpty = !held.mask || held.mask.isEmpty;
            const file = isEmpty ? undefined : await held.mask.file(fileName(part));
            if (file) madeFor(file, frame);
            return [part, held, file];
        });
        const take = ([, ...written]) => {
            if (!written.length || layer !== this.layer) return;
            const isSame = files === this.step?.files;
            for (const [part, held, file] of written) {
                if (this.held.get(part) !== held) continue;
                if (!isSame) this.held.delete(part);
                else if (file) files[part] = file;
                else delete files[part];
                held.file = file;
            }
            if (isSame) page.changed(false);
            else page.brush.changed();
        };
        this.keeping = Promise.all([this.keeping, ...writing])
            .then(take)
            .catch((error) => {
                for (const [, held] of painted) held.changed = true; // the next stroke tries again
                failed(error);
            });
    }
}

/** For example beach-rmask.png. */
const fileName = (part) => `${page.input.name.replace(/\.[^.]*$/, '')}-${part}.png`;
