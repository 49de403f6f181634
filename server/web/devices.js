// The devices, and the same run on each: their times side by side, and whether their bytes are
// equal.
import { byId, element, milliseconds } from './element.js';
import { megapixelsPerSecond } from './times.js';
import { digestOf } from './picture.js';
import { fullRun } from './runner.js';
import { numberTable } from './table.js';

/** Names for device=, from GET /readyz: auto, cpu, cuda, and each GPU if there are several. */
export function deviceNames(ready) {
    const found = [...new Set(ready.workers.map((worker) => worker.device.split(' ')[0]))];
    const gpus = found.filter((name) => name.startsWith('cuda'));
    return {
        all: [
            'auto',
            ...(found.includes('cpu') ? ['cpu'] : []),
            ...(gpus.length ? ['cuda'] : []),
            ...(gpus.length > 1 ? gpus : []),
        ],
        gpus,
    };
}

export function showDeviceChoice(ready, chosen) {
    const select = byId('device');
    const { all } = deviceNames(ready);
    if (!all.includes(chosen)) all.push(chosen); // an address may name one that is absent now
    select.replaceChildren(...all.map((name) => element('option', { value: name }, name)));
    select.value = chosen;
}

/** Compares digests, or bytes if there are no digests. */
async function sameBytes([{ blob: a, digest: first }, { blob: b, digest: second }]) {
    if (first && second) return a.size === b.size && first === second;
    const [left, right] = (await Promise.all([a.arrayBuffer(), b.arrayBuffer()])).map(
        (buffer) => new Uint8Array(buffer),
    );
    return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

function comparison(runs, equal) {
    const [cpu, gpu] = runs;
    const times = cpu.report.ms.compute / Math.max(gpu.report.ms.compute, 1e-6);
    return [
        numberTable(
            ['', ...runs.map((one) => one.device)],
            [
                ['compute', ...runs.map(({ report }) => milliseconds(report.ms.compute))],
                ['total', ...runs.map(({ report }) => milliseconds(report.ms.total))],
                [
                    'compute rate',
                    ...runs.map(({ report }) => megapixelsPerSecond(report, report.ms.compute)),
                ],
            ],
            { 'aria-label': 'CPU and GPU' },
        ),
        element(
            'p',
            { className: equal ? 'same' : 'different' },
            equal
                ? `The same bytes. Compute is ${times >= 1 ? times.toFixed(1) : (1 / times).toFixed(1)} times as fast on the ${times >= 1 ? 'GPU' : 'CPU'}.`
                : 'The bytes differ: this is a bug in Burin.',
        ),
        ...runs.map((one) =>
            element(
                'p',
                { className: 'digest' },
                `${one.device}: ${one.digest ?? 'no digest: this browser computes them only on https and localhost'}`,
            ),
        ),
    ];
}

async function compare(state, out) {
    out.replaceChildren(
        element('p', { className: 'hint' }, 'Running on the CPU, then on the GPU…'),
    );
    const runs = [];
    for (const device of ['cpu', 'cuda']) {
        const answer = await fullRun({ ...state, device });
        runs.push({ ...answer, device: answer.report.device, digest: await digestOf(answer.blob) });
    }
    out.replaceChildren(...comparison(runs, await sameBytes(runs)));
}

/** FACTS: { ready, state, result }; FAILED is called with the error of a run. */
export async function showDevices(box, { ready, state, result }, failed) {
    if (!result || result.only) return box.replaceChildren();
    const out = element('div', { 'aria-live': 'polite' });
    const { gpus } = deviceNames(ready);
    const both = gpus.length && ready.workers.some((worker) => worker.device.startsWith('cpu'));
    const button = element(
        'button',
        { type: 'button', id: 'compare-devices', onclick: () => compare(state, out).catch(failed) },
        'Run on both and compare',
    );
    box.replaceChildren(
        element('h3', {}, 'CPU and GPU'),
        both
            ? button
            : element(
                  'p',
                  { className: 'hint' },
                  result.isWhole
                      ? 'This daemon has no GPU to compare with. The same run on a GPU has this digest:'
                      : 'This daemon has no GPU to compare with. At 100 % the digest stands here.',
              ),
        out,
    );
    if (!result.isWhole) return undefined; // its file is another
    const text = await digestOf(result.blob).catch(() => null);
    if (!both && box.contains(out))
        out.replaceChildren(
            element(
                'p',
                { className: 'digest' },
                text
                    ? `sha256 ${text}`
                    : 'This browser computes digests only on https and localhost.',
            ),
        );
    return undefined;
}
