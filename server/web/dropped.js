// The files of a drop. A dropped folder gives all pictures in it, with their paths.
import { isPicture } from './files.js';

/** The entries of a folder: the browser gives them in portions. */
async function entriesOf(folder) {
    const reader = folder.createReader();
    const all = [];
    for (;;) {
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) return all;
        all.push(...some);
    }
}

/** Returns a list of { file, path }. */
async function walk(entry) {
    if (entry.isFile) {
        const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
        return [{ file, path: entry.fullPath }];
    }
    const entries = await entriesOf(entry);
    entries.sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
    const lists = [];
    for (const one of entries) lists.push(await walk(one));
    return lists.flat().filter(({ file }) => isPicture(file));
}

export const plain = (files) => [...files].map((file) => ({ file, path: file.name }));

/** TRANSFER is empty after the event, so its entries are taken at once. */
export async function droppedFiles(transfer) {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
    const folders = entries.filter((entry) => entry?.isDirectory);
    if (!folders.length) return plain(transfer.files);
    return (await Promise.all(entries.filter(Boolean).map(walk))).flat();
}
