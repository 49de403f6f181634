// The page: what is open, what is done to it, and which part shows what. The other modules know nothing of each other but
// what is handed to them here.
import { readAddress, writeAddress } from './address.js';
import { showAccount } from './account.js';
import { outputName, showCommands } from './commands.js';
import { showDeviceChoice, showDevices } from './devices.js';
import { byId, milliseconds, whole } from './element.js';
import { askUnsaved, guardLeaving, listenForFiles, saveBlob } from './files.js';
import { drawFilmstrip } from './filmstrip.js';
import { Histograms } from './histogram.js';
import { hideNotice, showNotice, showProblem } from './notice.js';
import { openPicture } from './picture.js';
import { filesOf, operations, planText, readPlan, tellsOnly } from './plan.js';
import { previewOf, Runner } from './runner.js';
import { seamsOf, seamStep, showSeams } from './seams.js';
import { Gone, operators, Problem, readiness, run } from './service.js';
import { drawPalette, StepList } from './steps.js';
import { showTold } from './told_values.js';
import { Viewer } from './viewer.js';

const PREVIEW_PIXELS = 500000;
const JPEG_QUALITY = 85; // the daemon's own default
const BACK_MS = 1000; // between two questions whether the daemon is back

const page = {
  operators: [],
  ready: { workers: [] },
  device: 'auto',
  input: null, // { name, blob, type, picture, counts, preview }
  result: null, // { blob, report, picture, counts, text, steps, saved }
  preview: null, // the picture while a value is dragged
  chosen: 'input', // what stands left of the divider: input, output (nothing), or step-N
  between: new Map(), // pictures after a step that is not the last, by the text of the steps: { picture, full }
  seams: false, // shown over what is before
  gone: false,
};

const viewer = new Viewer();
const histograms = new Histograms(byId('histograms'));
const steps = new StepList((dragging) => changed(dragging));
let resting = 0;
const say = (text) => (byId('status').textContent = text);

const runner = new Runner({
  idle: () => (byId('busy').hidden = true),
  busy: showBusy,
  preview: showPreview,
  previewCounts: (counts) => histograms.set('after', counts),
  result: showResult,
  counts: (result, counts) => {
    result.counts = counts;
    if (result === page.result) histograms.set('after', counts);
  },
  problem: failed,
});

// ---- the state, and what follows from it

const state = () => ({ input: page.input, steps: steps.steps, device: page.device });
const unsaved = () => Boolean(page.result?.blob && !page.result.saved);

function facts() {
  const name = page.input?.name ?? 'picture.jpg';
  const inputType = page.input?.type ?? 'jpeg';
  return { origin: location.origin, steps: steps.steps, device: page.device, type: byId('save-type').value, inputType, input: name, quality: JPEG_QUALITY };
}

function showState() {
  writeAddress({ steps: planText(steps.steps), device: page.device, type: '' });
  showCommands(byId('command-lines'), facts());
}

/** Anything that changes the result was changed. The address and the lines follow when it rests. */
function changed(dragging) {
  clearTimeout(resting);
  if (dragging) resting = setTimeout(showState, 200);
  else showState();
  delete document.documentElement.dataset.shown;
  if (!page.input) return;
  if (!steps.steps.length) dropResult();
  runner.change(state(), dragging);
}

function dropResult() {
  const old = page.result;
  page.result = null;
  dropPreview();
  histograms.clear();
  if (page.input?.counts) histograms.set('before', page.input.counts);
  dropSeams();
  for (const box of ['account', 'told', 'devices', 'seams']) byId(box).replaceChildren();
  byId('statistics-empty').hidden = false;
  byId('save').disabled = true;
  showPictures();
  closeResult(old);
}

function closeResult(result) {
  if (result?.picture && result.picture !== page.input?.picture) result.picture.close();
}

function dropPreview() {
  page.preview?.close();
  page.preview = null;
}

// ---- pictures

const stepText = (count) => planText(steps.steps.slice(0, count));

function beforePicture() {
  if (page.chosen === 'output') return null;
  const count = page.chosen.startsWith('step-') ? Number(page.chosen.slice(5)) : 0;
  return (count && page.between.get(stepText(count))?.picture) || page.input?.picture || null;
}

function chosenName() {
  return page.chosen.startsWith('step-') ? `After step ${page.chosen.slice(5)}` : 'Input';
}

function showPictures() {
  showViewer();
  drawStrip();
}

