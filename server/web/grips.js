// The parts of a picture that a step's parameters mean, which can be dragged: a rectangle, its
// edges, or a point. Each operator has a shape { of, edges, set }: of(step, size) returns the
// rectangle { left, top, right, bottom } on a picture of SIZE; edges(step) the letters of the edges
// that can be dragged; set(step, to, { from, size, edges }) writes the parameters after EDGES, '' for
// all, have moved between two rectangles.
import { resultOf } from './geometry.js';
import { setValue } from './plan.js';

const bound = (value, least, most) => Math.min(Math.max(value, least), most);

const write = (step, values) => {
    for (const [name, value] of Object.entries(values))
        setValue(step, name, String(Math.round(value)));
};

const whole = ({ width, height }) => ({ left: 0, top: 0, right: width, bottom: height });

function partOf(step, size) {
    const part = resultOf(step, size)?.part;
    if (!part) return whole(size);
    const { left, top, width, height } = part;
    return { left, top, right: left + width, bottom: top + height };
}

const ALL = 'nesw';

const extract = {
    edges: () => ALL,
    of: partOf,
    set(step, { left, top, right, bottom }) {
        write(step, { left, top, width: right - left, height: bottom - top });
    },
};

// ---- crop: a size, and the side that the part lies at

const ACROSS = ['west', '', 'east'];
const DOWN = ['north', '', 'south'];
const gravityOf = (step) => step.values.gravity ?? 'centre';

/** The side that START is nearest to: the beginning, the middle or the end of SLACK. */
const nearest = (start, slack) => (slack > 0 ? bound(Math.round((2 * start) / slack), 0, 2) : 1);

const crop = {
    edges(step) {
        const gravity = gravityOf(step);
        return [...ALL].filter((edge) => {
            const name = { n: 'north', e: 'east', s: 'south', w: 'west' }[edge];
            return !gravity.includes(name);
        }).join('');
    },
    of: partOf,
    set(step, to, { from, size, edges }) {
        const gravity = gravityOf(step);
        if (!edges) {
            const across = nearest(to.left, size.width - (to.right - to.left)),
                down = nearest(to.top, size.height - (to.bottom - to.top));
            return setValue(step, 'gravity', `${DOWN[down]}${ACROSS[across]}` || 'centre');
        }
        const moved = (pair) => [...pair].some((edge) => edges.includes(edge));
        const isCentred = (names) => !names.some((name) => name && gravity.includes(name));
        // A side that lies in the middle grows at both ends.
        const length = (start, end, names) => {
            const by = from[start] - to[start] + to[end] - from[end];
            return from[end] - from[start] + (isCentred(names) ? 2 * by : by);
        };
        const width = bound(length('left', 'right', ACROSS), 1, size.width),
            height = bound(length('top', 'bottom', DOWN), 1, size.height);
        if (moved('we')) write(step, { width });
        if (moved('ns')) write(step, { height });
        return undefined;
    },
};

// ---- carve: the right and the lower edge, which may be outside

const carve = {
    edges: () => 'es',
    isOpen: true,
    of(step, size) {
        const side = (target, change, now) =>
            Number(step.values[target] ?? now + Number(step.values[change] ?? 0));
        const right = side('width', 'dx', size.width),
            bottom = side('height', 'dy', size.height);
        return { left: 0, top: 0, right, bottom };
    },
    set(step, { right, bottom }, { edges }) {
        if (edges.includes('e')) write(step, { width: Math.max(1, right) });
        if (edges.includes('s')) write(step, { height: Math.max(1, bottom) });
    },
};

// ---- resize: the point that is kept

const resize = {
    edges: () => '',
    isPoint: true,
    of({ values }, { width, height }) {
        const at = (name, side) => (Number(values[name] ?? 500) * side) / 1000;
        const [x, y] = [at('x', width), at('y', height)];
        return { left: x, top: y, right: x, bottom: y };
    },
    set(step, { left, top }, { size: { width, height } }) {
        write(step, {
            x: bound((1000 * left) / width, 0, 1000),
            y: bound((1000 * top) / height, 0, 1000),
        });
    },
};

const shapes = Object.assign(Object.create(null), { carve, crop, extract, resize });

/** The shape of a step's operator; undefined: none. A user's operator, without a title, has none. */
export const shapeOf = ({ operator }) => (operator.title ? shapes[operator.name] : undefined);

/** RECTANGLE with the EDGES moved by DX and DY, '' for all; in the picture unless IS_OPEN. */
export function moved({ left, top, right, bottom }, edges, [dx, dy], size, isOpen) {
    if (!edges) {
        const x = bound(dx, -left, size.width - right),
            y = bound(dy, -top, size.height - bottom);
        return { left: left + x, top: top + y, right: right + x, bottom: bottom + y };
    }
    const has = (edge, by) => (edges.includes(edge) ? by : 0);
    const most = isOpen ? { width: 65535, height: 65535 } : size;
    return {
        left: bound(left + has('w', dx), 0, right - 1),
        top: bound(top + has('n', dy), 0, bottom - 1),
        right: bound(right + has('e', dx), left + 1, most.width),
        bottom: bound(bottom + has('s', dy), top + 1, most.height),
    };
}
