// Operations of the Blob service on containers and listings. What is done to one blob is in blob.js.

import { child, children, parseXml, text } from './xml.js';
import { metadataHeaders, metadataOf } from './queues.js';

/** @typedef {import('./client.js').Account} Account */
/** @typedef {{name: string, modified: string, access: string, lease: string, isDeleted: boolean, version: string}} Container */
/** @typedef {{kind: 'blob' | 'folder', name: string, size: number, modified: string, type: string, blobType: string, tier: string, lease: string, etag: string, snapshot: string, version: string, isCurrent: boolean, isDeleted: boolean, daysLeft: string}} Item */
/** @typedef {{prefix?: string, delimiter?: string, include?: string[], signal?: AbortSignal}} ListOptions */

/**
 * @param {Account} account
 * @param {{deleted?: boolean, signal?: AbortSignal}} [options]
 * @returns {Promise<Container[]>}
 */
export async function listContainers(account, options = {}) {
  /** @type {Container[]} */
  const found = [];
  let marker = '';
  do {
    const include = options.deleted ? 'deleted' : undefined;
    const root = await account.xml('blob', 'GET', '/', { query: { comp: 'list', include, marker: marker || undefined }, ...(options.signal ? { signal: options.signal } : {}) });
    for (const element of children(child(root, 'Containers'), 'Container')) {
      const properties = child(element, 'Properties');
      found.push({
        name: text(element, 'Name'), modified: text(properties, 'Last-Modified'), access: text(properties, 'PublicAccess') || 'private', lease: text(properties, 'LeaseState'),
        isDeleted: text(element, 'Deleted') === 'true', version: text(element, 'Version'),
      });
    }
    marker = text(root, 'NextMarker');
  } while (marker);
  return found;
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {string} access `private`, `blob` or `container`
 */
export function createContainer(account, name, access) {
  return account.request('blob', 'PUT', `/${name}`, { query: { restype: 'container' }, headers: { 'x-ms-blob-public-access': access === 'private' ? undefined : access } });
}

/**
 * @param {Account} account
 * @param {string} name
 */
export function deleteContainer(account, name) {
  return account.request('blob', 'DELETE', `/${name}`, { query: { restype: 'container' } });
}

/**
 * @param {Account} account
 * @param {Container} container
 */
export function restoreContainer(account, container) {
  const headers = { 'x-ms-deleted-container-name': container.name, 'x-ms-deleted-container-version': container.version };
  return account.request('blob', 'PUT', `/${container.name}`, { query: { restype: 'container', comp: 'undelete' }, headers });
}

/**
 * @param {Account} account
 * @param {string} name
 */
export async function containerState(account, name) {
  const response = await account.request('blob', 'GET', `/${name}`, { query: { restype: 'container' } });
  return { access: response.headers.get('x-ms-blob-public-access') ?? 'private', modified: response.headers.get('last-modified') ?? '', lease: response.headers.get('x-ms-lease-state') ?? '', metadata: metadataOf(response.headers) };
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {Record<string, string>} metadata
 */
export function setContainerMetadata(account, name, metadata) {
  return account.request('blob', 'PUT', `/${name}`, { query: { restype: 'container', comp: 'metadata' }, headers: metadataHeaders(metadata) });
}

/**
 * Sets public access. The stored policies are sent along, since the service replaces both at once.
 * @param {Account} account
 * @param {string} name
 * @param {string} access
 */
export async function setPublicAccess(account, name, access) {
  const query = { restype: 'container', comp: 'acl' };
  const current = await (await account.request('blob', 'GET', `/${name}`, { query })).text();
  const body = parseXml(current).childElementCount === 0 ? undefined : current.replace(/^\uFEFF/, '');
  const headers = { 'x-ms-blob-public-access': access === 'private' ? undefined : access, 'content-type': body ? 'application/xml' : undefined };
  await account.request('blob', 'PUT', `/${name}`, { query, headers, ...(body ? { body } : {}) });
}

/**
 * The pages of a listing.
 * @param {Account} account
 * @param {string} container
 * @param {ListOptions} options
 * @returns {AsyncGenerator<Item[]>}
 */
export async function* listBlobs(account, container, options) {
  let marker = '';
  do {
    const query = { restype: 'container', comp: 'list', prefix: options.prefix || undefined, delimiter: options.delimiter, include: options.include?.join(',') || undefined, marker: marker || undefined };
    const root = await account.xml('blob', 'GET', `/${container}`, { query, ...(options.signal ? { signal: options.signal } : {}) });
    const blobs = child(root, 'Blobs');
    yield [...(blobs?.children ?? [])].map((element) => (element.tagName === 'BlobPrefix' ? folderOf(element) : itemOf(element)));
    marker = text(root, 'NextMarker');
  } while (marker);
}

/**
 * A listing of everything below a prefix, with folders in place of what lies in them. The service folds by itself, but not
 * together with snapshots.
 * @param {AsyncIterable<Item[]>} pages
 * @param {string} prefix
 * @returns {AsyncGenerator<Item[]>}
 */
export async function* inFolders(pages, prefix) {
  let last = '';
  for await (const page of pages) {
    const found = [];
    for (const item of page) {
      const slash = item.name.indexOf('/', prefix.length);
      const folder = slash < 0 ? '' : item.name.slice(0, slash + 1);
      if (!folder) found.push(item);
      else if (folder !== last) found.push(folderNamed(folder));
      // Names are in order: what lies in a folder comes in one piece.
      if (folder) last = folder;
    }
    yield found;
  }
}

/**
 * How many blobs a container has, as far as one page tells.
 * @param {Account} account
 * @param {string} container
 * @param {AbortSignal} [signal]
 */
export async function countSome(account, container, signal) {
  const pages = listBlobs(account, container, signal ? { signal } : {});
  const first = await pages.next();
  const second = await pages.next();
  const items = /** @type {Item[]} */ (first.value ?? []);
  return { count: items.length, bytes: items.reduce((sum, item) => sum + item.size, 0), isMore: !second.done };
}

/**
 * A listing with versions, reduced to one item per blob: the current one, or the newest version of a blob that was deleted while its
 * versions remain. Soft-deleted blobs and snapshots stay as they are.
 * @param {AsyncIterable<Item[]>} pages
 * @returns {AsyncGenerator<Item[]>}
 */
export async function* withoutVersions(pages) {
  /** @type {Item[]} Items of one name; a page may end within them. */
  let group = [];
  const reduced = () => {
    const others = group.filter((item) => item.kind === 'folder' || item.snapshot || !item.version || item.isCurrent);
    const isThere = others.some((item) => !item.snapshot);
    const newest = group.filter((item) => item.version && !item.isDeleted).at(-1);
    return isThere || !newest ? others : [...others, { ...newest, isDeleted: true }];
  };
  for await (const page of pages) {
    const found = [];
    for (const item of page) {
      if (group[0] && group[0].name !== item.name) {
        found.push(...reduced());
        group = [];
      }
      group.push(item);
    }
    yield found;
  }
  yield reduced();
}

/** @param {Element | undefined} element */
function nameOf(element) {
  const raw = element?.textContent ?? '';
  return element?.getAttribute('Encoded') === 'true' ? decodeURIComponent(raw) : raw;
}

/**
 * @param {Element} element
 * @returns {Item}
 */
function folderOf(element) {
  return folderNamed(nameOf(child(element, 'Name')));
}

/**
 * @param {string} name
 * @returns {Item}
 */
function folderNamed(name) {
  return { kind: 'folder', name, size: NaN, modified: '', type: '', blobType: '', tier: '', lease: '', etag: '', snapshot: '', version: '', isCurrent: true, isDeleted: false, daysLeft: '' };
}

/**
 * @param {Element} element
 * @returns {Item}
 */
function itemOf(element) {
  const properties = child(element, 'Properties');
  const property = (/** @type {string} */ name) => text(properties, name);
  return {
    kind: 'blob', name: nameOf(child(element, 'Name')), size: Number(property('Content-Length') || 0), modified: property('Last-Modified'), type: property('Content-Type'),
    blobType: property('BlobType'), tier: property('AccessTier'), lease: property('LeaseState'), etag: property('Etag'), snapshot: text(element, 'Snapshot'), version: text(element, 'VersionId'),
    isCurrent: !text(element, 'Snapshot') && (text(element, 'IsCurrentVersion') === 'true' || !text(element, 'VersionId')), isDeleted: text(element, 'Deleted') === 'true', daysLeft: property('RemainingRetentionDays'),
  };
}