function showViewer() {
  const after = page.preview ?? page.result?.picture ?? page.input?.picture ?? null;
  byId('empty').hidden = page.input !== null;
  if (!after) viewer.clear();
  else viewer.show(page.result || page.preview ? beforePicture() : null, after, [chosenName(), page.preview ? 'Preview' : 'Output']);
  byId('canvas').setAttribute('aria-label', describe(after));
}

function describe(after) {
  if (!after || !page.input) return 'No picture yet';
  const size = `${whole(after.fullWidth)} by ${whole(after.fullHeight)} pixels`;
  return steps.steps.length && after !== page.input.picture
    ? `${page.input.name} after ${steps.steps.map((step) => step.operator.name).join(', ')}, ${size}`
    : `${page.input.name}, ${size}`;
}

function drawStrip() {
  if (!page.input?.picture || !page.result) return drawFilmstrip([], '', choose);
  const items = [{ name: 'Input', picture: page.input.picture, key: 'input' }];
  steps.steps.slice(0, -1).forEach((step, i) => {
    if (!step.operator.values) items.push({ name: `${i + 1} ${step.operator.name}`, picture: page.between.get(stepText(i + 1))?.picture ?? null, key: `step-${i + 1}` });
  });
  items.push({ name: 'Output', picture: page.result.picture, key: 'output' });
  return drawFilmstrip(items, page.chosen, choose);
}

async function choose(key) {
  page.chosen = key;
  viewer.comparing = key !== 'output';
  byId('compare').setAttribute('aria-pressed', String(viewer.comparing));
  showPictures();
  byId('filmstrip').querySelector(`[data-key="${key}"]`)?.focus();
  const count = Number(key.slice(5));
  if (!key.startsWith('step-') || page.between.get(stepText(count))?.full) return;
  const { input, device } = page, prefix = steps.steps.slice(0, count), text = stepText(count);
  try {
    const answer = await run({ operations: operations(prefix), image: input.blob, files: filesOf(prefix), type: 'png', device });
    keepBetween(input, text, { picture: await openPicture(answer.blob), full: true });
  } catch (error) {
    failed(error);
  }
}

function keepBetween(input, text, made) {
  if (input !== page.input) return made.picture.close();
  const old = page.between.get(text);
  page.between.set(text, made);
  showPictures();
  return old?.picture.close();
}

/** The pictures between the steps, small: one after the other, while nothing else is to be done. */
async function fillStrip() {
  const { input, result } = page;
  for (let count = 1; count < steps.steps.length; count++) {
    const text = stepText(count);
    if (page.between.has(text) || steps.steps[count - 1].operator.values) continue;
    if (!input.preview) return;
    const picture = await previewOf({ input, steps: steps.steps.slice(0, count), device: page.device }).catch(() => null);
    if (!picture) return;
    keepBetween(input, text, { picture, full: false });
    if (result !== page.result || input !== page.input) return;
  }
}

function forgetBetween() {
  for (const { picture } of page.between.values()) picture.close();
  page.between.clear();
}

// ---- seams

function dropSeams() {
  viewer.overlay?.close();
  viewer.overlay = null;
}

/** The button's place, and where it is pressed the seams of what is shown now. */
async function updateSeams() {
  const { result, input } = page;
  dropSeams();
  viewer.paint();
  showSeams(byId('seams'), { steps: result ? steps.steps : [], input }, page.seams, toggleSeams);
  if (!page.seams || !result || seamStep(steps.steps) < 0 || !input.preview) return;
  const picture = await seamsOf(state()).catch((error) => (failed(error), null));
  if (result !== page.result || !page.seams) return picture?.close();
  dropSeams();
  viewer.overlay = picture;
  viewer.paint();
  document.documentElement.dataset.seams = result.text;
}

function toggleSeams(on) {
  page.seams = on;
  if (on) choose(seamStep(steps.steps) > 0 ? `step-${seamStep(steps.steps)}` : 'input');
  updateSeams();
  byId('show-seams')?.focus();
}

// ---- what a run brings

function showBusy(now) {
  byId('busy').hidden = false;
  const bar = byId('progress');
  if (!now?.total) {
    bar.removeAttribute('value');
    byId('busy-text').textContent = now?.state === 'waiting' ? 'Waiting in the queue…' : page.input?.picture ? 'Working…' : 'Reading…';
    return;
  }
  bar.max = now.total;
  bar.value = now.done;
  const name = steps.steps[now.step]?.operator.name ?? '';
  byId('busy-text').textContent = `${name}: ${whole(now.done)} of ${whole(now.total)} ${now.unit ?? ''}`.trim();
}

