// Operations of the Queue service.

import { children, escapeXml, text } from './xml.js';
import { fromBase64, textOf, toBase64, utf8 } from './bytes.js';
import { parseMetrics } from './metrics.js';

/** @typedef {import('./client.js').Account} Account */
/** @typedef {{id: string, body: string, inserted: string, expires: string, count: number, receipt: string, visible: string}} Message */

/** Messages that one request may read. */
export const MESSAGES_MAX = 32;

/**
 * @param {Account} account
 * @param {AbortSignal} [signal]
 */
export async function listQueues(account, signal) {
  /** @type {string[]} */
  const names = [];
  let marker = '';
  do {
    const root = await account.xml('queue', 'GET', '/', { query: { comp: 'list', marker: marker || undefined }, ...(signal ? { signal } : {}) });
    names.push(...children([...root.children].find((part) => part.tagName === 'Queues'), 'Queue').map((queue) => text(queue, 'Name')));
    marker = text(root, 'NextMarker');
  } while (marker);
  return names;
}

/** What the server counts in a queue since its start, in the order in which it is shown. */
export const COUNTERS = ['put', 'dequeued', 'deleted'];

/**
 * Messages that were put, dequeued and deleted since the server started, by the counters of the health page.
 * @param {Account} account
 * @param {string} name
 * @param {AbortSignal} [signal]
 * @returns {Promise<number[] | undefined>} `undefined` without a key of the account, and for queues that have no counters of their own
 */
export async function queueCounters(account, name, signal) {
  if (!account.key) return undefined;
  const response = await account.request('health', 'GET', '', { query: { only: 'queues' }, ...(signal ? { signal } : {}) });
  const families = parseMetrics(/** @type {{metrics: string}} */ (await response.json()).metrics);
  const samples = COUNTERS.map((counter) => families.get(`lazuli_queue_messages_${counter}_total`)?.find((sample) => sample.labels.queue === name));
  return samples.every((sample) => sample !== undefined) ? samples.map((sample) => sample?.value ?? 0) : undefined;
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {Record<string, string>} [metadata]
 */
export function createQueue(account, name, metadata = {}) {
  return account.request('queue', 'PUT', `/${name}`, { headers: metadataHeaders(metadata) });
}

/**
 * @param {Account} account
 * @param {string} name
 */
export function deleteQueue(account, name) {
  return account.request('queue', 'DELETE', `/${name}`);
}

/** @param {Record<string, string>} metadata */
export function metadataHeaders(metadata) {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]));
}

/** @param {Headers} headers */
export function metadataOf(headers) {
  /** @type {Record<string, string>} */
  const metadata = {};
  headers.forEach((value, name) => {
    if (name.startsWith('x-ms-meta-')) metadata[name.slice('x-ms-meta-'.length)] = value;
  });
  return metadata;
}

/**
 * The number of messages, and the metadata.
 * @param {Account} account
 * @param {string} name
 * @param {AbortSignal} [signal]
 */
