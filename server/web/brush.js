// Paints masks on the picture that the step gets (bench.js): the brush, its bar over the picture, and the
// buttons in the step's form. Each stroke is one edit.
import { byId, element } from './element.js';
import { saveBlob } from './files.js';
import { fitted, madeFor, noteOn } from './mask.js';
import { fileField, maskField } from './mask_field.js';
import { kindOf, Masks } from './masks.js';
import { page, stepList, viewer } from './page.js';
import { showPictures } from './stages.js';

const SHARE = 0.06; // of the picture's shorter side: the brush's diameter at first
const SHARE_MAX = 0.5;

const words = {
    mask: { verb: 'what to keep', title: 'Keep' },
    rmask: { verb: 'what to remove', title: 'Remove' },
};
const wordsOf = (part) => words[part] ?? { verb: part, title: part };

export class Brush {
    constructor() {
        this.masks = new Masks();
        this.part = null; // what a stroke sets; null: it clears
        this.from = null; // the part whose button has begun the painting
        this.stroke = null; // { id, last } while the pointer is down
        this.diameter = 1;
        this.bar = element('div', { className: 'painting', role: 'group', hidden: true });
        this.bar.setAttribute('aria-label', 'Painting');
        this.ring = element('div', { className: 'ring', hidden: true });
        byId('view').append(this.ring, this.bar);
        this.listen();
    }

    // ---- on and off

    get step() {
        return this.masks.step;
    }

    get layer() {
        return this.masks.layer;
    }

    get isOn() {
        return page.bench.tool === this;
    }

    /** Paints a part of a step by OPERATOR, which is added for TASK if no step takes files. */
    begin(operator, part, task) {
        if (!this.step) stepList.add(operator, { task });
        if (page.input && this.step) this.start(part);
    }

    async start(part) {
        const { isOn } = this;
        if (!(await page.bench.enter(this))) return;
        if (!isOn) await this.masks.follow(() => {});
        if (!this.isOn) return; // left meanwhile
        if (!this.layer) return page.bench.leave();
        const { fullWidth, fullHeight } = this.layer;
        if (!isOn) this.diameter = Math.ceil(SHARE * Math.min(fullWidth, fullHeight));
        this.from = part;
        this.choose(part);
    }

    choose(part) {
        this.part = part;
        this.drawBar();
        stepList.refresh();
        showPictures();
    }

    /** The bench is left. Returns what gets the focus; null: it stays. */
    left() {
        const inside = this.bar.contains(document.activeElement);
        this.stroke = null;
        this.bar.hidden = this.ring.hidden = true;
        byId('view').classList.remove('paints');
        return inside ? `.mask:has([name="${this.from}"]) .paint` : null;
    }

    /** After a change of the plan or of the picture. */
    changed() {
        this.masks.follow(() => {
            stepList.refresh(); // the files' sizes are known
            showPictures();
        });
    }

    /** The masks as the viewer shows them over a picture after COUNT steps; null: not over that. */
    layerAfter(count) {
        const { step, layer } = this.masks;
        return step && stepList.active.indexOf(step) === count ? layer : null;
    }

    // ---- the bar

    drawBar() {
        const had = this.bar.contains(document.activeElement) ? document.activeElement.name : '';
        const choice = (part, text) =>
            element(
                'button',
                {
                    type: 'button',
                    name: `paint-${part ?? 'none'}`,
                    className: part ? `paint ${kindOf(part)}` : 'erase',
                    'aria-pressed': String(this.part === part),
                    onclick: () => this.choose(part),
                },
                text,
            );
        const { fullWidth, fullHeight } = this.layer;
        const size = element('input', {
            type: 'range',
            name: 'brush-size',
            min: 1,
            max: Math.ceil(SHARE_MAX * Math.min(fullWidth, fullHeight)),
            step: 1,
            'aria-label': 'Size of the brush',
        });
        size.value = this.diameter;
        size.addEventListener('input', () => (this.diameter = Number(size.value)));
        const act = (text, name, onclick) => element('button', { type: 'button', name, onclick }, text);
        this.bar.replaceChildren(
            ...this.masks.parts.toReversed().map((part) => choice(part, wordsOf(part).title)),
            choice(null, 'Erase'),
            element('label', {}, 'Brush ', size),
            act('Clear', 'clear', () => (this.masks.clear(), this.masks.keep())),
            act('Done', 'done', () => page.bench.leave()),
        );
        this.bar.hidden = false;
        byId('view').classList.add('paints');
        (this.bar.querySelector(`[name="${had}"]`) ?? size).focus();
    }

