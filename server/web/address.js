// What can be shared lives in the address, behind the #: steps, parameters, device and type. Never the picture.

const readable = (text) => encodeURIComponent(text).replace(/%(3A|3D|2C|3B|2B)/g, (code) => decodeURIComponent(code));

export function readAddress(hash = location.hash) {
  const found = { steps: '', device: 'auto', type: '' };
  for (const item of hash.replace(/^#/, '').split('&')) {
    const equals = item.indexOf('=');
    const name = item.slice(0, equals);
    if (equals < 0 || !(name in found)) continue;
    try {
      found[name] = decodeURIComponent(item.slice(equals + 1));
    } catch {
      // not an address of ours: as if it were not there
    }
  }
  return found;
}

export function writeAddress({ steps, device, type }) {
  const items = [];
  if (steps) items.push(`steps=${readable(steps)}`);
  if (device !== 'auto') items.push(`device=${readable(device)}`);
  if (type) items.push(`type=${type}`);
  const hash = items.length ? `#${items.join('&')}` : '';
  if (hash !== location.hash) history.replaceState(null, '', location.pathname + location.search + hash);
}
