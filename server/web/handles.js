// Handles on the picture that a step gets: for what it cuts out, the size it carves to, or the point
// it keeps. They write the step's fields, and follow them. A drag is one edit.
import { byId, element } from './element.js';
import { moved, shapeOf } from './grips.js';
import { page, stepList, viewer } from './page.js';
import { showPictures } from './stages.js';

const FAR = 10; // pixels for an arrow key with Shift
const GRIPS = ['', 'nw', 'n', 'ne', 'e', 'se', 's', 'sw', 'w'];
const edgeNames = { n: 'upper', e: 'right', s: 'lower', w: 'left' };

const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** For example "lower right corner". */
function nameOf(edges) {
    if (!edges) return 'the whole';
    const names = [...edges].map((edge) => edgeNames[edge]).join(' ');
    return `${names} ${edges.length > 1 ? 'corner' : 'edge'}`;
}

export class Handles {
    constructor() {
        this.index = -1; // of the step in the list
        this.operator = null; // of that step
        this.layer = null; // nothing is drawn over the picture by the viewer
        this.drag = null; // { edges, from, rectangle } while the pointer is down
        this.done = element('button', { type: 'button', name: 'done', onclick: () => page.bench.leave() }, 'Done');
        this.hint = element('span', { className: 'hint' });
        const bar = { className: 'painting', role: 'group', hidden: true };
        this.bar = element('div', bar, this.hint, this.done);
        this.bar.setAttribute('aria-label', 'Handles');
        this.box = element('div', { className: 'cut', hidden: true });
        byId('view').append(this.box, this.bar);
        viewer.painted.push(() => this.place());
    }

    /** Undefined: it is off, or another one has its place. */
    get step() {
        const step = stepList.steps[this.index];
        return step?.operator === this.operator && !step.off ? step : undefined;
    }

    get shape() {
        return shapeOf(this.step);
    }

    get size() {
        return stepList.sizeBefore(this.step);
    }

    get isOn() {
        return page.bench.tool === this;
    }

    // ---- on and off

    async start(step) {
        page.bench.leave();
        this.index = stepList.steps.indexOf(step);
        this.operator = step.operator;
        if (!(await page.bench.enter(this))) return;
        this.hint.textContent = this.shape.isPoint
            ? 'Drag the point onto what is to stay'
            : 'Drag the edges, the corners, or the whole';
        this.bar.hidden = false;
        stepList.refresh();
        showPictures();
        this.place();
        this.box.querySelector('button').focus();
    }

    /** Returns what gets the focus; null: it stays. */
    left() {
        const inside = this.bar.contains(document.activeElement);
        const button = `li:nth-child(${this.index + 1}) .adjust button`;
        this.box.hidden = this.bar.hidden = true;
        this.drag = null;
        return inside ? button : null;
    }

    /** The button in a step's form; null: the operator has no handles. */
    control(step) {
        if (!shapeOf(step)) return null;
        const toggle = () => (this.isOn && this.step === step ? page.bench.leave() : this.start(step));
        const button = element('button', { type: 'button', onclick: toggle }, 'Adjust on the picture');
        const onrefresh = () => {
            button.disabled = !page.input || Boolean(step.off);
            button.setAttribute('aria-pressed', String(this.isOn && this.step === step));
        };
        onrefresh();
        return element('div', { className: 'adjust', onrefresh }, button);
    }

    // ---- the handles

    drawGrips() {
        const { shape } = this;
        const edges = shape.edges(this.step);
        const fits = (grip) => (grip ? [...grip].every((edge) => edges.includes(edge)) : !shape.isOpen);
        const wanted = GRIPS.filter(fits);
        this.box.classList.toggle('point', Boolean(shape.isPoint));
        const old = new Map([...this.box.children].map((grip) => [grip.dataset.edges, grip]));
        const isSame = wanted.length === old.size && wanted.every((grip) => old.has(grip));
        if (isSame) return; // the focus stays
        this.box.replaceChildren(...wanted.map((grip) => old.get(grip) ?? this.grip(grip)));
    }

    grip(edges) {
        const button = element('button', {
            type: 'button',
            className: `grip ${edges || 'whole'}`,
            'data-edges': edges,
        });
        button.addEventListener('pointerdown', (event) => {
            if (event.button !== 0) return;
            button.setPointerCapture(event.pointerId);
            this.drag = { edges, from: viewer.scenePoint(...viewer.placeOf(event)), rectangle: this.rectangle };
        });
        button.addEventListener('pointermove', (event) => {
            if (!this.drag || !button.hasPointerCapture(event.pointerId)) return;
            const now = viewer.scenePoint(...viewer.placeOf(event));
            const scale = this.size.width / viewer.scene.width;
            const by = now.map((at, i) => Math.round((at - this.drag.from[i]) * scale));
            this.move(edges, this.drag.rectangle, by, true);
        });
        const drop = () => {
            if (!this.drag) return;
            this.drag = null;
            page.changed(false);
            viewer.paint();
        };
        button.addEventListener('pointerup', drop);
        button.addEventListener('pointercancel', drop);
        button.addEventListener('keydown', (event) => this.key(event, edges));
        return button;
    }

    key(event, edges) {
        const direction = arrows[event.key];
        if (!direction || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        const { width, height } = this.size;
        const least = this.shape.isPoint ? [width / 1000, height / 1000] : [1, 1];
        const by = direction.map((sign, i) => sign * Math.max(1, least[i]) * (event.shiftKey ? FAR : 1));
        this.move(edges, this.rectangle, by, false);
    }

    get rectangle() {
        return this.shape.of(this.step, this.size);
    }

    move(edges, rectangle, by, dragging) {
        const { shape, step, size } = this;
        const to = moved(rectangle, edges, by, size, shape.isOpen);
        shape.set(step, to, { from: rectangle, size, edges });
        page.changed(dragging);
    }

    /** After the viewer has painted, or a field has changed. */
    place() {
        if (!this.isOn || !this.size) return;
        if (!this.drag) this.drawGrips();
        const { left, top, right, bottom } = this.rectangle;
        const ratio = window.devicePixelRatio || 1;
        const scale = (viewer.scene.width / this.size.width) * viewer.zoom;
        const [x, y] = viewer.corner;
        const to = { left: x + left * scale, top: y + top * scale };
        Object.assign(to, { width: (right - left) * scale, height: (bottom - top) * scale });
        for (const [name, length] of Object.entries(to)) this.box.style[name] = `${length / ratio}px`;
        this.box.hidden = false;
        const text = this.shape.isPoint
            ? `${Math.round(left)}, ${Math.round(top)}`
            : `${Math.round(right - left)} × ${Math.round(bottom - top)}`;
        for (const grip of this.box.children)
            grip.setAttribute('aria-label', `${nameOf(grip.dataset.edges)}, ${text}: arrow keys`);
    }
}
