// Shows the results of a run.
import { showTimes } from './times.js';
import { failed } from './connection.js';
import { showDevices } from './devices.js';
import { byId, byteCount, milliseconds, whole } from './element.js';
import { hideNotice } from './notice.js';
import { histograms, mark, page, say, state, stepList } from './page.js';
import { isSamePlan, titleOf } from './plan.js';
import { dropSeams, fillStrip, showPictures, showViewer, updateSeams } from './stages.js';
import { showValues } from './values.js';

export function showIdle() {
    byId('busy').hidden = true;
}

/** NOW: the answer of GET /progress, or null. */
export function showBusy(now) {
    byId('busy').hidden = false;
    const bar = byId('progress');
    if (!now?.total) {
        bar.removeAttribute('value');
        byId('busy-text').textContent =
            now?.state === 'waiting'
                ? 'Waiting in the queue…'
                : page.reading
                  ? `Reading ${byteCount(page.reading.file.size)}…`
                  : 'Working…';
        return;
    }
    bar.max = now.total;
    bar.value = now.done;
    byId('busy-text').textContent =
        `${now.operation ?? 'Working'}: ${whole(now.done)} of ${whole(now.total)} ${now.unit ?? ''}`.trim();
}

export function showPreview(picture, ms) {
    const old = page.preview;
    page.preview = picture;
    showViewer();
    old?.close();
    say(`Preview (${milliseconds(ms)}); the full result follows.`);
    mark('previewMs', ms.toFixed(1));
}

/** The full run goes on: it may still succeed. */
export function showPreviewProblem(error) {
    failed(error, { action: page.recovery(error) });
}

export function showPreviewCounts(counts) {
    if (page.preview) histograms.set('after', counts, true);
}

export function showCounts(result, counts) {
    result.counts = counts;
    if (result === page.result) histograms.set('after', counts, !result.isWhole);
}

/** MS: from the start of the run to the picture. */
export function showResult(result, ms) {
    const old = page.result;
    page.result = result;
    result.saved = Boolean(old?.saved) && isSamePlan(old, result); // now the whole of it
    const preview = page.preview;
    page.preview = null;
    showPictures();
    preview?.close();
    closeResult(old);
    if (page.input.counts) histograms.set('before', page.input.counts);
    hideNotice();
    stepList.blame('');
    byId('statistics-empty').hidden = true;
    showTimes(byId('times'), result.report, ms);
    showValues(byId('values'), result.report);
    showDevices(byId('devices'), { ready: page.ready, state: state(), result }, failed);
    const names = result.steps.map(titleOf).join(', ');
    say(`Done: ${names} in ${milliseconds(result.report.ms.total)} on ${result.report.device}.`);
    mark('resultMs', ms.toFixed(1));
    mark('shown', result.text);
    mark('whole', String(result.isWhole));
    page.live.resume();
    updateSeams();
    fillStrip();
}

/** A run failed: the previous result stays. */
export function showFailure(error) {
    failed(error, { action: page.recovery(error) });
    dropPreview();
    showPictures();
}

// ---- removing results

export function dropPreview() {
    if (page.preview) histograms.set('after', page.result?.counts, page.result?.isWhole === false);
    page.preview?.close();
    page.preview = null;
}

/** Closes the result's picture, unless it is the input's. */
export function closeResult(result) {
    if (result?.picture && result.picture !== page.input?.picture) result.picture.close();
}

export function dropResult() {
    const old = page.result;
    page.result = null;
    dropPreview();
    dropSeams();
    histograms.clear();
    if (page.input?.counts) histograms.set('before', page.input.counts);
    for (const box of ['times', 'values', 'devices', 'seams']) byId(box).replaceChildren();
    byId('statistics-empty').hidden = false;
    showPictures();
    closeResult(old);
}