function showPreview(picture, ms) {
  const old = page.preview;
  page.preview = picture;
  showViewer();
  old?.close();
  say(`Preview in ${milliseconds(ms)}; in full when the value rests.`);
  document.documentElement.dataset.previewMs = ms.toFixed(1);
}

function showResult(result, ms) {
  const old = page.result;
  page.result = result;
  const preview = page.preview;
  page.preview = null;
  if (page.chosen.startsWith('step-') && Number(page.chosen.slice(5)) >= steps.steps.length) page.chosen = 'input';
  showPictures();
  preview?.close();
  closeResult(old);
  if (page.input.counts) histograms.set('before', page.input.counts);
  hideNotice();
  byId('statistics-empty').hidden = true;
  byId('save').disabled = !result.blob;
  showAccount(byId('account'), result.report, ms);
  showTold(byId('told'), result.report.values);
  showDevices(byId('devices'), { ready: page.ready, state: state(), result }, failed);
  say(`Done: ${steps.steps.map((step) => step.operator.name).join(', ')} in ${milliseconds(result.report.ms.total)} on ${result.report.device}.`);
  document.documentElement.dataset.resultMs = ms.toFixed(1);
  document.documentElement.dataset.shown = result.text;
  updateSeams();
  fillStrip();
}

function failed(error) {
  if (error instanceof Gone) return gone();
  if (error instanceof Problem) showProblem(error, error.status >= 500 ? () => changed(false) : null);
  else showNotice('This did not work', String(error.message));
  dropPreview();
  showPictures();
  return say('Not done.');
}

// ---- the daemon, gone and back

async function gone() {
  if (page.gone) return;
  page.gone = true;
  runner.stop();
  showNotice('The daemon does not answer', 'It is asked again every second; what is open here stays. Is burin serve still running?');
  say('Waiting for the daemon.');
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, BACK_MS));
    const back = await readiness(AbortSignal.timeout(5000)).catch(() => null);
    if (back && back.workers.some((worker) => worker.healthy)) break;
  }
  page.gone = false;
  hideNotice();
  say('The daemon is back.');
  await connect();
  changed(false);
}

/** What operators and devices there are; steps are kept, of the operators that are now. */
async function connect() {
  try {
    [page.operators, page.ready] = await Promise.all([operators(), readiness()]);
  } catch (error) {
    return failed(error);
  }
  drawPalette(page.operators, (operator) => steps.add(operator));
  showDeviceChoice(page.ready, page.device);
  return readSteps(steps.steps.length ? planText(steps.steps) : readAddress().steps);
}

function readSteps(text) {
  const { steps: read, strangers } = readPlan(text, page.operators);
  read.forEach((step, i) => {
    if (steps.steps[i]?.operator.name === step.operator.name) step.files = steps.steps[i].files;
  });
  steps.set(read);
  if (strangers.length) showNotice('The address names what this daemon does not have', strangers.join(', '));
  showState();
}

// ---- opening and saving

const magics = [['jpeg', 0xff, 0xd8], ['png', 0x89, 0x50], ['pnm', 0x50, 0x35], ['pnm', 0x50, 0x36]];

async function typeOf(blob) {
  const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  return magics.find(([, a, b]) => head[0] === a && head[1] === b)?.[0] ?? 'png';
}

async function open(file) {
  if (unsaved()) {
    const answer = await askUnsaved('Opening another picture loses it.');
    if (answer === 'cancel') return;
    if (answer === 'save' && !(await save())) return;
  }
  runner.stop();
  const input = { name: file.name || 'pasted.png', blob: file, type: await typeOf(file), picture: null, counts: null, preview: null };
  const start = performance.now();
  const old = page.input;
  const oldResult = page.result;
  page.result = null;
  dropPreview();
  forgetBetween();
  page.input = input;
  page.chosen = page.chosen === 'output' ? 'output' : 'input';
  viewer.clear();
  closeResult(oldResult);
  old?.picture?.close();
  histograms.clear();
  byId('empty').hidden = true;
  byId('file').replaceChildren(input.name);
  byId('save-type').value = input.type;
  hideNotice();
  const loading = setTimeout(() => showBusy(null), 200);
  delete document.documentElement.dataset.shown;
  delete document.documentElement.dataset.opened;
  input.opened = openPicture(file, { preview: PREVIEW_PIXELS, later: (part) => later(input, part) });
  changed(false);
  try {
    input.picture = await input.opened;
  } catch (error) {
    await unreadable(input, error);
    return;
  } finally {
    clearTimeout(loading);
    if (!runner.full) byId('busy').hidden = true;
  }
  if (page.input !== input) return input.picture.close();
  showOpened(input, performance.now() - start);
}

