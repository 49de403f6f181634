// The list of steps, each with a form, dragged by its handle or moved by keys.
import { byId, element } from './element.js';
import { parameterField, partField } from './fields.js';
import { sizesOf } from './geometry.js';
import { hideNotice } from './notice.js';
import { fileStep, newStep } from './plan.js';
import { presetChoice } from './presets.js';
import { ShapeLock } from './shape.js';

const STEPS_MAX = 10; // of one pipeline, as in the daemon

export class StepList {
    /**
     * CHANGED(dragging) is called after each change. BESIDE(step, parameter) returns an additional
     * element for the parameter's field, or null.
     */
    constructor(changed, beside) {
        this.steps = [];
        this.changed = changed;
        this.beside = beside;
        this.picture = null; // { width, height } of the input: bounds of sliders in pixels follow
        this.list = byId('steps');
    }

    get isFull() {
        return this.steps.length >= STEPS_MAX;
    }

    /** The size of the picture that a step gets; null: not known. */
    sizeBefore(step) {
        const index = this.steps.indexOf(step);
        const before = this.steps.slice(0, index < 0 ? this.steps.length : index);
        return this.picture && sizesOf(before, this.picture).at(-1);
    }

    /** Shows the values again after a change, and the ranges, which depend on other values. */
    refresh() {
        for (const field of this.list.querySelectorAll('.field, .preset'))
            field.dispatchEvent(new Event('refresh'));
    }

    set(steps) {
        this.steps = steps;
        this.draw();
    }

    /** Sets the picture's size for the sliders. */
    setPicture(picture) {
        this.picture = picture;
        this.draw();
    }

    add(operator) {
        if (this.isFull) return;
        this.steps.push(newStep(operator, this.sizeBefore(null)));
        this.draw();
        this.changed(false);
        this.enter(this.list.lastElementChild);
    }

    /** Shows a card from its head on, and focuses its first field; a slider opens no keyboard. */
    enter(card) {
        card.scrollIntoView({ block: 'start' });
        const coarse = matchMedia('(pointer: coarse)').matches;
        const first = card.querySelector(coarse ? '.field input[type="range"]' : '.field input');
        (first ?? card.querySelector('.handle')).focus({ preventScroll: true });
    }

    remove(index) {
        this.steps.splice(index, 1);
        this.draw();
        (
            this.list.children[Math.min(index, this.steps.length - 1)]?.querySelector('.handle') ??
            byId('palette').querySelector('button')
        )?.focus();
        this.changed(false);
    }

    move(from, to) {
        if (to < 0 || to >= this.steps.length || to === from) return;
        this.steps.splice(to, 0, ...this.steps.splice(from, 1));
        this.draw();
        this.list.children[to].querySelector('.handle').focus();
        this.changed(false);
    }

    /**
     * Marks the step and the field that MESSAGE begins with: "edge: threshold must be 0..255", or
     * "mask is 50 x 50 pixels". Returns the field, or the step's body; null: there is none.
     */
    blame(message) {
        const [, first, name = first] = /^(\w+)(?:: (\w+))?/.exec(message) ?? [];
        let cause = null;
        for (const card of this.list.children) {
            const part = card.querySelector(`input[type="file"][name="${first}"]`);
            const wrong = card.dataset.operator === first || part !== null;
            card.classList.toggle('wrong', wrong);
            for (const input of card.querySelectorAll('input[type="number"]'))
                if (input.validity.valid)
                    input.setAttribute('aria-invalid', String(wrong && input.name === name));
            if (!wrong || (cause && !card.contains(document.activeElement))) continue;
            const field = part ?? card.querySelector(`[name="${name}"], [data-name="${name}"]`);
            cause = field?.closest('.field') ?? card.querySelector('.step-body');
        }
        return cause;
    }

    // ---- drawing

    draw() {
        hideNotice(); // may stand in a card
        byId('steps-empty').hidden = this.steps.length > 0;
        this.list.replaceChildren(...this.steps.map((step, i) => this.card(step, i)));
        for (const button of byId('palette').querySelectorAll('button'))
            button.disabled = this.isFull;
    }

    card(step, index) {
        const { operator } = step;
        const handle = element(
            'button',
            {
                type: 'button',
                className: 'handle',
                title: 'Drag, or press the arrow keys, to move',
                'aria-label': `Move step ${index + 1}, ${operator.name}: arrow keys`,
            },
            '⋮⋮',
        );
        const remove = element(
            'button',
            {
                type: 'button',
                'aria-label': `Remove step ${index + 1}, ${operator.name}`,
                title: 'Remove',
                onclick: () => this.remove(index),
            },
            '✕',
        );
        const sizeOf = (one) => this.sizeBefore(one);
        const lock = operator.name === 'resize' ? new ShapeLock(step, sizeOf) : null;
        const changed = (dragging) => {
            lock?.follow();
            this.changed(dragging);
        };
        const fields = operator.parameters.map((parameter) => {
            const field = parameterField(parameter, step, sizeOf, changed);
            field.append(this.beside(step, parameter) ?? '');
            if (lock && parameter.name === 'height') field.append(lock.element);
            return field;
        });
        if (fileStep(this.steps) === step)
            fields.push(...operator.parts.map((part) => partField(part, step, changed)));
        const preset = presetChoice(step, () => {
            this.draw();
            this.changed(false);
            this.list.children[index].querySelector('.preset select').focus();
        });
        const card = element(
            'li',
            { className: 'step', 'data-operator': operator.name },
            element(
                'div',
                { className: 'step-head' },
                handle,
                element(
                    'h3',
                    { title: operator.summary },
                    element('span', { className: 'number' }, `${index + 1} `),
                    operator.name,
                ),
                remove,
            ),
            element('div', { className: 'step-body' }, preset, ...fields),
        );
        this.listenToHandle(handle, card, index);
        return card;
    }

    listenToHandle(handle, card, index) {
        handle.addEventListener('keydown', (event) => {
            const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
            if (!by) return;
            event.preventDefault();
            this.move(index, index + by);
        });
        handle.addEventListener('pointerdown', (event) => {
            handle.setPointerCapture(event.pointerId);
            card.classList.add('dragged');
        });
        handle.addEventListener('pointermove', (event) => {
            if (!handle.hasPointerCapture(event.pointerId)) return;
            const others = [...this.list.children].filter((other) => other !== card);
            const next = others.find(
                (other) =>
                    event.clientY < other.getBoundingClientRect().top + other.offsetHeight / 2,
            );
            if (next ? card.nextElementSibling !== next : card !== this.list.lastElementChild) {
                this.list.insertBefore(card, next ?? null);
                handle.setPointerCapture(event.pointerId); // moving the element has released it
            }
        });
        const drop = () => {
            card.classList.remove('dragged');
            const to = [...this.list.children].indexOf(card);
            if (to >= 0 && to !== index) this.move(index, to);
        };
        handle.addEventListener('pointerup', drop);
        handle.addEventListener('pointercancel', () => this.draw());
    }
}
