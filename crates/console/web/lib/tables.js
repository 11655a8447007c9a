// Operations of the Table service.

import { entityJson, entityOf, entityText, parseTableJson } from './edm.js';
import { quote } from './odata.js';
import { ServiceError } from './client.js';

/** @typedef {import('./client.js').Account} Account */
/** @typedef {import('./edm.js').Entity} Entity */
/** @typedef {import('./edm.js').EdmValue} EdmValue */
/** `find` is a text in any property: the service itself can only compare, so entities are searched here.
 * @typedef {{find?: string | undefined, filter?: string | undefined, select?: string | undefined, top?: string | undefined}} Query */
/** @typedef {{plan: string, ranges: number, rowsRead: number, rowsReturned: number, planMicros: number, scanMicros: number, encodeMicros: number}} Plan */
/** @typedef {{entities: Entity[], next: Record<string, string> | undefined, plan: Plan | undefined}} Page */

const JSON_TYPE = 'application/json';
const ACCEPT = 'application/json;odata=fullmetadata';
const BASE = { accept: ACCEPT, dataserviceversion: '3.0' };
/** Entities that a page has at most. */
const PAGE_MAX = 1000;
/** Operations that a batch may have. */
export const BATCH_MAX = 100;

/** @param {string} key */
function keyText(key) {
  return encodeURIComponent(quote(key));
}

/**
 * @param {string} table
 * @param {{partition: string, row: string}} keys
 */
export function entityPath(table, keys) {
  return `/${table}(PartitionKey=${keyText(keys.partition)},RowKey=${keyText(keys.row)})`;
}

/**
 * @param {Account} account
 * @param {AbortSignal} [signal]
 */
export async function listTables(account, signal) {
  /** @type {string[]} */
  const names = [];
  /** @type {string | undefined} */
  let next;
  do {
    const response = await account.request('table', 'GET', '/Tables', {
      query: { NextTableName: next },
      headers: { ...BASE, accept: 'application/json;odata=nometadata' },
      ...(signal ? { signal } : {}),
    });
    const body = /** @type {{value: {TableName: string}[]}} */ (await response.json());
    names.push(...body.value.map((table) => table.TableName));
    next = response.headers.get('x-ms-continuation-nexttablename') ?? undefined;
  } while (next);
  return names;
}

/**
 * @param {Account} account
 * @param {string} name
 */
export function createTable(account, name) {
  const headers = { ...BASE, 'content-type': JSON_TYPE, prefer: 'return-no-content' };
  return account.request('table', 'POST', '/Tables', { headers, body: JSON.stringify({ TableName: name }) });
}

/**
 * @param {Account} account
 * @param {string} name
 */
export function deleteTable(account, name) {
  return account.request('table', 'DELETE', `/Tables(${keyText(name)})`, { headers: BASE });
}

/**
 * One page of a query, with the plan by which the server ran it.
 * @param {Account} account
 * @param {string} table
 * @param {Query} query
 * @param {Record<string, string> | undefined} from
 * @param {AbortSignal} [signal]
 * @returns {Promise<Page>}
 */
export async function queryPage(account, table, query, from, signal) {
  const response = await account.request('table', 'GET', `/${table}()`, {
    query: { $filter: query.filter || undefined, $select: query.select || undefined, $top: query.top || undefined, ...from },
    headers: { ...BASE, 'x-lazuli-explain': '1' },
    ...(signal ? { signal } : {}),
  });
  const body = parseTableJson(await response.text());
  const partition = response.headers.get('x-ms-continuation-nextpartitionkey');
  const row = response.headers.get('x-ms-continuation-nextrowkey');
  return {
    entities: body.value.map(entityOf),
    next: partition === null ? undefined : { NextPartitionKey: partition, ...(row === null ? {} : { NextRowKey: row }) },
    plan: planOf(response.headers),
  };
}

/**
 * All pages of a query, each with the number of entities that were searched.
 * @param {Account} account
 * @param {string} table
 * @param {Query} query
 * @param {AbortSignal} [signal]
 */
export async function* queryPages(account, table, query, signal) {
  let left = query.top ? Number(query.top) : Infinity;
  const wanted = query.find?.toLowerCase() ?? '';
  /** @type {Record<string, string> | undefined} */
  let next;
  do {
    const page = await queryPage(account, table, { ...query, top: !wanted && left < PAGE_MAX ? String(left) : undefined }, next, signal);
    const entities = wanted ? page.entities.filter((entity) => entityText(entity).includes(wanted)).slice(0, left) : page.entities;
    left -= entities.length;
    next = page.next;
    yield { ...page, entities, searched: page.entities.length };
  } while (next && left > 0);
}

/**
 * @param {Headers} headers
 * @returns {Plan | undefined}
 */
