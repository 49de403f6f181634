// A ZIP archive of files as they are: pictures are compressed already. The archive is a Blob of the
// files' Blobs, so no file is copied.

const FILES_MAX = 0xffff;
const BYTES_MAX = 0xffffffff; // larger archives need other records
const UTF8 = 0x0800; // flag: the name's coding
const VERSION = 20; // that a reader needs

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
    return rest;
});

/** The CRC-32 of a Blob, read in pieces. */
export async function crcOf(blob) {
    const reader = blob.stream().getReader();
    let crc = 0xffffffff;
    for (let part; !(part = await reader.read()).done;)
        for (const byte of part.value) crc = table[(crc ^ byte) & 0xff] ^ (crc >>> 8);
    return ~crc >>> 0;
}

/** The bytes of a record: FIELDS are [bytes, value]. */
function record(...fields) {
    const bytes = new Uint8Array(fields.reduce((sum, [size]) => sum + size, 0));
    const view = new DataView(bytes.buffer);
    let at = 0;
    for (const [size, value] of fields) {
        if (size === 2) view.setUint16(at, value, true);
        else view.setUint32(at, value, true);
        at += size;
    }
    return bytes;
}

/** Date and time as in MS-DOS: from 1980 on, to two seconds. */
function stampOf(date) {
    const day = ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate();
    const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
    return [day, time];
}

/** FILES: { name, blob, crc }, with / in names of folders. Throws if they are too many or large. */
export function zipOf(files, date = new Date()) {
    const [day, time] = stampOf(date);
    const bodies = [];
    const directory = [];
    let at = 0;
    for (const { name, blob, crc } of files) {
        const letters = new TextEncoder().encode(name);
        const facts = [
            [2, VERSION],
            [2, UTF8],
            [2, 0], // stored
            [2, time],
            [2, day],
            [4, crc],
            [4, blob.size],
            [4, blob.size],
            [2, letters.length],
            [2, 0], // no extra field
        ];
        const head = record([4, 0x04034b50], ...facts);
        const rest = [[2, 0], [2, 0], [2, 0], [4, 0], [4, at]]; // comment, disk, attributes
        directory.push(record([4, 0x02014b50], [2, VERSION], ...facts, ...rest), letters);
        bodies.push(head, letters, blob);
        at += head.length + letters.length + blob.size;
    }
    const length = directory.reduce((sum, part) => sum + part.length, 0);
    if (files.length > FILES_MAX || at + length > BYTES_MAX)
        throw new Error('A ZIP file holds at most 65,535 files and 4 GB: choose fewer pictures.');
    const count = files.length;
    const end = [[2, 0], [2, 0], [2, count], [2, count], [4, length], [4, at], [2, 0]];
    const parts = [...bodies, ...directory, record([4, 0x06054b50], ...end)];
    return new Blob(parts, { type: 'application/zip' });
}

const clean = (path) =>
    path
        .split(/[/\\]/)
        .filter((part) => part && part !== '.' && part !== '..')
        .join('/');

/** Names for an archive, from paths and endings: those that are taken get a number. */
export function uniqueNames(files) {
    const taken = new Set();
    return files.map(({ path, ending }) => {
        const base = clean(path).replace(/\.[^./]*$/, '') || 'picture';
        let name = `${base}.${ending}`;
        for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${base}-${n}.${ending}`;
        taken.add(name.toLowerCase());
        return name;
    });
}
