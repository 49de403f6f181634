// Saves the result.
import { outputName } from './commands.js';
import { failed } from './connection.js';
import { byId } from './element.js';
import { saveBlob } from './files.js';
import { hideNotice } from './notice.js';
import { page, say } from './page.js';
import { fullRun } from './runner.js';

export const JPEG_QUALITY = 85; // the daemon's default

export async function save() {
    const { result, input, device } = page;
    if (!result?.blob) return;
    const type = byId('save-type').value;
    hideNotice();
    try {
        const done = { input, steps: result.steps, device };
        const { blob } =
            type === 'png' ? result : await fullRun(done, { type, quality: JPEG_QUALITY });
        const name = outputName(input.name, result.steps, type);
        saveBlob(blob, name);
        result.saved = true;
        say(`Saved as ${name}.`);
    } catch (error) {
        failed(error, { at: byId('save').parentElement, again: save, said: 'Not saved.' });
    }
}
