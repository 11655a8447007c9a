// What is done with several blobs and folders at once: download, delete with undo, copy, move, sizes.

import { field, h, select } from '../lib/dom.js';
import { listBlobs, listContainers } from '../lib/blobs.js';
import { blobProperties, canRestore, copyBlob, deleteBlob, isAlreadyThere, restoreBlob } from '../lib/blob.js';
import { child, text } from '../lib/xml.js';
import { number, plural, size } from '../lib/format.js';
import { confirm, form } from '../ui/dialog.js';
import { attempt, inParallel, run, toast } from '../ui/feedback.js';
import { downloadBlob, downloadMany } from './download.js';
import { confirmReplacing } from './replace.js';

/** @typedef {import('../lib/blobs.js').Item} Item */
/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('./container.js').ContainerView} ContainerView */

const AT_A_TIME = 6;

/**
 * All blobs of the chosen items: those of folders with everything below.
 * @param {ContainerView} view
 * @param {Item[]} items
 * @param {AbortSignal} signal
 * @param {(found: number) => void} [progress]
 */
async function expand(view, items, signal, progress) {
  /** @type {Item[]} */
  const found = [];
  for (const item of items) {
    if (item.kind === 'blob') {
      found.push(item);
      continue;
    }
    for await (const page of listBlobs(view.account, view.container, { prefix: item.name, signal })) {
      for (const blob of page) found.push(blob);
      progress?.(found.length);
    }
  }
  return found;
}

/**
 * @param {ContainerView} view
 * @param {Item[]} items
 */
export async function downloadItems(view, items) {
  const chosen = items.filter((candidate) => !candidate.isDeleted);
  const source = (/** @type {Item} */ item) => ({ container: view.container, name: item.name, revision: { snapshot: item.snapshot, version: item.isCurrent ? undefined : item.version } });
  const only = chosen.length === 1 && chosen[0]?.kind === 'blob' ? chosen[0] : undefined;
  if (only) return downloadBlob(view.account, view.container, only.name, source(only).revision);
  const base = view.prefix.slice(0, view.prefix.lastIndexOf('/') + 1);
  return downloadMany(view.account, async (job) => (await expand(view, chosen, job.signal, (found) => job.update(plural(found, 'blob')))).map(source), (name) => name.slice(base.length));
}

/**
 * Days for which deleted blobs can be restored; 0 if they cannot.
 * @param {Account} account
 */
export async function retentionDays(account) {
  try {
    const root = await account.xml('blob', 'GET', '/', { query: { restype: 'service', comp: 'properties' } });
    const policy = child(root, 'DeleteRetentionPolicy');
    return text(policy, 'Enabled') === 'true' ? Number(text(policy, 'Days')) : 0;
  } catch {
    return 0; // A SAS may not permit to ask; then nothing is promised.
  }
}

/**
 * @param {ContainerView} view
 * @param {Item[]} items
 */
export async function removeItems(view, items) {
  const chosen = items.filter((item) => !item.isDeleted);
  /** @type {Item[] | undefined} */
  let blobs = chosen;
  if (chosen.some((item) => item.kind === 'folder')) {
    blobs = await run('Count blobs', (job) => expand(view, chosen, job.signal, (found) => job.update(plural(found, 'blob'))));
  }
  if (blobs && blobs.length > 0) await removeBlobs(view, blobs);
}

/**
 * @param {ContainerView} view
 * @param {Item[]} blobs
 */
async function removeBlobs(view, blobs) {
  const days = await retentionDays(view.account);
  const total = blobs.reduce((sum, blob) => sum + blob.size, 0);
  const what = blobs.length === 1 ? `the blob ${blobs[0]?.name}` : plural(blobs.length, 'blob');
  const hope = await prospect(view, blobs, days);
  if (!(await confirm('Delete blobs', `This deletes ${what} (${size(total)}) with snapshots. ${hope}`, `Delete ${plural(blobs.length, 'blob')}`))) return;
  /** @type {string[]} */
  const deleted = [];
  let isUndoable = false;
  await run('Delete blobs', (job) => inParallel(blobs, AT_A_TIME, async (blob) => {
    job.signal.throwIfAborted();
    const revision = { snapshot: blob.snapshot, version: blob.isCurrent ? undefined : blob.version };
    const response = await deleteBlob(view.account, view.container, blob.name, { revision, snapshots: blob.isCurrent ? 'include' : undefined, signal: job.signal });
    if (canRestore(response)) isUndoable = true;
    deleted.push(blob.name);
    job.update(`${number(deleted.length)} of ${number(blobs.length)}`, deleted.length, blobs.length);
  }));
  if (deleted.length > 0) {
    const undo = { label: 'Undo', run: () => undelete(view, deleted) };
    toast(`Deleted ${plural(deleted.length, 'blob')}`, isUndoable ? { action: undo } : {});
  }
  await view.load();
}

/**
 * What becomes of deleted blobs, in words.
 * @param {ContainerView} view
 * @param {Item[]} blobs
 * @param {number} days of soft delete
 */