    // ---- the pointer

    /** The point of the picture under an event, with fractions; may be outside. */
    pointOf(event) {
        const [x, y] = viewer.scenePoint(...viewer.placeOf(event));
        const { fullWidth, fullHeight } = this.layer;
        const { width, height } = viewer.scene;
        return [(x / width) * fullWidth, (y / height) * fullHeight];
    }

    /** A second finger is down: both move the picture, and the stroke is none. */
    handOver() {
        viewer.pointers.set(this.stroke.id, this.stroke.place);
        this.stroke = null;
        this.masks.discard(() => viewer.paint());
    }

    paintTo(event) {
        this.stroke.place = viewer.placeOf(event);
        const to = this.pointOf(event);
        this.masks.stroke(this.part, this.stroke.last, to, this.diameter / 2);
        this.stroke.last = to;
        viewer.paint();
    }

    showRing(event) {
        const box = byId('view').getBoundingClientRect();
        const scale = (viewer.scene.width / this.layer.fullWidth) * viewer.zoom;
        const side = (this.diameter * scale) / (window.devicePixelRatio || 1);
        this.ring.hidden = false;
        this.ring.style.width = this.ring.style.height = `${side}px`;
        this.ring.style.left = `${event.clientX - box.left - side / 2}px`;
        this.ring.style.top = `${event.clientY - box.top - side / 2}px`;
    }

    /** Before the viewer, which moves the picture. */
    listen() {
        const on = (name, act) =>
            byId('view').addEventListener(
                name,
                (event) => this.isOn && event.target === viewer.canvas && act(event),
                { capture: true },
            );
        on('pointerdown', (event) => {
            if (this.stroke) return this.handOver();
            if (event.button !== 0 || viewer.pointers.size) return;
            event.stopPropagation();
            viewer.canvas.setPointerCapture(event.pointerId);
            this.stroke = { id: event.pointerId, last: this.pointOf(event) };
            this.paintTo(event);
        });
        on('pointermove', (event) => {
            this.showRing(event);
            if (this.stroke?.id !== event.pointerId) return;
            event.stopPropagation();
            const parts = event.getCoalescedEvents?.() ?? [];
            for (const part of parts.length ? parts : [event]) this.paintTo(part);
        });
        for (const name of ['pointerup', 'pointercancel'])
            on(name, (event) => {
                if (this.stroke?.id !== event.pointerId) return;
                this.stroke = null;
                this.masks.keep();
            });
        on('pointerout', () => (this.ring.hidden = true));
        on('dblclick', (event) => event.stopPropagation());
    }

    // ---- in the step's form

    field(step, part) {
        const { name } = part;
        const choose = (file) => this.takeFile(step, name, file);
        const remove = () => this.takeFile(step, name, null);
        if (part.kind === 'picture')
            return fileField(part, step, { choose, remove, note: () => '', buttons: [], refresh() {} });
        return maskField(part, step, {
            kind: kindOf(name),
            verb: wordsOf(name).verb,
            canPaint: () => page.input !== null,
            isPainted: () => this.isOn && this.part === name,
            note: (file) => noteOn(file, stepList.sizeBefore(step)),
            paint: () => (this.isOn && this.part === name ? page.bench.leave() : this.start(name)),
            save: () => this.saveFile(step, name),
            choose,
            remove,
        });
    }

    async saveFile(step, name) {
        const file = step.files[name];
        const frame = stepList.sizeBefore(step);
        saveBlob(frame ? await fitted(file, frame) : file, file.name);
    }

    /** Replaces the part's file by FILE; null: removes it. */
    takeFile(step, name, file) {
        if (file) {
            madeFor(file, stepList.sizeBefore(step));
            step.files[name] = file;
        } else delete step.files[name];
        page.changed(false);
    }
}
