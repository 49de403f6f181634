// The times of the report in X-Burin-Timing: a row for every stage, operator and kernel that took
// time, with a bar from its beginning to its end. It is a table, so that it is readable without the
// bars.
import { byteCount, drawing, element, milliseconds, whole } from './element.js';

const stages = ['receive', 'queue', 'decode', 'upload', 'compute', 'download', 'encode', 'wait'];

/** Returns [{ name, ms, start, level }...] in the order of time. */
export function rowsOf(ms) {
    const rows = [];
    let start = 0;
    for (const stage of stages) {
        rows.push({ name: stage, ms: ms[stage] ?? 0, start, level: 0 });
        if (stage === 'compute') rows.push(...operatorRows(ms.operators ?? [], start));
        rows.push(...kernelRows(ms[`${stage}_kernels`] ?? [], start, 1));
        start += ms[stage] ?? 0;
    }
    return rows.filter((row) => row.ms > 0);
}

/**
 * Kernels run one after another: a GPU codec's are below their stage, others below their operator.
 */
function kernelRows(kernels, from, level) {
    const rows = [];
    let start = from;
    for (const { name, ms } of kernels) {
        rows.push({ name, ms, start, level });
        start += ms;
    }
    return rows;
}

function operatorRows(operators, from) {
    const rows = [];
    let start = from;
    for (const operator of operators) {
        rows.push({ name: operator.name, ms: operator.ms, start, level: 1 });
        rows.push(...kernelRows(operator.kernels ?? [], start, 2));
        start += operator.ms;
    }
    return rows;
}

function bar(row, total) {
    const x = Math.min(999, (1000 * row.start) / total),
        width = Math.max(2, (1000 * row.ms) / total);
    return drawing(
        'svg',
        { viewBox: '0 0 1000 12', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
        drawing('rect', {
            x,
            y: 1.5,
            width: Math.min(width, 1000 - x),
            height: 9,
            class: `bar-${row.level}`,
        }),
    );
}

/** The tooltip of a row. */
function detail({ name, ms }, report) {
    const share = `${((100 * ms) / Math.max(report.ms.total, 1e-6)).toFixed(1)} % of the total`;
    return `${name}: ${share}, ${megapixelsPerSecond(report, ms)}`;
}

function tableRow(row, total, report) {
    return element(
        'tr',
        { className: `level-${row.level}`, title: detail(row, report) },
        element('th', { scope: 'row' }, row.name),
        element('td', {}, bar(row, total)),
        element('td', { className: 'ms' }, milliseconds(row.ms)),
    );
}

function figure(name, value, hint) {
    return element(
        'div',
        {},
        element('dt', {}, name),
        element('dd', {}, value),
        element('dd', { className: 'hint' }, hint),
    );
}

const imageText = ({ width, height, channels, depth, type, bytes }) =>
    `${whole(width)} × ${whole(height)}, ${channels} × ${depth} bit, ${type.toUpperCase()} ${byteCount(bytes)}`;

/** A large result is sent at the size of the window: see window_run.js. */
const outputText = ({ output, whole: size }) =>
    size
        ? `${whole(size.width)} × ${whole(size.height)}, for the window ${imageText(output)}`
        : imageText(output);

export function megapixelsPerSecond(report, ms) {
    const pixels = report.input.width * report.input.height;
    const rate = pixels / 1e3 / ms;
    return ms > 0 ? `${rate >= 100 ? whole(rate) : rate.toFixed(1)} MP/s` : '–';
}

/** PAGE_MS: the time from the change to the picture on the screen. */
export function showTimes(box, report, pageMs) {
    const { ms } = report;
    const total = Math.max(ms.total, 1e-6);
    const added = `+ ${milliseconds(Math.max(0, pageMs - ms.total))} transfer and decoding`;
    box.replaceChildren(
        element(
            'h3',
            { id: 'times-title' },
            'Time',
            element('span', { className: 'hint' }, report.device),
        ),
        element(
            'dl',
            { className: 'figures' },
            figure('Total', milliseconds(ms.total), megapixelsPerSecond(report, ms.total)),
            figure('Compute', milliseconds(ms.compute), megapixelsPerSecond(report, ms.compute)),
            figure('To the screen', milliseconds(pageMs), added),
        ),
        element(
            'table',
            { className: 'times', 'aria-labelledby': 'times-title' },
            element(
                'tbody',
                {},
                ...rowsOf(ms).map((row) => tableRow(row, total, report)),
                element(
                    'tr',
                    { className: 'total' },
                    element('th', { scope: 'row' }, 'total'),
                    element('td', {}),
                    element('td', { className: 'ms' }, milliseconds(ms.total)),
                ),
            ),
        ),
        element('p', { className: 'hint' }, `In: ${imageText(report.input)}`),
        report.output.bytes
            ? element('p', { className: 'hint' }, `Out: ${outputText(report)}`)
            : '',
        report.notes.length
            ? element(
                  'ul',
                  { className: 'notes' },
                  ...report.notes.map((note) => element('li', {}, note)),
              )
            : '',
    );
}
