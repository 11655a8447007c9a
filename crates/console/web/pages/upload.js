// Uploads of files and folders, by choice or by drag and drop: in blocks, with progress, pause and cancel.

import { h } from '../lib/dom.js';
import { isAlreadyThere, uploadFile } from '../lib/blob.js';
import { plural, size } from '../lib/format.js';
import { run, toast } from '../ui/feedback.js';
import { confirmReplacing } from './replace.js';

/** @typedef {{account: import('../lib/client.js').Account, container: string, prefix: string, load: () => Promise<void>}} Target */
/** @typedef {{path: string, file: File}} Upload */

const FILES_AT_A_TIME = 3;

/**
 * @param {Target} target
 * @param {boolean} isFolder
 */
export function chooseFiles(target, isFolder) {
  const input = h('input', { type: 'file', multiple: true, hidden: true, webkitdirectory: isFolder ? true : undefined });
  input.addEventListener('change', () => {
    const files = [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    input.remove();
    uploadAll(target, files);
  });
  document.body.appendChild(input);
  input.click();
}

/**
 * @param {HTMLElement} element
 * @param {Target} target
 */
export function dropZone(element, target) {
  element.addEventListener('dragover', (event) => {
    event.preventDefault();
    element.classList.add('dropping');
  });
  element.addEventListener('dragleave', (event) => {
    if (!(event.relatedTarget instanceof Node && element.contains(event.relatedTarget))) element.classList.remove('dropping');
  });
  element.addEventListener('drop', async (event) => {
    event.preventDefault();
    element.classList.remove('dropping');
    await uploadAll(target, await dropped(event.dataTransfer));
  });
}

/**
 * @param {DataTransfer | null} data
 * @returns {Promise<Upload[]>}
 */
async function dropped(data) {
  const entries = [...(data?.items ?? [])].map((item) => item.webkitGetAsEntry?.());
  if (entries.some(Boolean)) {
    const lists = await Promise.all(entries.map((entry) => (entry ? walk(entry) : [])));
    return lists.flat();
  }
  return [...(data?.files ?? [])].map((file) => ({ path: file.name, file }));
}

/**
 * @param {FileSystemEntry} entry
 * @returns {Promise<Upload[]>}
 */
async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((/** @type {(file: File) => void} */ resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\//, ''), file }];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {Upload[]} */
  const found = [];
  for (;;) {
    const batch = await new Promise((/** @type {(entries: FileSystemEntry[]) => void} */ resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return found;
    for (const child of batch) found.push(...(await walk(child)));
  }
}

/**
 * @param {Target} target
 * @param {Upload[]} uploads
 */
export async function uploadAll(target, uploads) {
  if (uploads.length === 0) return;
  const existing = await send(target, uploads, false);
  if (existing.length > 0 && (await confirmReplacing(target.container, existing.map((upload) => target.prefix + upload.path)))) await send(target, existing, true);
  await target.load();
}

/**
 * Uploads files. Returns those that would have replaced a blob.
 * @param {Target} target
 * @param {Upload[]} uploads
 * @param {boolean} isReplacing
 */
async function send(target, uploads, isReplacing) {
  /** @type {Upload[]} */
  const existing = [];
  const total = uploads.reduce((sum, upload) => sum + upload.file.size, 0);
  await run(`Upload ${plural(uploads.length, 'file')}`, async (job) => {
    let bytes = 0;
    let done = 0;
    let sent = 0;
    const progress = (/** @type {number} */ more) => {
      bytes += more;
      job.update(`${size(bytes)} of ${size(total)}, ${done} of ${plural(uploads.length, 'file')}`, bytes, total || 1);
    };
    const queue = uploads.values();
    const worker = async () => {
      for (const upload of queue) {
        await job.paused();
        try {
          await uploadFile(target.account, target.container, target.prefix + upload.path, upload.file, { signal: job.signal, progress, paused: job.paused, isReplacing });
          done += 1;
          sent += upload.file.size;
        } catch (error) {
          if (!isAlreadyThere(error)) throw error;
          existing.push(upload);
        }
        progress(0);
      }
    };
    await Promise.all(Array.from({ length: FILES_AT_A_TIME }, worker));
    if (done > 0) toast(`Uploaded ${plural(done, 'file')} (${size(sent)})`);
  }, { canPause: true });
  return existing;
}
