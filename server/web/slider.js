// The filled part of a slider: from its zero, or else its left end, to its value.

/** POSITION of the zero on the slider; null: there is no value, and nothing is filled. */
export function fillSlider(slider, position) {
    const [min, max] = [Number(slider.min), Number(slider.max)];
    const share = (at) => (max > min ? (Math.min(Math.max(at, min), max) - min) / (max - min) : 0);
    const ends = position === null ? [0, 0] : [share(position), share(Number(slider.value))];
    slider.classList.toggle('unset', position === null);
    slider.style.setProperty('--from', Math.min(...ends));
    slider.style.setProperty('--to', Math.max(...ends));
}
