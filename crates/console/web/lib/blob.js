// Operations of the Blob service on one blob.

import { ServiceError, blobPath } from './client.js';
import { listBlobs } from './blobs.js';
import { metadataHeaders, metadataOf } from './queues.js';
import { child, children, escapeXml, text } from './xml.js';
import { toBase64, utf8 } from './bytes.js';
import { ownEndpointOf } from './state.js';

/** @typedef {import('./client.js').Account} Account */
/** @typedef {{snapshot?: string | undefined, version?: string | undefined}} Revision */
/** @typedef {{size: number, type: string, headers: Headers, metadata: Record<string, string>}} Properties */

/** Size of a block: small enough that pausing and progress are fine-grained. */
export const BLOCK_BYTES = 4 * 1024 * 1024;
const BLOCKS_AT_A_TIME = 3;
const COPY_POLL_MILLISECONDS = 300;
const ALREADY_EXISTS = 'BlobAlreadyExists';

/** @param {unknown} error */
export function isAlreadyThere(error) {
  return error instanceof ServiceError && error.code === ALREADY_EXISTS;
}

/**
 * Whether a blob exists, as far as one may know: a SAS may permit to create blobs and not to look at them.
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 */
async function isThere(account, container, name) {
  try {
    await blobProperties(account, container, name);
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.status >= 400 && error.status < 500) return false;
    throw error;
  }
}