function planOf(headers) {
  const plan = headers.get('x-lazuli-plan');
  if (plan === null) return undefined;
  const value = (/** @type {string} */ name) => Number(headers.get(`x-lazuli-${name}`) ?? 0);
  return {
    plan, ranges: value('ranges'), rowsRead: value('rows-read'), rowsReturned: value('rows-returned'),
    planMicros: value('us-plan'), scanMicros: value('us-scan'), encodeMicros: value('us-encode'),
  };
}

/**
 * @param {Account} account
 * @param {string} table
 * @param {{partition: string, row: string}} keys
 */
export async function getEntity(account, table, keys) {
  const response = await account.request('table', 'GET', entityPath(table, keys), { headers: BASE });
  return entityOf(parseTableJson(await response.text()));
}

/**
 * @param {Account} account
 * @param {string} table
 * @param {{partition: string, row: string, values: Map<string, EdmValue>}} entity
 */
export function insertEntity(account, table, entity) {
  const headers = { ...BASE, 'content-type': JSON_TYPE, prefer: 'return-no-content' };
  return account.request('table', 'POST', `/${table}`, { headers, body: entityJson(entity) });
}

/**
 * Replaces an entity if it still has the ETag.
 * @param {Account} account
 * @param {string} table
 * @param {{partition: string, row: string, values: Map<string, EdmValue>}} entity
 * @param {string} etag
 */
export function replaceEntity(account, table, entity, etag) {
  const headers = { ...BASE, 'content-type': JSON_TYPE, 'if-match': etag };
  return account.request('table', 'PUT', entityPath(table, entity), { headers, body: entityJson(entity) });
}

/**
 * How many entities a table has, as far as one page tells.
 * @param {Account} account
 * @param {string} table
 * @param {AbortSignal} [signal]
 */
export async function countSome(account, table, signal) {
  const page = await queryPage(account, table, { select: 'PartitionKey' }, undefined, signal);
  return { count: page.entities.length, isMore: page.next !== undefined };
}

/**
 * Deletes an entity if it still has the ETag.
 * @param {Account} account
 * @param {string} table
 * @param {{partition: string, row: string}} keys
 * @param {string} etag
 * @param {AbortSignal} [signal]
 */
export function deleteEntity(account, table, keys, etag, signal) {
  return account.request('table', 'DELETE', entityPath(table, keys), { headers: { ...BASE, 'if-match': etag }, ...(signal ? { signal } : {}) });
}

/** A deletion without an ETag is unconditional.
 * @typedef {{kind: 'delete', entity: {partition: string, row: string, etag?: string}} | {kind: 'upsert', entity: {partition: string, row: string, values: Map<string, EdmValue>}}} Change */

/**
 * Applies changes to one partition, all or none.
 * @param {Account} account
 * @param {string} table
 * @param {Change[]} changes
 * @param {AbortSignal} [signal]
 */
export async function batch(account, table, changes, signal) {
  const boundary = `batch_${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
  const inner = boundary.replace('batch', 'changeset');
  const parts = changes.map((change) => {
    const path = entityPath(table, change.entity);
    const method = change.kind === 'delete' ? 'DELETE' : 'PUT';
    const body = change.kind === 'delete' ? '' : entityJson(change.entity);
    const headers = change.kind === 'delete' ? `If-Match: ${change.entity.etag || '*'}\r\n` : 'Content-Type: application/json\r\n';
    return `--${inner}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n` +
      `${method} http://localhost/${account.name}${path} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0\r\n${headers}\r\n${body}\r\n`;
  });
  const body = `--${boundary}\r\nContent-Type: multipart/mixed; boundary=${inner}\r\n\r\n${parts.join('')}--${inner}--\r\n--${boundary}--\r\n`;
  const headers = { ...BASE, accept: 'multipart/mixed', 'content-type': `multipart/mixed; boundary=${boundary}` };
  const response = await account.request('table', 'POST', '/$batch', { headers, body, ...(signal ? { signal } : {}) });
  const text = await response.text();
  const failed = /HTTP\/1\.1 ([45]\d\d)/.exec(text);
  if (failed) {
    const error = /\{"odata\.error".*\}/.exec(text)?.[0];
    const detail = error ? JSON.parse(error)['odata.error'] : undefined;
    throw new ServiceError(Number(failed[1]), detail?.code ?? `HTTP ${failed[1]}`, detail?.message?.value ?? 'A change of the batch failed.', response.headers.get('x-ms-request-id') ?? '');
  }
}

/**
 * Groups changes so that each group is one batch: one partition, no key twice, at most 100.
 * @param {Iterable<Change>} changes
 * @returns {Generator<Change[]>}
 */
export function* batches(changes) {
  /** @type {Map<string, Map<string, Change>>} */
  const open = new Map();
  for (const change of changes) {
    let group = open.get(change.entity.partition);
    if (!group) open.set(change.entity.partition, (group = new Map()));
    if (group.has(change.entity.row) || group.size >= BATCH_MAX) {
      yield [...group.values()];
      group.clear();
    }
    group.set(change.entity.row, change);
  }
  for (const group of open.values()) if (group.size > 0) yield [...group.values()];
}
