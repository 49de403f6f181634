// The address holds, after the #, the state that can be shared: steps with their parameters, and
// the device. Never the picture.

const readable = (text) =>
    encodeURIComponent(text).replace(/%(3A|3D|2C|3B|2B)/g, (code) => decodeURIComponent(code));

export function readAddress(hash = location.hash) {
    const found = { steps: '', device: 'auto' };
    for (const item of hash.replace(/^#/, '').split('&')) {
        const equals = item.indexOf('=');
        const name = item.slice(0, equals);
        if (equals < 0 || !Object.hasOwn(found, name)) continue;
        try {
            found[name] = decodeURIComponent(item.slice(equals + 1));
        } catch {
            // an invalid part is ignored
        }
    }
    return found;
}

export function writeAddress({ steps, device }) {
    const items = [];
    if (steps) items.push(`steps=${readable(steps)}`);
    if (device !== 'auto') items.push(`device=${readable(device)}`);
    const hash = items.length ? `#${items.join('&')}` : '';
    if (hash !== location.hash)
        history.replaceState(null, '', location.pathname + location.search + hash);
}
