// Under the canvas, at the place of each picture: a checkerboard, which shows where a picture is
// transparent, and a hairline, which shows where it ends.
import { byId } from './element.js';

const style = (box, lengths) => {
    for (const [name, length] of Object.entries(lengths)) box.style[name] = `${length}px`;
};

/**
 * FRAMES: { before, after }, rectangles in pixels of the canvas or null; SPLIT: the divider's place
 * there if both lie over each other, or null. RATIO: pixels of the canvas per CSS pixel.
 */
export function showBackdrop({ before, after }, split, ratio) {
    for (const [side, frame] of Object.entries({ before, after })) {
        const box = byId(`frame-${side}`);
        box.hidden = !frame;
        if (!frame) continue;
        const [left, top, width, height] = [frame.left, frame.top, frame.width, frame.height].map(
            (length) => length / ratio,
        );
        style(box, { left, top, width, height });
        const at = split === null ? null : split / ratio - left;
        const right = side === 'before' && at !== null ? width - at : -1;
        const start = side === 'after' && at !== null ? at : -1;
        box.style.clipPath = `inset(-1px ${right}px -1px ${start}px)`;
    }
}
