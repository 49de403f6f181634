// The size of the picture after each step, and the part of a step's picture that its result shows.
// Both follow from the parameters alone, by the rules of the daemon (pipeline/ops/), so no run is
// needed. Operators that are not named here keep the size; what trim leaves only the daemon knows.
import { defaultText } from './plan.js';

const PIXELS_MAX = 1 << 26; // the daemon's default of pixels_max
const SIDE_MAX = 65535;
const GROWTH_MAX = 4; // resize.x, resize.y: a picture that is needed as a whole
const WHOLE_MIN = 1 << 24;
const DRAWN_GROWTH_MAX = 2; // carve: show=seams
const DRAWN_MIN = 1 << 20;

const same = ({ width, height }) => ({ width, height, part: { left: 0, top: 0, width, height } });

/** PART: null if no rectangle of the step's picture is what the result shows. */
const sized = (width, height, part = null) => ({ width, height, part });

/** -1, 0 or 1 for each axis of a place of the compass. */
const compassOf = (place) => [
    /west/.test(place) ? -1 : /east/.test(place) ? 1 : 0,
    /^north/.test(place) ? -1 : /^south/.test(place) ? 1 : 0,
];

const before = (slack, side) => (side < 0 ? 0 : side > 0 ? slack : Math.floor(slack / 2));

// ---- crop, extract, pad, smartcrop, rotate, zoom

/** Width and height, of which one may be missing; null: they are not within the picture. */
function cutSize({ number }, size) {
    const width = number('width') ?? size.width,
        height = number('height') ?? size.height;
    const given = number('width') !== undefined || number('height') !== undefined;
    return given && width <= size.width && height <= size.height ? { width, height } : null;
}

function crop(values, size) {
    const kept = cutSize(values, size);
    if (!kept) return null;
    const [x, y] = compassOf(values.text('gravity'));
    const left = before(size.width - kept.width, x),
        top = before(size.height - kept.height, y);
    return sized(kept.width, kept.height, { left, top, ...kept });
}

function smartcrop(values, size) {
    const kept = cutSize(values, size);
    return kept && sized(kept.width, kept.height);
}

function extract({ number }, size) {
    const [left, top, width, height] = ['left', 'top', 'width', 'height'].map(number);
    if (left + width > size.width || top + height > size.height) return null;
    return sized(width, height, { left, top, width, height });
}

function pad({ number }, size) {
    const [left, top, right, bottom] = ['left', 'top', 'right', 'bottom'].map(number);
    const width = left + size.width + right,
        height = top + size.height + bottom;
    return sized(width, height, { left: -left, top: -top, width, height });
}

function rotate({ text }, size) {
    const angle = Number(text('angle'));
    if (angle % 90 === 0)
        return angle % 180 ? sized(size.height, size.width) : same(size);
    const one = 2 ** 30;
    const [cosine, sine] = [Math.cos, Math.sin].map((of) =>
        Math.round(Math.abs(of((angle * Math.PI) / 180)) * one),
    );
    const side = (along, across) => Math.ceil((along * cosine + across * sine) / one);
    return sized(side(size.width, size.height), side(size.height, size.width));
}

function zoom({ number }, size) {
    const [width, height] = [size.width, size.height].map((side) => side * number('times'));
    return { ...same(size), width, height };
}

// ---- carve

/** The length of a side after the change; null: width and dx together, or out of range. */
function carvedSide(target, change, length) {
    if (target !== undefined && change) return null;
    const goal = target ?? length + (change ?? 0);
    return goal >= 1 && goal <= SIDE_MAX ? goal : null;
}

function carve({ number, text }, size) {
    const width = carvedSide(number('width'), number('dx'), size.width),
        height = carvedSide(number('height'), number('dy'), size.height);
    if (width === null || height === null) return null;
    const drawn = Math.max(DRAWN_MIN, DRAWN_GROWTH_MAX * size.width * size.height);
    if (text('show') === 'seams' && width * height > drawn) return null;
    const changed = width !== size.width || height !== size.height;
    return text('show') === 'result' && changed ? sized(width, height) : same(size);
}

