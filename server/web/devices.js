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

/** OUT gets the digest of the result's file. */
async function showDigest(out, { blob }) {
    const text = await digestOf(blob).catch(() => null);
    const none = 'This browser computes digests only on https and localhost.';
    out.replaceChildren(element('p', { className: 'digest' }, text ? `sha256 ${text}` : none));
}

/** Without a GPU to compare with: the digest, to compare it elsewhere. */
function digestBlock(result, out, open) {
    const then = result.isWhole
        ? 'The same run on a GPU has this digest:'
        : 'At 100 % the digest stands here.';
    const ontoggle = () => result.isWhole && !out.firstChild && showDigest(out, result);
    return element(
        'details',
        { className: 'table', open, ontoggle },
        element('summary', {}, 'CPU and GPU'),
        element('p', { className: 'hint' }, `This daemon has no GPU to compare with. ${then}`),
        out,
    );
}

/** FACTS: { ready, state, result }; FAILED is called with the error of a run. */
export function showDevices(box, { ready, state, result }, failed) {
    if (!result || result.only) return box.replaceChildren();
    const out = element('div', { 'aria-live': 'polite' });
    const { gpus } = deviceNames(ready);
    const both = gpus.length && ready.workers.some((worker) => worker.device.startsWith('cpu'));
    if (!both) return box.replaceChildren(digestBlock(result, out, box.querySelector('details')?.open));
    const onclick = () => compare(state, out).catch(failed);
    const button = { type: 'button', id: 'compare-devices', onclick };
    return box.replaceChildren(
        element('h3', {}, 'CPU and GPU'),
        element('button', button, 'Run on both and compare'),
        out,
    );
}
