// SPDX-License-Identifier: Apache-2.0
// node placeholders.mjs NODE_MODULES COSINES <JOBS - the published encoders. A job is a line of JSON: width, height, across,
// down, pixels (RGBA in base 64), laid (the same over white); its answer another: blurhash of laid, thumbhash, and exact, which
// is thumbhash with the cosines of the file COSINES, pairs of an argument and its cosine: those of an engine differ in their last bit from another's.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [modules, table] = process.argv.slice(2);
const { encode } = createRequire(resolve(modules) + '/')('blurhash');
const { rgbaToThumbHash } = await import(pathToFileURL(resolve(modules, 'thumbhash/thumbhash.js')));
const cosines = new Map(JSON.parse(readFileSync(table, 'utf8')));
const { cos } = Math;

function exact(x) {
    if (!cosines.has(x)) throw new Error(`no cosine of ${x}`);
    return cosines.get(x);
}

function thumbhash(job, pixels, cosine) {
    Math.cos = cosine;
    try {
        return Buffer.from(rgbaToThumbHash(job.width, job.height, pixels)).toString('base64');
    } finally {
        Math.cos = cos;
    }
}

for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line);
    const [pixels, laid] = [job.pixels, job.laid].map((text) => new Uint8ClampedArray(Buffer.from(text, 'base64')));
    console.log(
        JSON.stringify({
            blurhash: encode(laid, job.width, job.height, job.across, job.down),
            thumbhash: thumbhash(job, pixels, cos),
            exact: thumbhash(job, pixels, exact),
        }),
    );
}
