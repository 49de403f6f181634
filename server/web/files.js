// Opening and saving: dialog, drop, paste; the browser's question before unsaved work is lost.
import { failed } from './connection.js';
import { droppedFiles, plain } from './dropped.js';
import { byId, element } from './element.js';
import { readFormats } from './formats.js';

/** The `accept` of a file input: media types that the daemon reads, and their file extensions. */
export const accepted = readFormats
    .flatMap(({ media_types, endings }) => [media_types[0], ...endings.map((end) => `.${end}`)])
    .join(',');

/** Calls TAKE with the files that the user chooses, drops or pastes: a list of { file, path }. */
export function listenForFiles(take) {
    const input = byId('file-input');
    input.accept = accepted;
    const choose = () => input.click();
    byId('open').addEventListener('click', choose);
    byId('open-empty').addEventListener('click', choose);
    input.addEventListener('change', () => {
        if (input.files.length) take(plain(input.files));
        input.value = ''; // the same file may be chosen again
    });
    byId('open-sample').addEventListener('click', () => openSample(take).catch(failed));
    listenForDrop(take);
    addEventListener('paste', (event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        const pictures = files.filter(isPicture);
        if (files.length) take(plain(pictures.length ? pictures : files));
    });
}

export const isPicture = (file) =>
    file.type.startsWith('image/') ||
    readFormats.some(({ endings }) =>
        endings.some((end) => file.name.toLowerCase().endsWith(`.${end}`)),
    );

async function openSample(take) {
    const blob = await (await fetch(new URL('./coffee.webp', import.meta.url))).blob();
    take(plain([new File([blob], 'coffee.webp', { type: blob.type })]));
}

/** Shows the formats that can be opened as a sentence. */
export function showFormats() {
    const titles = readFormats.map((format) => format.title);
    byId('read-formats').textContent = new Intl.ListFormat('en-GB').format(titles);
}

function listenForDrop(take) {
    const shade = byId('drop');
    const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');
    let depth = 0;
    addEventListener('dragenter', (event) => {
        if (!carries(event)) return;
        depth++;
        shade.hidden = false;
    });
    addEventListener('dragleave', (event) => {
        if (carries(event) && --depth <= 0) shade.hidden = true;
    });
    addEventListener('dragover', (event) => carries(event) && event.preventDefault());
    addEventListener('drop', (event) => {
        if (!carries(event)) return;
        event.preventDefault();
        depth = 0;
        shade.hidden = true;
        droppedFiles(event.dataTransfer)
            .then(take)
            .catch((error) => failed(error, { name: 'What was dropped' }));
    });
}

export function saveBlob(blob, name) {
    const url = URL.createObjectURL(blob);
    const link = element('a', { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/** Makes the browser ask before the page is left while UNSAVED() is true. */
export function guardLeaving(unsaved) {
    addEventListener('beforeunload', (event) => {
        if (!unsaved()) return;
        event.preventDefault();
        event.returnValue = '';
    });
}