function later(input, part) {
  if (part.counts) input.counts = part.counts;
  if (part.bytes) input.preview = part;
  if (input !== page.input) return;
  if (part.counts) histograms.set('before', part.counts);
  if (part.bytes && page.result) fillStrip();
}

function showOpened(input, ms) {
  const { width, height } = input.picture;
  byId('file').replaceChildren(Object.assign(document.createElement('strong'), { textContent: input.name }), ` ${whole(width)} × ${whole(height)}`);
  steps.setPicture({ width, height });
  showPictures();
  document.documentElement.dataset.opened = input.name;
  if (!steps.steps.length) say(`Opened in ${milliseconds(ms)}. Add a step.`);
}

/** The browser cannot read it: what the daemon thinks of it says more. */
async function unreadable(input, error) {
  if (page.input !== input) return;
  page.input = null;
  runner.stop();
  viewer.clear();
  byId('empty').hidden = false;
  byId('file').textContent = 'No picture';
  const answer = await fetch('/info', { method: 'POST', body: input.blob, headers: { 'Content-Type': 'application/octet-stream' } }).catch(() => null);
  if (!answer) return gone();
  if (answer.ok) showNotice('This browser cannot show the picture', `${error.message}. Burin can read it: use the curl line.`);
  else showProblem(new Problem(answer.status, await answer.json().catch(() => null)));
  say('Not opened.');
}

/** True: it is saved. */
async function save() {
  const { result, input, device } = page;
  if (!result?.blob) return false;
  const type = byId('save-type').value;
  try {
    const blob = type === 'png' ? result.blob
      : (await run({ operations: operations(result.steps), image: input.blob, files: filesOf(result.steps), type, quality: JPEG_QUALITY, device })).blob;
    const name = outputName(input.name, result.steps, type);
    saveBlob(blob, name);
    result.saved = true;
    say(`Saved as ${name}.`);
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}

// ---- buttons and keys

function pixelText(x, y) {
  if (!viewer.after || !(x >= 0 && y >= 0)) return '';
  const hex = (samples) => (samples ? `#${Array.from(samples.slice(0, samples[3] === 255 ? 3 : 4), (sample) => sample.toString(16).padStart(2, '0')).join('')}` : '–');
  const after = viewer.after.pixel(x, y);
  const before = viewer.isComparing ? `${hex(viewer.before.pixel(x, y))} → ` : '';
  return after ? `${Math.floor(x)}, ${Math.floor(y)}  ${before}${hex(after)}` : '';
}

function toggleComparing() {
  if (page.chosen === 'output') return choose('input');
  viewer.setComparing(!viewer.comparing);
  byId('compare').setAttribute('aria-pressed', String(viewer.comparing));
  return undefined;
}

function listen() {
  byId('zoom-in').addEventListener('click', () => viewer.zoomTo(viewer.zoom * 1.5));
  byId('zoom-out').addEventListener('click', () => viewer.zoomTo(viewer.zoom / 1.5));
  byId('zoom-fit').addEventListener('click', () => viewer.fit());
  byId('zoom-real').addEventListener('click', () => viewer.zoomTo(1));
  byId('compare').addEventListener('click', toggleComparing);
  byId('cancel').addEventListener('click', () => {
    runner.stop();
    dropPreview();
    showPictures();
    say('Cancelled.');
  });
  byId('save').addEventListener('click', save);
  byId('save-type').addEventListener('change', showState);
  byId('device').addEventListener('change', () => {
    page.device = byId('device').value;
    forgetBetween();
    changed(false);
  });
  byId('commands').addEventListener('toggle', showState);
  viewer.pointed = (x, y) => (byId('pixel').textContent = pixelText(x, y));
  addEventListener('hashchange', () => {
    const address = readAddress();
    page.device = address.device;
    showDeviceChoice(page.ready, page.device);
    readSteps(address.steps);
    changed(false);
  });
  addEventListener('keydown', key);
}

function key(event) {
  const command = event.ctrlKey || event.metaKey;
  const typing = event.target.closest?.('input, select, textarea, dialog');
  if (command && event.key === 'o') byId('file-input').click();
  else if (command && event.key === 's') save();
  else if (!command && !typing && event.key === 'c') toggleComparing();
  else return;
  event.preventDefault();
}

listenForFiles(open);
guardLeaving(unsaved);
listen();
page.device = readAddress().device;
connect().then(() => document.documentElement.setAttribute('data-ready', ''));
