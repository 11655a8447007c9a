// Previews. Text is shown as text; images as images, in which scripts do not run; PDF and rendered HTML in frames that have no
// rights here: their own opaque origin, no scripts, and the page's policy on top.

import { checkbox, fill, h } from '../lib/dom.js';
import { readRange } from '../lib/blob.js';
import { records } from '../lib/csv.js';
import { pretty } from '../lib/queues.js';
import { size } from '../lib/format.js';
import { errorBox, isCancelled } from '../ui/feedback.js';

/** @typedef {{revision: import('../lib/blob.js').Revision, properties: import('../lib/blob.js').Properties, signal: AbortSignal}} Options */

const TEXT_BYTES_MAX = 512 * 1024;
const MEDIA_BYTES_MAX = 32 * 1024 * 1024;
const CSV_ROWS_MAX = 500;
const HEX_BYTES = 512;
/** Only these are shown as images, whatever the blob calls itself. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/svg+xml', 'image/x-icon'];

/**
 * @param {import('../lib/client.js').Account} account
 * @param {string} container
 * @param {string} name
 * @param {Options} options
 */
export function preview(account, container, name, options) {
  const slot = h('div', { class: 'preview' }, h('p', { class: 'faint' }, 'Loading…'));
  show(account, container, name, options).then(
    (element) => fill(slot, element),
    (error) => { if (!isCancelled(error)) fill(slot, errorBox(error)); },
  );
  return slot;
}

/**
 * @param {import('../lib/client.js').Account} account
 * @param {string} container
 * @param {string} name
 * @param {Options} options
 * @returns {Promise<HTMLElement>}
 */
async function show(account, container, name, { revision, properties, signal }) {
  const { size: total } = properties;
  if (total === 0) return h('p', { class: 'faint' }, 'The blob is empty.');
  const kind = kindOf(properties.type.split(';')[0]?.trim().toLowerCase() ?? '', name);
  const isMedia = kind === 'image' || kind === 'pdf';
  const limit = isMedia ? MEDIA_BYTES_MAX : TEXT_BYTES_MAX;
  if (isMedia && total > limit) return h('p', { class: 'faint' }, `Too large for a preview (${size(total)}); download it instead.`);
  const bytes = await readRange(account, container, name, { revision, start: 0, end: Math.min(total, limit), signal });
  if (kind === 'image') return imageOf(bytes, properties.type, name);
  if (kind === 'pdf') return frameOf(bytes, 'application/pdf', name, signal);
  const text = decodeStart(bytes, total > bytes.length);
  if (text === undefined) return h('div', {}, h('p', { class: 'faint' }, 'Binary content; its first bytes:'), h('pre', { class: 'text', tabIndex: 0, 'aria-label': 'First bytes' }, hex(bytes)));
  const note = total > bytes.length ? h('p', { class: 'faint' }, `The first ${size(bytes.length)} of ${size(total)}.`) : null;
  if (kind === 'csv') return h('div', {}, note, csvTable(text));
  if (kind === 'html') return h('div', {}, note, htmlView(text, bytes, name, signal));
  return h('div', {}, note, h('pre', { class: 'text', tabIndex: 0, 'aria-label': `Content of ${name}` }, (kind === 'json' && !note ? pretty(text) : undefined) ?? text));
}

/**
 * @param {string} type
 * @param {string} name
 */
export function kindOf(type, name) {
  const end = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  if (IMAGES.includes(type) || (type === 'application/octet-stream' && ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'bmp', 'svg', 'ico'].includes(end))) return 'image';
  if (type === 'application/pdf' || (type === 'application/octet-stream' && end === 'pdf')) return 'pdf';
  if (type === 'text/csv' || end === 'csv') return 'csv';
  if (type.endsWith('json') || end === 'json') return 'json';
  if (type === 'text/html') return 'html';
  return 'text';
}

/**
 * Text, if it is UTF-8. A character that is cut off at the end is left out.
 * @param {Uint8Array} bytes
 * @param {boolean} isCut
 */
function decodeStart(bytes, isCut) {
  for (let cut = 0; cut <= (isCut ? 3 : 0); cut += 1) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytes.length - cut));
      return text.includes('\u0000') ? undefined : text;
    } catch {
      // Perhaps a character was cut in two: try again with a byte less.
    }
  }
  return undefined;
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} type
 * @param {string} name
 */
function imageOf(bytes, type, name) {
  const bare = type.split(';')[0]?.trim().toLowerCase() ?? '';
  const guess = name.toLowerCase().endsWith('.svg') ? 'image/svg+xml' : 'image/png';
  const url = URL.createObjectURL(new Blob([bytes], { type: IMAGES.includes(bare) ? bare : guess }));
  const image = h('img', { src: url, alt: `Content of ${name}` });
  image.addEventListener('load', () => URL.revokeObjectURL(url));
  image.addEventListener('error', () => { URL.revokeObjectURL(url); image.replaceWith(h('p', { class: 'faint' }, 'The image cannot be shown.')); });
  return h('div', { class: 'image' }, image);
}

/**
 * A frame with content of a type that is fixed here, not by the blob. HTML is sandboxed; the browser's own PDF viewer is isolated by
 * itself and does not work in a sandbox.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {'application/pdf' | 'text/html'} type
 * @param {string} name
 * @param {AbortSignal} signal
 */
function frameOf(bytes, type, name, signal) {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  signal.addEventListener('abort', () => URL.revokeObjectURL(url));
  return h('iframe', { src: url, title: `Content of ${name}`, sandbox: type === 'text/html' ? '' : undefined, referrerpolicy: 'no-referrer' });
}

/**
 * @param {string} text
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} name
 * @param {AbortSignal} signal
 */
function htmlView(text, bytes, name, signal) {
  const slot = h('div', {});
  const source = () => fill(slot, h('pre', { class: 'text', tabIndex: 0, 'aria-label': `Source of ${name}` }, text));
  const rendered = checkbox('Rendered, without scripts and other resources', false, (isChecked) => {
    if (isChecked) fill(slot, frameOf(bytes, 'text/html', name, signal));
    else source();
  });
  source();
  return h('div', {}, rendered.element, slot);
}

/** @param {string} text */
function csvTable(text) {
  /** @type {Array<Array<string | undefined>>} */
  const rows = [];
  try {
    for (const record of records(text)) {
      rows.push(record);
      if (rows.length > CSV_ROWS_MAX) break;
    }
  } catch {
    return h('pre', { class: 'text', tabIndex: 0, 'aria-label': 'Content' }, text);
  }
  const [head = [], ...body] = rows;
  const table = h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, head.map((cell) => h('th', { scope: 'col' }, cell ?? '')))), h('tbody', {}, body.map((row) => h('tr', {}, row.map((cell) => h('td', {}, cell ?? ''))))));
  return h('div', { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Content as a table' }, table, rows.length > CSV_ROWS_MAX ? h('p', { class: 'faint' }, `The first ${CSV_ROWS_MAX} rows.`) : null);
}

/** @param {Uint8Array} bytes */
function hex(bytes) {
  const lines = [];
  for (let at = 0; at < Math.min(bytes.length, HEX_BYTES); at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ').padEnd(48);
    lines.push(`${at.toString(16).padStart(8, '0')}  ${digits} ${row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '·')).join('')}`);
  }
  return lines.join('\n');
}

