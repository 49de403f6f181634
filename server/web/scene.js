// The arrangement of the pictures in the window: alone; one over the other, with a divider; or
// beside each other at one scale. Its rectangles are in pixels of the picture before, or of the
// only one.

const GAP = 0.02; // between two pictures, of the longer side of both

const rectangle = (left, top, width, height) => ({ left, top, width, height });
const sizeOf = (picture) => [picture.fullWidth, picture.fullHeight];

/** The scene's zoom that shows WIDTH x HEIGHT completely on a canvas. */
export const fittingZoom = ({ width, height }, canvas) =>
    Math.min(1, canvas.width / width, canvas.height / height);

export function aloneScene(after) {
    const [width, height] = sizeOf(after);
    return { kind: 'alone', width, height, before: null, after: rectangle(0, 0, width, height) };
}

/** COVER: the rectangle of the picture before that the one after covers. */
export function overScene(before, cover) {
    const [width, height] = sizeOf(before);
    const left = Math.min(0, cover.left),
        top = Math.min(0, cover.top);
    return {
        kind: 'over',
        width: Math.max(width, cover.left + cover.width) - left,
        height: Math.max(height, cover.top + cover.height) - top,
        before: rectangle(-left, -top, width, height),
        after: rectangle(cover.left - left, cover.top - top, cover.width, cover.height),
    };
}

/** Side by side, or one above the other if both are larger then. */
export function besideScene(before, after, canvas) {
    const [[w0, h0], [w1, h1]] = [sizeOf(before), sizeOf(after)];
    const gap = Math.ceil(GAP * Math.max(w0, h0, w1, h1));
    const row = rectangle(0, 0, w0 + gap + w1, Math.max(h0, h1));
    const column = rectangle(0, 0, Math.max(w0, w1), h0 + gap + h1);
    const inRow = fittingZoom(row, canvas) >= fittingZoom(column, canvas);
    const { width, height } = inRow ? row : column;
    const centred = (left, top, w, h) =>
        inRow ? rectangle(left, (height - h) / 2, w, h) : rectangle((width - w) / 2, top, w, h);
    return {
        kind: 'beside',
        width,
        height,
        before: centred(0, 0, w0, h0),
        after: centred(w0 + gap, h0 + gap, w1, h1),
    };
}

/** Converts a point of the scene to one of PICTURE, which fills RECTANGLE; null: outside. */
export function pointIn({ left, top, width, height }, picture, [x, y]) {
    const column = ((x - left) / width) * picture.fullWidth,
        row = ((y - top) / height) * picture.fullHeight;
    const inside = column >= 0 && row >= 0 && column < picture.fullWidth && row < picture.fullHeight;
    return inside ? [column, row] : null;
}
