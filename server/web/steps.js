// The list of steps. A step is dragged by its handle or moved by keys; it can be switched off,
// folded, duplicated, reset and removed.
import { byId, element } from './element.js';
import { frameOf } from './geometry.js';
import { hideNotice } from './notice.js';
import { openPanel } from './panels.js';
import { copyOf, fileStep, isOn, neededParts, newStep } from './plan.js';
import { stepCard } from './step_card.js';

export const STEPS_MAX = 10; // of one pipeline, as in the daemon

export class StepList {
    /**
     * CHANGED(dragging) is called after each change. BESIDE(step, parameter) returns an additional
     * element for the parameter's field, or null. FILEFIELD(step, part) returns the field of a file,
     * ABOVE(step) an element above the form, or null.
     */
    constructor(changed, beside, fileField, above) {
        this.steps = [];
        this.changed = changed;
        this.beside = beside;
        this.fileField = fileField;
        this.above = above;
        this.picture = null; // { width, height } of the input: bounds of sliders in pixels follow
        this.list = byId('steps');
    }

    get isFull() {
        return this.steps.length >= STEPS_MAX;
    }

    /** The size of the picture that a step gets, and its part of the input: see frameOf. */
    sizeBefore(step) {
        const index = this.steps.indexOf(step);
        const before = this.steps.slice(0, index < 0 ? this.steps.length : index);
        return frameOf(before.filter(({ off }) => !off), this.picture);
    }

    /** The steps that do something now. */
    get active() {
        return this.steps.filter(isOn);
    }

    /** Shows the values again after a change, and the ranges, which depend on other values. */
    refresh() {
        for (const field of this.list.querySelectorAll('.field, .preset, .adjust'))
            field.dispatchEvent(new Event('refresh'));
    }

    set(steps) {
        this.steps = steps;
        this.draw();
    }

    /** Takes the steps of an earlier plan; what is folded stays, and where the focus is. */
    restore(steps) {
        const cards = [...this.list.children];
        const at = cards.findIndex((card) => card.contains(document.activeElement));
        const { name } = document.activeElement;
        steps.forEach((step, i) => {
            const { folded, more } = this.steps[i] ?? {};
            Object.assign(step, { folded, more });
        });
        this.set(steps);
        const card = this.list.children[at];
        (card?.querySelector(`input[name="${name}"]`) ?? card?.querySelector('.handle'))?.focus();
    }

    /** Sets the picture's size for the sliders. */
    setPicture(picture) {
        this.picture = picture;
        this.draw();
    }

    /** TASK: the one of the palette that the step is for. VALUES: in place of those at first. */
    add(operator, { task, values } = {}) {
        if (this.isFull) return;
        const step = { ...newStep(operator, this.sizeBefore(null)), task };
        this.steps.push(values ? { ...step, values } : step);
        this.draw();
        this.changed(false);
        this.enter(this.list.lastElementChild);
    }

    /** Shows a card from its head on, and focuses its first field; a slider opens no keyboard. */
    enter(card) {
        openPanel('steps');
        card.scrollIntoView({ block: 'start' });
        const coarse = matchMedia('(pointer: coarse)').matches;
        const fields = card.querySelectorAll(coarse ? '.field input[type="range"]' : '.field input');
        const first = [...fields].find((field) => !field.closest('.more:not([open])'));
        (first ?? card.querySelector('.handle')).focus({ preventScroll: true });
    }

    // ---- what a card's buttons do

    remove(index) {
        this.steps.splice(index, 1);
        this.draw();
        const next = this.list.children[Math.min(index, this.steps.length - 1)];
        (next?.querySelector('.handle') ?? byId('palette').querySelector('button'))?.focus();
        this.changed(false);
    }

    /** The copy has no files: a pipeline takes them once. */
    duplicate(index) {
        if (this.isFull) return;
        const [copy] = copyOf([this.steps[index]]);
        this.steps.splice(index + 1, 0, { ...copy, files: {}, folded: false, task: undefined });
        this.draw();
        this.changed(false);
        this.enter(this.list.children[index + 1]);
    }

    /** The step has the values of a preset. */
    refill(index) {
        this.draw();
        this.changed(false);
        this.list.children[index].querySelector('.preset select').focus();
    }

    /** Sets the values that the step would be added with. */
    reset(index) {
        const step = this.steps[index];
        const { off, folded, more, task } = step;
        this.steps[index] = { ...newStep(step.operator, this.sizeBefore(step)), off, folded, more, task };
        this.draw();
        this.focus(index, 'reset-step');
        this.changed(false);
    }

    toggle(index) {
        const step = this.steps[index];
        step.off = !step.off;
        this.draw();
        this.focus(index, 'switch');
        this.changed(false);
    }

    /** No change of the plan. */
    fold(index) {
        const step = this.steps[index];
        step.folded = !step.folded;
        this.draw();
        this.focus(index, 'fold');
    }

    /** Focuses a button of a card. */
    focus(index, className) {
        this.list.children[index].querySelector(`.${className}`).focus({ preventScroll: true });
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
            if (card.classList.contains('folded')) continue;
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
        for (const button of byId('palette').querySelectorAll('button:not([data-adds-no-step])'))
            button.disabled = this.isFull;
    }

    card(step, index) {
        const act = (name) => () => this[name](index);
        const card = stepCard(step, index, {
            hasFiles: neededParts(step).length > 0 || fileStep(this.active) === step,
            sizeOf: (one) => this.sizeBefore(one),
            changed: (dragging) => this.changed(dragging),
            beside: this.beside,
            fileField: this.fileField,
            above: this.above,
            fold: act('fold'),
            toggle: act('toggle'),
            duplicate: act('duplicate'),
            reset: act('reset'),
            refill: act('refill'),
            remove: act('remove'),
        });
        this.listenToHandle(card.querySelector('.handle'), card, index);
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
