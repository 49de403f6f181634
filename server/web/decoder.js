// Worker: makes pixels of a file, away from the page's own thread. A picture comes back in tiles, and in ever smaller copies
// of itself, so that no canvas has to scale 64 megapixels. After that: its histograms, and its copy for previews.
import { countStrip, newCounts } from './histogram_counts.js';
import { isPnm, pnmPixels, writePnm } from './pnm.js';

const TILE = 2048; // pixels: no larger than what graphics hardware takes as one texture
const SMALLEST = 512; // pixels of the longer side: copies go down to it
const STRIP_PIXELS = 1 << 20;

/** The samples as they are in the file: no colour management, and nothing multiplied by alpha. */
const asItIs = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };

async function decode(blob) {
  const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  if (!isPnm(head)) return createImageBitmap(blob, asItIs);
  return createImageBitmap(pnmPixels(new Uint8Array(await blob.arrayBuffer())), asItIs);
}

async function cut(bitmap) {
  const tiles = [];
  for (let y = 0; y < bitmap.height; y += TILE)
    for (let x = 0; x < bitmap.width; x += TILE)
      tiles.push(await createImageBitmap(bitmap, x, y, Math.min(TILE, bitmap.width - x), Math.min(TILE, bitmap.height - y), asItIs));
  return { width: bitmap.width, height: bitmap.height, columns: Math.ceil(bitmap.width / TILE), tile: TILE, tiles };
}

const halved = (bitmap) =>
  createImageBitmap(bitmap, {
    ...asItIs, resizeQuality: 'medium', resizeWidth: Math.max(1, bitmap.width >> 1), resizeHeight: Math.max(1, bitmap.height >> 1),
  });

async function levelsOf(bitmap) {
  const levels = [await cut(bitmap)];
  for (let now = bitmap; Math.max(now.width, now.height) > SMALLEST;) {
    const next = await halved(now);
    if (now !== bitmap) now.close();
    levels.push(await cut(next));
    now = next;
  }
  return levels;
}

/** Counts of every level of every channel, in strips: no buffer of the whole picture. */
function countsOf(bitmap) {
  const counts = newCounts();
  const rows = Math.max(1, Math.min(bitmap.height, Math.floor(STRIP_PIXELS / bitmap.width)));
  const canvas = new OffscreenCanvas(bitmap.width, rows);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  for (let y = 0; y < bitmap.height; y += rows) {
    const height = Math.min(rows, bitmap.height - y);
    context.clearRect(0, 0, bitmap.width, rows);
    context.drawImage(bitmap, 0, y, bitmap.width, height, 0, 0, bitmap.width, height);
    countStrip(counts, context.getImageData(0, 0, bitmap.width, height).data);
  }
  return counts;
}

function smaller(bitmap, scale) {
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale)));
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return { canvas, pixels: context.getImageData(0, 0, canvas.width, canvas.height) };
}

/** The picture in about PIXELS, as a file that is quick to read and to send; with alpha a PNG. */
async function previewOf(bitmap, pixels, { transparent, gray }) {
  const scale = Math.min(1, Math.sqrt(pixels / (bitmap.width * bitmap.height)));
  const small = smaller(bitmap, scale);
  const blob = transparent ? await small.canvas.convertToBlob({ type: 'image/png' }) : new Blob([writePnm(small.pixels, gray)]);
  return { blob, scale: small.canvas.width / bitmap.width, width: small.canvas.width, height: small.canvas.height };
}

/** A mask in another size; what is not at least half white is black again, so that no edge is blurred. */
async function resized({ blob, width, height }) {
  const bitmap = await decode(blob);
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0, width, height);
  return { blob: new Blob([writePnm(context.getImageData(0, 0, width, height), true)]) };
}

function tilesOf(levels) {
  return levels.flatMap((level) => level.tiles);
}

async function open({ id, blob, preview }) {
  const bitmap = await decode(blob);
  const levels = await levelsOf(bitmap);
  postMessage({ id, part: 'picture', width: bitmap.width, height: bitmap.height, levels }, tilesOf(levels));
  const counts = countsOf(bitmap);
  postMessage({ id, part: 'counts', counts });
  if (preview) postMessage({ id, part: 'preview', ...(await previewOf(bitmap, preview, counts)) });
  bitmap.close();
  postMessage({ id, part: 'end' });
}

let last = Promise.resolve();
onmessage = ({ data }) => {
  const work = data.kind === 'resize'
    ? async () => postMessage({ id: data.id, part: 'resized', ...(await resized(data)) })
    : () => open(data);
  last = last.then(work).catch((error) => postMessage({ id: data.id, part: 'error', text: String(error?.message ?? error) }));
};
