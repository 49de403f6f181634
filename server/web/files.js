// Opening and saving: dialog, drop, paste; the browser's question before unsaved work is lost.
import { byId, element } from './element.js';
import { readFormats, writtenFormats } from './formats.js';

/** The `accept` of a file input: media types that the daemon reads, and their file extensions. */
export const accepted = readFormats
    .flatMap(({ media_types, endings }) => [media_types[0], ...endings.map((end) => `.${end}`)])
    .join(',');

/** Calls OPEN with each File that the user chooses, drops or pastes. */
export function listenForFiles(open) {
    const input = byId('file-input');
    input.accept = accepted;
    const choose = () => input.click();
    byId('open').addEventListener('click', choose);
    byId('open-empty').addEventListener('click', choose);
    input.addEventListener('change', () => {
        if (input.files[0]) open(input.files[0]);
        input.value = ''; // the same file may be chosen again
    });
    listenForDrop(open);
    addEventListener('paste', (event) => {
        const file = [...(event.clipboardData?.files ?? [])].find(isPicture);
        if (file) open(file);
    });
}

const isPicture = (file) =>
    file.type.startsWith('image/') ||
    readFormats.some(({ endings }) =>
        endings.some((end) => file.name.toLowerCase().endsWith(`.${end}`)),
    );

/** Shows the formats that can be opened as a sentence, and those for saving as a list. */
export function showFormats() {
    const titles = readFormats.map((format) => format.title);
    byId('read-formats').textContent = new Intl.ListFormat('en-GB').format(titles);
    byId('save-type').append(
        ...writtenFormats.map(({ name, title }) => element('option', { value: name }, title)),
    );
}

function listenForDrop(open) {
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
        if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
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