// ---- resize: see pipeline/ops/resize/frame.h

const inProportion = (side, goal, other) =>
    Math.max(1, Math.floor((2 * side * goal + other) / (2 * other)));

const inWidth = ({ width, height }, goal) => [goal, inProportion(height, goal, width)];
const inHeight = ({ width, height }, goal) => [inProportion(width, goal, height), goal];

/** The sides of the scaled picture, before a cut or a canvas. */
function scaledSides({ flag }, fit, size, [width, height]) {
    const both = width && height;
    let sides = [width, height];
    if (!both) {
        sides = width ? inWidth(size, width) : inHeight(size, height);
    } else if (fit !== 'fill') {
        const outside = fit !== 'inside' && fit !== 'contain';
        const wide = width * size.height <= height * size.width;
        sides = wide !== outside ? inWidth(size, width) : inHeight(size, height);
    }
    if (flag('enlarge') || (sides[0] <= size.width && sides[1] <= size.height)) return sides;
    if (fit !== 'fill' || !both) return [size.width, size.height];
    return [Math.min(sides[0], size.width), Math.min(sides[1], size.height)];
}

/** The first of COUNT kept pixels of LENGTH. POINT: in thousandths, or undefined. */
function startOf(point, side, length, count) {
    if (point === undefined) return before(length - count, side);
    const start = Math.floor((2 * point * length - 1000 * count) / 2000);
    return Math.min(Math.max(0, start), length - count);
}

/** One axis of a cut to GOAL: { to, seams, first, count, out }. */
function cutAxis(to, goal, share, place) {
    const over = Math.max(0, to - goal);
    const seams = Math.floor((2 * over * share + 100) / 200);
    const count = to - over;
    return { to, seams, first: startOf(...place, to - seams, count), count, at: 0, out: count };
}

/** One axis of a canvas of GOAL. */
function canvasAxis(to, goal, [point, side]) {
    const slack = goal - to;
    const at = point === undefined ? before(slack, side) : Math.floor((slack * point) / 1000);
    return { to, seams: 0, first: 0, count: to, at, out: goal };
}

const wholeAxis = (to) => ({ to, seams: 0, first: 0, count: to, at: 0, out: to });

/** Whether the daemon makes a picture of these sides to carve it or to look at it. */
function fitsWhole([x, y], size) {
    const most = GROWTH_MAX * Math.max(size.width * size.height, x.out * y.out);
    return x.to <= SIDE_MAX && y.to <= SIDE_MAX && x.to * y.to <= Math.max(most, WHOLE_MIN);
}

/** The part of the picture that the result shows; a canvas shows more than the picture. */
function shownPart([x, y], size) {
    const across = size.width / x.to,
        down = size.height / y.to;
    return {
        left: (x.first - x.at) * across,
        top: (y.first - y.at) * down,
        width: x.out * across,
        height: y.out * down,
    };
}

/** Whether WIDTH x HEIGHT has the shape of SIZE, except for the rounding of a side. */
const sameShape = (width, height, size) =>
    Math.abs(height - (size.height * width) / size.width) < 1 ||
    Math.abs(width - (size.width * height) / size.height) < 1;

function resize(values, size) {
    const { number, text } = values;
    const goals = [number('width'), number('height')];
    const point = [number('x'), number('y')];
    const position = text('position');
    if (!goals[0] && !goals[1]) return null;
    if (position !== 'centre' && (point[0] !== undefined || point[1] !== undefined)) return null;
    const fit = goals[0] && goals[1] ? text('fit') : 'inside';
    const compass = compassOf(position);
    const sides = scaledSides(values, fit, size, goals);
    const share = fit === 'carve' ? number('share') : 0;
    const axes = sides.map((to, i) => {
        const place = [point[i], compass[i]];
        if (fit === 'cover' || fit === 'carve') return cutAxis(to, goals[i], share, place);
        return fit === 'contain' ? canvasAxis(to, goals[i], place) : wholeAxis(to);
    });
    const smart = position === 'smart' && axes.some(({ to, seams, count }) => count < to - seams);
    const carved = axes.some(({ seams }) => seams > 0);
    if ((smart || carved) && !fitsWhole(axes, size)) return null;
    const width = axes[0].out,
        height = axes[1].out;
    const stretched = !sameShape(...sides, size);
    return sized(width, height, smart || carved || stretched ? null : shownPart(axes, size));
}

