// Requests to the daemon. A refusal becomes a Problem with the daemon's message; a missing answer
// becomes Gone.
import { keyHeaders } from './access_key.js';

export class Problem extends Error {
    constructor(status, body, retryAfter) {
        super(body?.message ?? `the daemon answered ${status}`);
        this.status = status;
        this.code = body?.code;
        this.title = body?.title ?? `Status ${status}`;
        this.requestId = body?.request_id;
        this.retryAfter = Number(retryAfter) || 0;
    }
}

export class Gone extends Error {
    constructor() {
        super('The daemon does not answer.');
    }
}

async function ask(path, options) {
    let response;
    try {
        response = await fetch(path, {
            ...options,
            headers: { ...options?.headers, ...keyHeaders() },
        });
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new Gone();
    }
    return response;
}

async function refuse(response) {
    const body = await response.json().catch(() => null);
    throw new Problem(response.status, body, response.headers.get('Retry-After'));
}

/** The answer of GET /ops: { groups, operators }. */
export async function operators(signal) {
    const response = await ask('/ops', { signal });
    if (!response.ok) await refuse(response);
    return response.json();
}

/**
 * The answer of GET /readyz with any status: { status, workers: [{ device, healthy, role, ... }] }.
 */
export async function readiness(signal) {
    const response = await ask('/readyz', { signal });
    if (response.status !== 200 && response.status !== 503) await refuse(response);
    return response.json();
}

/** The progress of a request: { state, step, done, total }; null: it is not in progress. */
export async function progress(id) {
    const response = await ask(`/progress/${id}`);
    return response.ok ? response.json() : null;
}

/** The answer of POST /info on the first bytes of a file. */
export async function headOf(bytes) {
    const headers = { 'Content-Type': 'application/octet-stream' };
    const response = await ask('/info', { method: 'POST', body: bytes, headers });
    if (!response.ok) await refuse(response);
    return response.json();
}

let requests = 0;
export function newRequestId() {
    return `page-${Date.now().toString(36)}-${(++requests).toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
}

const TARGET_MAX = 4000; // bytes of a path with its query: half of proxies' usual limit

/** The body: the bytes themselves if nothing else is sent, or else a form. */
function messageOf({ bytes, ...request }) {
    const { operations, device, type, files } = request;
    const query = new URLSearchParams({ operations: JSON.stringify(operations), type });
    if (device && device !== 'auto') query.set('device', device);
    const target = `/pipeline?${query}`;
    const alone = operations.length && !Object.keys(files ?? {}).length;
    if (bytes && alone && target.length <= TARGET_MAX)
        return [target, bytes];
    return ['/pipeline', formOf({ ...request, image: request.image ?? new Blob([bytes]) })];
}

function formOf({ operations, image, files, type, options, device, damaged }) {
    const form = new FormData();
    if (operations.length) form.append('operations', JSON.stringify(operations));
    else form.append('outputs', '[{}]'); // the unchanged picture
    if (device && device !== 'auto') form.append('device', device);
    if (type) form.append('type', type);
    for (const [name, value] of Object.entries(options ?? {})) form.append(name, value);
    if (damaged) form.append('damaged', damaged);
    form.append('image', image, 'image');
    for (const [name, file] of Object.entries(files ?? {})) form.append(name, file, name);
    return form;
}

/** Runs each of OUTPUTS, as in the README, on IMAGE; returns their PNGs. */
export async function runOutputs(image, outputs) {
    const form = new FormData();
    form.append('outputs', JSON.stringify(outputs));
    form.append('type', 'png');
    form.append('image', image, 'image');
    const response = await ask('/pipeline', { method: 'POST', body: form });
    if (!response.ok) await refuse(response);
    const bytes = new Uint8Array(await response.arrayBuffer());
    let at = 0;
    return outputs.map(() => {
        const { type, start, end } = readPart(bytes, at);
        at = end;
        return new Blob([bytes.subarray(start, end)], { type });
    });
}

/** Returns a part's head, and the range of its body in BYTES, from AT on. */
function readPart(bytes, at) {
    const text = new TextDecoder('latin1').decode(bytes.subarray(at, at + 1024));
    const end = text.indexOf('\r\n\r\n');
    const head = text.slice(0, end);
    const length = Number(/content-length: *(\d+)/i.exec(head)[1]);
    const start = at + end + 4;
    return { type: /content-type: *([^\r\n;]+)/i.exec(head)[1], start, end: start + length };
}

/** Reads the daemon's multipart/mixed: one image, then the report. */
function readParts(buffer) {
    const bytes = new Uint8Array(buffer);
    const image = readPart(bytes, 0);
    const report = readPart(bytes, image.end);
    return {
        blob: new Blob([bytes.subarray(image.start, image.end)], { type: image.type }),
        report: JSON.parse(new TextDecoder().decode(bytes.subarray(report.start, report.end))),
    };
}

/**
 * Runs a pipeline, and returns { blob, report }. `reports`: steps report values, which may be too
 * long for a header. `only`: they only report values, so no image is returned. `raw`: returns an
 * ArrayBuffer instead of the blob. `options`: of the type, see encoding.js. `damaged`: 'accept' takes
 * what can be read of the image. No operations: the unchanged picture. The image is `image`, a Blob,
 * or `bytes`, an ArrayBuffer.
 */
export async function run({ reports, only, raw, signal, requestId, ...request }) {
    const accept = only
        ? 'application/json'
        : reports
          ? `multipart/mixed, image/${request.type === 'jpeg' ? 'jpeg' : 'png'}`
          : '*/*';
    const headers = { Accept: accept, 'X-Request-ID': requestId ?? newRequestId() };
    if (only) delete request.type;
    const [target, body] = messageOf(request);
    const response = await ask(target, { method: 'POST', body, headers, signal });
    if (!response.ok) await refuse(response);
    try {
        if (only) return { blob: null, report: await response.json() };
        if (response.headers.get('Content-Type').startsWith('multipart/')) {
            const { blob, report } = readParts(await response.arrayBuffer());
            return raw ? { bytes: await blob.arrayBuffer() } : { blob, report };
        }
        if (raw) return { bytes: await response.arrayBuffer() };
        return {
            blob: await response.blob(),
            report: JSON.parse(response.headers.get('X-Burin-Timing')),
        };
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new Gone();
    }
}
