// Downloads of blobs: straight to files where the browser can do that, else by way of its own storage.

import { BLOCK_BYTES, blobProperties, readRange } from '../lib/blob.js';
import { number, plural, size } from '../lib/format.js';
import { run, saveFile, toast } from '../ui/feedback.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../lib/blob.js').Revision} Revision */
/** @typedef {import('../ui/feedback.js').Job} Job */
/** @typedef {{write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>, close: () => Promise<void>, abort: () => Promise<void>}} Sink */
/** @typedef {{createWritable: () => Promise<Sink>}} FileHandle */
/** @typedef {{getDirectoryHandle: (name: string, options: object) => Promise<Folder>, getFileHandle: (name: string, options: object) => Promise<FileHandle>}} Folder */
/** @typedef {{container: string, name: string, revision: Revision}} Source */

/** Blobs from this size on are written to a file that the user chooses, piece by piece. */
const PICK_BYTES_MIN = 64 * 1024 * 1024;

/** What only some browsers have.
 * @type {{showSaveFilePicker?: (options: object) => Promise<FileHandle>, showDirectoryPicker?: (options: object) => Promise<Folder>}} */
const pickers = /** @type {any} */ (globalThis);

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {Revision} [revision]
 */
export function downloadBlob(account, container, name, revision = {}) {
  const leaf = leafOf(name);
  return run(`Download ${leaf}`, async (job) => {
    const properties = await blobProperties(account, container, name, revision);
    const isLarge = properties.size >= PICK_BYTES_MIN;
    const sink = isLarge ? await (await pickers.showSaveFilePicker?.({ suggestedName: leaf }))?.createWritable() : undefined;
    await fetchInto(account, { container, name, revision }, job, { sink, progress: (done, total) => job.update(`${size(done)} of ${size(total)}`, done, total) });
  }, { canPause: true });
}

/**
 * Downloads many blobs, into a folder that the user chooses where the browser has such a thing.
 * @param {Account} account
 * @param {(job: Job) => Promise<Source[]>} list
 * @param {(name: string) => string} pathOf where a blob lies in the folder
 */
export async function downloadMany(account, list, pathOf) {
  /** @type {Folder | undefined} */
  let folder;
  try {
    folder = await pickers.showDirectoryPicker?.({ mode: 'readwrite' });
  } catch {
    return; // The user chose none.
  }
  await run('Download blobs', async (job) => {
    const sources = await list(job);
    let done = 0;
    for (const source of sources) {
      await job.paused();
      const sink = folder ? await sinkIn(folder, pathOf(source.name)) : undefined;
      await fetchInto(account, source, job, { sink, progress: () => {} });
      done += 1;
      job.update(`${number(done)} of ${plural(sources.length, 'blob')}`, done, sources.length);
    }
    toast(`Downloaded ${plural(done, 'blob')}`);
  }, { canPause: true });
}

/**
 * Reads a blob piece by piece, all pieces of one state of it.
 * @param {Account} account
 * @param {Source} source
 * @param {Job} job
 * @param {{sink: Sink | undefined, progress: (done: number, total: number) => void}} target without a sink, the browser saves a file
 */
async function fetchInto(account, { container, name, revision }, job, { sink, progress }) {
  const properties = await blobProperties(account, container, name, revision);
  /** @type {Blob[]} */
  const pieces = [];
  const etag = properties.headers.get('etag') ?? undefined;
  try {
    for (let start = 0; start < properties.size; start += BLOCK_BYTES) {
      await job.paused();
      const end = Math.min(properties.size, start + BLOCK_BYTES);
      const bytes = await readRange(account, container, name, { revision, start, end, ...(etag ? { etag } : {}), signal: job.signal });
      if (sink) await sink.write(bytes);
      else pieces.push(new Blob([bytes]));
      progress(end, properties.size);
    }
    if (sink) await sink.close();
    else saveFile(leafOf(name), new Blob(pieces, { type: 'application/octet-stream' }));
  } catch (error) {
    await sink?.abort();
    throw error;
  }
}

/**
 * @param {Folder} folder
 * @param {string} path
 */
async function sinkIn(folder, path) {
  // Names of blobs are arbitrary: none may lead out of the folder.
  const segments = path.split('/').map((segment) => (segment === '' || segment === '.' || segment === '..' ? '_' : segment.replaceAll('\\', '_')));
  const leaf = segments.pop() ?? '_';
  let inner = folder;
  for (const segment of segments) inner = await inner.getDirectoryHandle(segment, { create: true });
  return (await inner.getFileHandle(leaf, { create: true })).createWritable();
}

/** @param {string} name */
function leafOf(name) {
  return name.slice(name.lastIndexOf('/') + 1) || 'blob';
}
