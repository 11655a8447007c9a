// Toasts, errors and long operations: the page's messages during and after an operation.

import { button, fill, h, icon } from '../lib/dom.js';
import { ServiceError } from '../lib/client.js';

const toasts = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' });
const jobs = h('div', { class: 'jobs', 'aria-label': 'Running operations', role: 'region', hidden: true });
const TOAST_MILLISECONDS = 8000;

export function feedbackElements() {
  return [toasts, jobs];
}

/**
 * @param {string} message
 * @param {{kind?: 'good' | 'bad', action?: {label: string, run: () => unknown}}} [options]
 */
export function toast(message, options = {}) {
  const close = () => element.remove();
  const action = options.action;
  /** @type {HTMLElement} */
  const element = h(
    'div',
    { class: `toast ${options.kind ?? 'good'}` },
    icon(options.kind === 'bad' ? 'warn' : 'check'),
    h('span', { class: 'grow' }, message),
    action
      ? button({ label: action.label, kind: 'quiet', onclick: () => { close(); return action.run(); } })
      : null,
    button({ icon: 'close', name: 'Dismiss', kind: 'quiet', onclick: close }),
  );
  toasts.appendChild(element);
  if (!action) setTimeout(close, TOAST_MILLISECONDS);
}

/** @param {unknown} error */
export function isCancelled(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

/**
 * An error as it is shown: the code of the service, its message and the id of the request.
 * @param {unknown} error
 */
export function errorBox(error) {
  const box = h('div', { class: 'error', role: 'alert' }, icon('warn'));
  const body = h('div', {});
  box.appendChild(body);
  if (error instanceof ServiceError) {
    body.append(h('strong', {}, error.code), h('div', {}, error.message));
    if (error.requestId) body.append(h('div', { class: 'faint mono' }, `Request id ${error.requestId}`));
  } else {
    body.append(h('strong', {}, 'Something went wrong'), h('div', {}, error instanceof Error ? error.message : String(error)));
  }
  return box;
}

/** @param {unknown} error */
export function showError(error) {
  if (isCancelled(error)) return;
  const element = h('div', { class: 'toast bad' }, errorBox(error));
  element.appendChild(button({ icon: 'close', name: 'Dismiss', kind: 'quiet', onclick: () => element.remove() }));
  toasts.appendChild(element);
}

/**
 * Runs something and shows its error.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    showError(error);
    return undefined;
  }
}

/** @typedef {{signal: AbortSignal, update: (text: string, done?: number, total?: number) => void, paused: () => Promise<void>}} Job */

/**
 * Runs a long operation with progress and a way to cancel it.
 * @template T
 * @param {string} title
 * @param {(job: Job) => Promise<T>} work
 * @param {{canPause?: boolean}} [options]
 * @returns {Promise<T | undefined>} `undefined` if it failed or was cancelled
 */
export async function run(title, work, options = {}) {
  const abort = new AbortController();
  const text = h('span', { class: 'faint grow' }, 'Starting…');
  const bar = h('progress', { max: 1, 'aria-label': title });
  /** @type {(() => void) | undefined} */
  let resume;
  /** @type {Promise<void> | undefined} */
  let pausing;
  const pauseSlot = h('span', {});
  const showPause = () => {
    const isPaused = pausing !== undefined;
    fill(pauseSlot, button({
      icon: isPaused ? 'play' : 'pause',
      name: isPaused ? 'Resume' : 'Pause',
      kind: 'quiet',
      onclick: () => {
        if (resume) {
          resume();
          resume = undefined;
          pausing = undefined;
        } else {
          pausing = new Promise((resolve) => { resume = resolve; });
        }
        showPause();
      },
    }));
  };
  if (options.canPause) showPause();
  const cancel = button({ label: 'Cancel', kind: 'quiet', onclick: () => { abort.abort(); resume?.(); } });
  const element = h('div', { class: 'job' }, h('div', { class: 'row' }, h('strong', { class: 'grow' }, title), pauseSlot, cancel), bar, h('div', { class: 'row' }, text));
  jobs.appendChild(element);
  jobs.hidden = false;
  try {
    return await work({
      signal: abort.signal,
      update: (message, done, total) => {
        text.textContent = message;
        if (done !== undefined && total) bar.value = done / total;
      },
      paused: async () => {
        await pausing;
        abort.signal.throwIfAborted();
      },
    });
  } catch (error) {
    if (isCancelled(error)) toast(`${title}: cancelled`);
    else showError(error);
    return undefined;
  } finally {
    element.remove();
    jobs.hidden = jobs.childElementCount === 0;
  }
}

/**
 * Runs work on items, several at a time, in order of their start.
 * @template T
 * @param {Iterable<T>} items
 * @param {number} width
 * @param {(item: T) => Promise<void>} work
 */
export async function inParallel(items, width, work) {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/**
 * Copies text and says so. Without the clipboard, which browsers offer on https and loopback only, the text is shown.
 * @param {string} value
 */
export async function copyText(value) {
  try {
    await navigator.clipboard.writeText(value);
    toast('Copied');
  } catch {
    toast('This browser does not allow copying here; select the text and copy it by hand.', { kind: 'bad' });
  }
}

/**
 * Gives the user a file.
 * @param {string} name
 * @param {Blob} content
 */
export function saveFile(name, content) {
  const url = URL.createObjectURL(content);
  const anchor = h('a', { href: url, download: name });
  document.body.appendChild(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
