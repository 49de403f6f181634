// The filled part of a slider: from its zero, or else its left end, to its value.

/** A finger that scrolls the panel passes over sliders: each keeps its value. */
export function keepWhileScrolling() {
    let touched = null; // { slider, value, isUnset } before the touch
    const slider = (event) => event.target.closest?.('input[type=range]');
    const end = () => (touched = null);
    addEventListener('pointerdown', (event) => {
        if (event.pointerType === 'touch' && slider(event))
            touched = {
                slider: slider(event),
                value: slider(event).value,
                isUnset: slider(event).classList.contains('unset'),
            };
    }, true);
    addEventListener('pointerup', end, true);
    addEventListener('pointercancel', () => {
        if (touched && touched.slider.value !== touched.value) {
            touched.slider.value = touched.value;
            if (touched.isUnset) touched.slider.dispatchEvent(new Event('unset'));
            else
                for (const name of ['input', 'change'])
                    touched.slider.dispatchEvent(new Event(name, { bubbles: true }));
        }
        end();
    }, true);
}

/** POSITION of the zero on the slider; null: there is no value, and nothing is filled. */
export function fillSlider(slider, position) {
    const [min, max] = [Number(slider.min), Number(slider.max)];
    const share = (at) => (max > min ? (Math.min(Math.max(at, min), max) - min) / (max - min) : 0);
    const ends = position === null ? [0, 0] : [share(position), share(Number(slider.value))];
    slider.classList.toggle('unset', position === null);
    slider.style.setProperty('--from', Math.min(...ends));
    slider.style.setProperty('--to', Math.max(...ends));
}