async function prospect(view, blobs, days) {
  const [they, their] = blobs.length === 1 ? ['it', 'Its'] : ['they', 'Their'];
  if (days) return `${they === 'it' ? 'It' : 'They'} can be restored for ${plural(days, 'day')}.`;
  const sample = blobs[0];
  const isVersioned = sample?.isCurrent && (await hasVersions(view.account, view.container, sample.name));
  return isVersioned ? `${their} versions remain, so ${they} can be restored.` : `Soft delete is off: ${they} cannot be restored.`;
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 */
export async function hasVersions(account, container, name) {
  try {
    return (await blobProperties(account, container, name)).headers.has('x-ms-version-id');
  } catch {
    return false; // It may be gone, or a SAS may not permit to ask.
  }
}

/**
 * @param {ContainerView} view
 * @param {string[]} names
 */
async function undelete(view, names) {
  let done = 0;
  await run('Restore blobs', (job) => inParallel(names, AT_A_TIME, async (name) => {
    job.signal.throwIfAborted();
    await restoreBlob(view.account, view.container, name);
    done += 1;
    job.update(`${number(done)} of ${number(names.length)}`, done, names.length);
  }));
  toast(`Restored ${plural(done, 'blob')}`);
  await attempt(() => view.load());
}

/** @param {ContainerView} view */
export async function emptyContainer(view) {
  const blobs = await run('Count blobs', async (job) => {
    /** @type {Item[]} */
    const found = [];
    for await (const page of listBlobs(view.account, view.container, { prefix: view.prefix, signal: job.signal })) {
      for (const blob of page) found.push(blob);
      job.update(plural(found.length, 'blob'));
    }
    return found;
  });
  if (!blobs) return;
  if (blobs.length === 0) toast('There is nothing to delete');
  else await removeBlobs(view, blobs);
}

/**
 * @param {ContainerView} view
 * @param {Item[]} folders
 */
export async function folderSizes(view, folders) {
  await run('Sizes of folders', async (job) => {
    let count = 0;
    for (const folder of folders) {
      let bytes = 0;
      for await (const page of listBlobs(view.account, view.container, { prefix: folder.name, signal: job.signal })) {
        bytes += page.reduce((sum, blob) => sum + blob.size, 0);
        count += page.length;
        job.update(`${plural(count, 'blob')} counted`);
      }
      view.sizes.set(folder.name, bytes);
      view.redraw();
    }
  });
}

/**
 * @param {ContainerView} view
 * @param {Item[]} items
 * @param {boolean} isMove
 */
export async function copyItems(view, items, isMove) {
  const verb = isMove ? 'Move' : 'Copy';
  const containers = await listContainers(view.account);
  const container = select(containers.map((candidate) => candidate.name), view.container);
  const only = items.length === 1 && items[0]?.kind === 'blob' ? items[0] : undefined;
  const target = h('input', { type: 'text', value: only ? only.name : view.prefix, spellcheck: 'false' });
  const isConfirmed = await form(`${verb} ${plural(items.length, 'item')}`, {
    label: verb,
    body: [field('To container', container), field(only ? 'Name' : 'To folder', target, only ? undefined : 'Ends with a slash; empty for the top of the container'),
      isMove ? h('p', { class: 'faint' }, 'Snapshots are not moved; they are deleted with the original.') : null],
    submit: () => {
      if (only && !target.value) throw new Error('Enter a name.');
      if (!only && target.value && !target.value.endsWith('/')) throw new Error('A folder ends with a slash.');
    },
  });
  if (!isConfirmed) return;
  const base = view.prefix.slice(0, view.prefix.lastIndexOf('/') + 1);
  const to = (/** @type {Item} */ blob) => ({ container: container.value, name: only ? target.value : target.value + blob.name.slice(base.length) });
  const copy = (/** @type {Item[]} */ chosen, /** @type {boolean} */ isReplacing) => run(`${verb} blobs`, async (job) => {
    const blobs = await expand(view, chosen, job.signal);
    /** @type {Item[]} */
    const existing = [];
    let done = 0;
    await inParallel(blobs, AT_A_TIME, async (blob) => {
      job.signal.throwIfAborted();
      if (await copyOne(view, blob, to(blob), { isMove, isReplacing, signal: job.signal })) done += 1;
      else existing.push(blob);
      job.update(`${number(done)} of ${number(blobs.length)}`, done, blobs.length);
    });
    if (done > 0) toast(`${isMove ? 'Moved' : 'Copied'} ${plural(done, 'blob')}`);
    return existing;
  });
  /** @type {Item[]} */
  const existing = (await copy(items, false)) ?? [];
  if (existing.length > 0 && (await confirmReplacing(container.value, existing.map((blob) => to(blob).name)))) await copy(existing, true);
  await view.load();
}

/**
 * Copies or moves a blob. Returns false if it would replace another one.
 * @param {ContainerView} view
 * @param {Item} blob
 * @param {{container: string, name: string}} to
 * @param {{isMove: boolean, isReplacing: boolean, signal: AbortSignal}} options
 */
async function copyOne(view, blob, to, { isMove, isReplacing, signal }) {
  const revision = { snapshot: blob.snapshot, version: blob.isCurrent ? undefined : blob.version };
  const isSame = to.container === view.container && to.name === blob.name;
  if (isSame && isMove) throw new Error(`${blob.name} is there already.`);
  try {
    await copyBlob(view.account, { container: view.container, name: blob.name, revision }, to, { signal, isNew: !isReplacing });
  } catch (error) {
    if (!isAlreadyThere(error)) throw error;
    return false;
  }
  if (isMove) await deleteBlob(view.account, view.container, blob.name, { revision, snapshots: blob.isCurrent ? 'include' : undefined });
  return true;
}