// ---- any step

/** Without inherited members: a user's operator may be called `constructor`. */
const rules = Object.assign(Object.create(null), {
    carve,
    crop,
    extract,
    pad,
    resize,
    rotate,
    smartcrop,
    trim: () => null,
    zoom,
});

/** Reads a step's parameters: a number that is not set and has no default is undefined. */
function reader({ operator, values }) {
    const text = (name) => {
        const parameter = operator.parameters.find((known) => known.name === name);
        const set = values[name];
        return set === undefined || set === '' ? parameter && defaultText(parameter) : set;
    };
    const number = (name) => (text(name) === undefined ? undefined : Number(text(name)));
    return { text, number, flag: (name) => text(name) === 'true' };
}

/**
 * Returns { width, height, part } of a step's result on a picture of SIZE: `part` is the rectangle
 * of that picture that the result shows, or null. Null: the daemon would refuse it, or only the
 * pixels decide the size.
 */
export function resultOf(step, size) {
    const rule = rules[step.operator.name];
    if (!rule) return same(size);
    const made = rule(reader(step), size);
    if (!made || Math.max(made.width, made.height) > SIDE_MAX) return null;
    const most = Math.max(PIXELS_MAX, size.width * size.height);
    return made.width * made.height <= most ? made : null;
}

/** The sizes before the first step, and after each; null from a step on whose size is not known. */
export function sizesOf(steps, size) {
    const sizes = [size];
    for (const step of steps) sizes.push(sizes.at(-1) && resultOf(step, sizes.at(-1)));
    return sizes;
}

/**
 * The rectangle of a picture of SIZE that the result of STEPS covers, in that picture's pixels; a
 * result of the picture's own shape covers all of it. Null: neither.
 */
export function coverOf(steps, size) {
    let cover = same(size).part;
    let now = size;
    for (const step of steps) {
        const next = now && resultOf(step, now);
        if (!next) return null;
        cover = next.part && cover && inner(cover, next.part, now);
        now = next;
    }
    const alike = now.width * size.height === now.height * size.width;
    return cover ?? (alike ? same(size).part : null);
}

/**
 * Returns { width, height, part } of the result of STEPS on a picture of SIZE: `part` is the one of
 * that picture that it shows, [left, top, width, height] in shares of its sides, or null. Null: the
 * size is not known.
 */
export function frameOf(steps, size) {
    const last = size && sizesOf(steps, size).at(-1);
    if (!last) return null;
    const cover = coverOf(steps, size);
    const shares = ({ left, top, width, height }) =>
        [left, top, width, height].map((length, i) => length / (i % 2 ? size.height : size.width));
    return { width: last.width, height: last.height, part: cover && shares(cover) };
}

/** PART of a picture of SIZE that lies in OUTER. */
function inner(outer, part, size) {
    const across = outer.width / size.width,
        down = outer.height / size.height;
    return {
        left: outer.left + part.left * across,
        top: outer.top + part.top * down,
        width: part.width * across,
        height: part.height * down,
    };
}

/**
 * The part of LEAST..MOST from which a step's number can be chosen while its other parameters stay,
 * so that the daemon accepts the result. All of it if there is none.
 */
export function acceptedRange(step, name, [least, most], size) {
    const fits = (value) =>
        resultOf({ ...step, values: { ...step.values, [name]: String(value) } }, size) !== null;
    const within = [Number(step.values[name] ?? NaN), least, most].find(
        (value) => value >= least && value <= most && fits(value),
    );
    if (within === undefined) return [least, most];
    const end = (far) => {
        if (fits(far)) return far;
        let good = within,
            bad = far;
        while (Math.abs(bad - good) > 1) {
            const middle = Math.round((good + bad) / 2);
            if (fits(middle)) good = middle;
            else bad = middle;
        }
        return good;
    };
    return [end(least), end(most)];
}