export async function queueState(account, name, signal) {
  const response = await account.request('queue', 'GET', `/${name}`, { query: { comp: 'metadata' }, ...(signal ? { signal } : {}) });
  return { depth: Number(response.headers.get('x-ms-approximate-messages-count') ?? 0), metadata: metadataOf(response.headers) };
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {Record<string, string>} metadata
 */
export function setQueueMetadata(account, name, metadata) {
  return account.request('queue', 'PUT', `/${name}`, { query: { comp: 'metadata' }, headers: metadataHeaders(metadata) });
}

/** @param {Element} root */
function messagesOf(root) {
  return children(root, 'QueueMessage').map((element) => ({
    id: text(element, 'MessageId'), body: text(element, 'MessageText'), inserted: text(element, 'InsertionTime'), expires: text(element, 'ExpirationTime'),
    count: Number(text(element, 'DequeueCount') || 0), receipt: text(element, 'PopReceipt'), visible: text(element, 'TimeNextVisible'),
  }));
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {number} [count]
 * @returns {Promise<Message[]>}
 */
export async function peek(account, name, count = MESSAGES_MAX) {
  return messagesOf(await account.xml('queue', 'GET', `/${name}/messages`, { query: { peekonly: 'true', numofmessages: count } }));
}

/**
 * Reads messages and hides them from others.
 * @param {Account} account
 * @param {string} name
 * @param {number} count
 * @param {number} seconds
 * @param {AbortSignal} [signal]
 * @returns {Promise<Message[]>}
 */
export async function dequeue(account, name, count, seconds, signal) {
  const query = { numofmessages: count, visibilitytimeout: seconds };
  return messagesOf(await account.xml('queue', 'GET', `/${name}/messages`, { query, ...(signal ? { signal } : {}) }));
}

/**
 * Moves messages to the back of another queue, each exactly once; an extension of this server.
 * @param {Account} account
 * @param {string} name
 * @param {string} to
 * @param {number} count
 * @returns {Promise<number>} how many were moved
 */
export async function moveMessages(account, name, to, count) {
  const response = await account.request('queue', 'PUT', `/${name}/messages`, { query: { comp: 'move', to, numofmessages: count } });
  return Number(response.headers.get('x-lazuli-moved-count') ?? 0);
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {string} body
 * @param {{delay?: number | undefined, life?: number | undefined, signal?: AbortSignal}} [options]
 */
export function put(account, name, body, options = {}) {
  return account.request('queue', 'POST', `/${name}/messages`, {
    query: { visibilitytimeout: options.delay, messagettl: options.life },
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>${escapeXml(body)}</MessageText></QueueMessage>`,
    ...(options.signal ? { signal: options.signal } : {}),
  });
}

/**
 * Changes a message that this page has dequeued. Returns it with its new receipt.
 * @param {Account} account
 * @param {string} name
 * @param {Message} message
 * @param {string} body
 * @param {number} seconds
 * @returns {Promise<Message>}
 */
export async function update(account, name, message, body, seconds) {
  const response = await account.request('queue', 'PUT', `/${name}/messages/${encodeURIComponent(message.id)}`, {
    query: { popreceipt: message.receipt, visibilitytimeout: seconds },
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>${escapeXml(body)}</MessageText></QueueMessage>`,
  });
  return { ...message, body, receipt: response.headers.get('x-ms-popreceipt') ?? message.receipt, visible: response.headers.get('x-ms-time-next-visible') ?? message.visible };
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {Message} message
 * @param {AbortSignal} [signal]
 */
export function removeMessage(account, name, message, signal) {
  return account.request('queue', 'DELETE', `/${name}/messages/${encodeURIComponent(message.id)}`, { query: { popreceipt: message.receipt }, ...(signal ? { signal } : {}) });
}

/**
 * @param {Account} account
 * @param {string} name
 */
export function clearQueue(account, name) {
  return account.request('queue', 'DELETE', `/${name}/messages`);
}

/**
 * A message as people read it: many clients send Base64, often of JSON.
 * @param {string} body
 * @returns {{text: string, encoding: 'Base64' | 'text', isJson: boolean}}
 */
export function decoded(body) {
  const bytes = body.length > 0 ? fromBase64(body) : undefined;
  const inner = bytes && bytes.length > 0 ? textOf(bytes) : undefined;
  // Short words such as “test” are Base64 by accident; the decoded bytes are hardly ever printable.
  const isText = inner !== undefined && !/[\u0000-\u0008\u000e-\u001f]/.test(inner);
  const plain = isText ? inner : body;
  const json = pretty(plain);
  return { text: json ?? plain, encoding: isText ? 'Base64' : 'text', isJson: json !== undefined };
}

/** @param {string} value */
export function pretty(value) {
  if (!/^\s*[[{]/.test(value)) return undefined;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return undefined;
  }
}

/** @param {string} value */
export function encoded(value) {
  return toBase64(utf8(value));
}

/**
 * Does a message contain a text, as stored or decoded, in its id or body?
 * @param {Message} message
 * @param {string} wanted
 */
export function mentions(message, wanted) {
  const lower = wanted.toLowerCase();
  return [message.body, decoded(message.body).text, message.id].some((text) => text.toLowerCase().includes(lower));
}
