// The key that a daemon with a file of keys asks for: entered in the settings, sent with each
// request, and kept for this tab alone.
import { byId } from './element.js';

const STORED = 'burin-key';

const field = byId('access-key');
let key = '';
try {
    key = sessionStorage.getItem(STORED) ?? '';
} catch {
    // Storage may be forbidden: the key lasts as long as the page.
}

export const keyHeaders = () => (key ? { Authorization: `Bearer ${key}` } : {});

/** The notice after the daemon has refused a request for its key. */
export function keyWanted() {
    byId('access').hidden = false;
    return {
        title: key ? 'The daemon does not take this key' : 'This daemon asks for a key',
        detail: 'Ask the owner of this daemon for one. It is kept in this tab alone.',
        action: { text: 'Enter a key', run: ask },
    };
}

function ask() {
    byId('settings').showPopover();
    field.focus();
}

/** CHANGED is called after a new key, or none, was entered. */
export function listenToKey(changed) {
    field.value = key;
    byId('access').hidden = !key;
    byId('access').addEventListener('submit', (event) => {
        event.preventDefault();
        key = field.value.trim();
        try {
            if (key) sessionStorage.setItem(STORED, key);
            else sessionStorage.removeItem(STORED);
        } catch {
            // Storage may be forbidden.
        }
        byId('settings').hidePopover();
        changed();
    });
}
