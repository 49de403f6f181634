// Keeps the picture's shape while one of a step's width and height changes.
import { element } from './element.js';
import { setValue } from './plan.js';

const SIDES = ['width', 'height'];

export class ShapeLock {
    /** SIZEOF(step): the size of the picture that the step gets, or null. */
    constructor(step, sizeOf) {
        Object.assign(this, { step, sizeOf });
        this.seen = this.sides;
        this.box = element('input', { type: 'checkbox' });
        this.box.checked = step.keepsShape ?? this.fits;
        this.box.addEventListener('change', () => (step.keepsShape = this.box.checked));
    }

    get sides() {
        return SIDES.map((name) => this.step.values[name]);
    }

    /** The length of the other side, in the picture's shape. */
    otherSide(side) {
        const size = this.sizeOf(this.step);
        const length = Number(this.step.values[SIDES[side]]);
        return Math.max(1, Math.round((length * size[SIDES[1 - side]]) / size[SIDES[side]]));
    }

    /** Whether the sides have the picture's shape; a missing one will have it. */
    get fits() {
        const [width, height] = this.sides;
        if (!width || !height || !this.sizeOf(this.step)) return true;
        return this.otherSide(0) === Number(height) || this.otherSide(1) === Number(width);
    }

    /** After a change: the side that did not change follows. */
    follow() {
        const changed = this.sides.findIndex((text, side) => text !== this.seen[side]);
        const both = this.sides.every(Boolean);
        if (this.box.checked && changed >= 0 && both && this.sizeOf(this.step))
            setValue(this.step, SIDES[1 - changed], String(this.otherSide(changed)));
        this.seen = this.sides;
    }

    get element() {
        return element('label', { className: 'lock' }, this.box, 'Keep the shape');
    }
}