/** @param {Revision} [revision] */
function revisionQuery(revision) {
  return { snapshot: revision?.snapshot || undefined, versionid: revision?.version || undefined };
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {Revision} [revision]
 * @returns {Promise<Properties>}
 */
export async function blobProperties(account, container, name, revision) {
  const { headers } = await account.request('blob', 'HEAD', blobPath(container, name), { query: revisionQuery(revision) });
  return { size: Number(headers.get('content-length') ?? 0), type: headers.get('content-type') ?? '', headers, metadata: metadataOf(headers) };
}

/**
 * Bytes of a blob.
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {{revision?: Revision | undefined, start: number, end: number, etag?: string, signal?: AbortSignal}} range `end` is not part of it
 */
export async function readRange(account, container, name, range) {
  const response = await account.request('blob', 'GET', blobPath(container, name), {
    query: revisionQuery(range.revision),
    headers: { 'x-ms-range': `bytes=${range.start}-${range.end - 1}`, 'if-match': range.etag },
    ...(range.signal ? { signal: range.signal } : {}),
  });
  return new Uint8Array(await response.arrayBuffer());
}

/**
 * Uploads a file in blocks. The blob changes when the last request succeeds, and not before.
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {File} file
 * @param {{signal: AbortSignal, progress: (bytes: number) => void, paused: () => Promise<void>, isReplacing: boolean}} job unless it is replacing, the name must be new
 */
export async function uploadFile(account, container, name, file, job) {
  const path = blobPath(container, name);
  const type = file.type || 'application/octet-stream';
  const condition = job.isReplacing ? undefined : '*';
  if (file.size <= BLOCK_BYTES) {
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type, 'content-type': 'application/octet-stream', 'if-none-match': condition };
    await account.request('blob', 'PUT', path, { headers, body: new Uint8Array(await file.arrayBuffer()), signal: job.signal });
    job.progress(file.size);
    return;
  }
  // The server checks the condition at the end: check it first, before all blocks are sent.
  if (!job.isReplacing && (await isThere(account, container, name))) throw new ServiceError(409, ALREADY_EXISTS, 'The specified blob already exists.', '');
  const ids = Array.from({ length: Math.ceil(file.size / BLOCK_BYTES) }, (_, index) => toBase64(utf8(String(index).padStart(8, '0'))));
  let next = 0;
  const worker = async () => {
    while (next < ids.length) {
      const index = next;
      next += 1;
      await job.paused();
      const body = new Uint8Array(await file.slice(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES).arrayBuffer());
      await account.request('blob', 'PUT', path, { query: { comp: 'block', blockid: ids[index] }, headers: { 'content-type': 'application/octet-stream' }, body, signal: job.signal });
      job.progress(body.length);
    }
  };
  await Promise.all(Array.from({ length: BLOCKS_AT_A_TIME }, worker));
  const list = `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`;
  await account.request('blob', 'PUT', path, { query: { comp: 'blocklist' }, headers: { 'x-ms-blob-content-type': type, 'content-type': 'application/xml', 'if-none-match': condition }, body: list, signal: job.signal });
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {{revision?: Revision | undefined, snapshots?: 'include' | 'only' | undefined, signal?: AbortSignal}} [options]
 */
export function deleteBlob(account, container, name, options = {}) {
  return account.request('blob', 'DELETE', blobPath(container, name), { query: revisionQuery(options.revision), headers: { 'x-ms-delete-snapshots': options.snapshots }, ...(options.signal ? { signal: options.signal } : {}) });
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 */
export function undeleteBlob(account, container, name) {
  return account.request('blob', 'PUT', blobPath(container, name), { query: { comp: 'undelete' } });
}

/**
 * Brings a deleted blob back: from soft delete, or else from its newest version.
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 */
export async function restoreBlob(account, container, name) {
  await undeleteBlob(account, container, name);
  try {
    await blobProperties(account, container, name);
    return;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 404) throw error;
  }
  /** @type {string | undefined} */
  let version;
  for await (const page of listBlobs(account, container, { prefix: name, include: ['versions'] })) {
    for (const item of page) if (item.name === name && item.version) version = item.version;
    // Names are in order: beyond this one, others begin.
    if (page.some((item) => item.name > name)) break;
  }
  if (!version) throw new Error(`Nothing of ${name} is left to restore.`);
  await copyBlob(account, { container, name, revision: { version } }, { container, name });
}

/**
 * Was something deleted in a way that can be undone?
 * @param {Response} response to a deletion
 */
export function canRestore(response) {
  return response.headers.get('x-ms-delete-type-permanent') === 'false';
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 */
export async function snapshotBlob(account, container, name) {
  const response = await account.request('blob', 'PUT', blobPath(container, name), { query: { comp: 'snapshot' } });
  return response.headers.get('x-ms-snapshot') ?? '';
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {Record<string, string>} metadata
 */
export function setMetadata(account, container, name, metadata) {
  return account.request('blob', 'PUT', blobPath(container, name), { query: { comp: 'metadata' }, headers: metadataHeaders(metadata) });
}

/** The properties of a blob that users set. */
export const HTTP_HEADERS = ['content-type', 'content-encoding', 'content-language', 'content-disposition', 'cache-control'];

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {Record<string, string>} values by the names in {@link HTTP_HEADERS}; others are removed
 */
export function setHttpHeaders(account, container, name, values) {
  const headers = Object.fromEntries(HTTP_HEADERS.map((header) => [`x-ms-blob-${header}`, values[header] || undefined]));
  return account.request('blob', 'PUT', blobPath(container, name), { query: { comp: 'properties' }, headers });
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {Revision} [revision]
 * @returns {Promise<Record<string, string>>}
 */
export async function getTags(account, container, name, revision) {
  const root = await account.xml('blob', 'GET', blobPath(container, name), { query: { comp: 'tags', ...revisionQuery(revision) } });
  return Object.fromEntries(children(child(root, 'TagSet'), 'Tag').map((tag) => [text(tag, 'Key'), text(tag, 'Value')]));
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {Record<string, string>} tags
 */
export function setTags(account, container, name, tags) {
  const set = Object.entries(tags).map(([key, value]) => `<Tag><Key>${escapeXml(key)}</Key><Value>${escapeXml(value)}</Value></Tag>`).join('');
  const body = `<?xml version="1.0" encoding="utf-8"?><Tags><TagSet>${set}</TagSet></Tags>`;
  return account.request('blob', 'PUT', blobPath(container, name), { query: { comp: 'tags' }, headers: { 'content-type': 'application/xml' }, body });
}

/**
 * @param {Account} account
 * @param {string} container
 * @param {string} name
 * @param {string} tier
 * @param {Revision} [revision]
 */
export function setTier(account, container, name, tier, revision) {
  return account.request('blob', 'PUT', blobPath(container, name), { query: { comp: 'tier', ...revisionQuery(revision) }, headers: { 'x-ms-access-tier': tier } });
}

/**
 * @param {Account} account
 * @param {string} path of a blob or a container
 * @param {'acquire' | 'release' | 'break' | 'renew'} action
 * @param {{id?: string | undefined, seconds?: number, restype?: string}} [options]
 * @returns {Promise<string>} the id of the lease
 */
export async function lease(account, path, action, options = {}) {
  const response = await account.request('blob', 'PUT', path, {
    query: { comp: 'lease', restype: options.restype },
    headers: { 'x-ms-lease-action': action, 'x-ms-lease-id': options.id, 'x-ms-lease-duration': action === 'acquire' ? String(options.seconds ?? -1) : undefined, 'x-ms-lease-break-period': action === 'break' ? '0' : undefined },
  });
  return response.headers.get('x-ms-lease-id') ?? '';
}

/**
 * Copies a blob within the account, and waits until that is done.
 * @param {Account} account
 * @param {{container: string, name: string, revision?: Revision | undefined}} from
 * @param {{container: string, name: string}} to
 * @param {{signal?: AbortSignal, isNew?: boolean}} [settings] `isNew`: the name of the copy must be new
 */
export async function copyBlob(account, from, to, { signal, isNew } = {}) {
  const query = new URLSearchParams(Object.entries(revisionQuery(from.revision)).filter((entry) => entry[1] !== undefined).map(([name, value]) => [name, value ?? '']));
  for (const [name, value] of account.sas) query.append(name, value);
  const search = query.toString();
  const source = `${ownEndpointOf('blob', account.name)}${blobPath(from.container, from.name)}${search ? `?${search}` : ''}`;
  const path = blobPath(to.container, to.name);
  const options = signal ? { signal } : {};
  const started = await account.request('blob', 'PUT', path, { headers: { 'x-ms-copy-source': source, 'if-none-match': isNew ? '*' : undefined }, ...options });
  let status = started.headers.get('x-ms-copy-status');
  while (status === 'pending') {
    await new Promise((resolve) => setTimeout(resolve, COPY_POLL_MILLISECONDS));
    signal?.throwIfAborted();
    status = (await account.request('blob', 'HEAD', path, options)).headers.get('x-ms-copy-status');
  }
  if (status && status !== 'success') throw new Error(`The copy ended as “${status}”.`);
}

