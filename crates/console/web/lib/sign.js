// Shared Key: signs requests and SAS tokens in this page. The key never leaves it.

import { hmac } from './sha256.js';
import { fromBase64, toBase64, utf8 } from './bytes.js';

/** @typedef {'blob' | 'queue' | 'table'} ServiceName */

/** @typedef {{method: string, path: string, query: Array<[string, string]>, headers: Map<string, string>, length: number}} Signable
 * `path` starts with the account, as it is sent; header names are in lower case. */

/** A key of an account. */
export class Key {
  /** @type {Promise<CryptoKey> | undefined} */
  #imported;
  /** @type {Uint8Array<ArrayBuffer>} */
  #bytes;

  /** @param {string} base64 */
  constructor(base64) {
    const bytes = fromBase64(base64.trim());
    if (!bytes || bytes.length === 0) throw new Error('The account key is not Base64.');
    this.#bytes = bytes;
    if (globalThis.crypto?.subtle) {
      this.#imported = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    }
  }

  /** The key as people write it: for connection strings that the user asks to see. */
  reveal() {
    return toBase64(this.#bytes);
  }

  /**
   * @param {string} text
   * @returns {Promise<string>}
   */
  async sign(text) {
    if (!this.#imported) return toBase64(hmac(this.#bytes, utf8(text)));
    return toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', await this.#imported, utf8(text))));
  }
}

/** The headers that have a line of their own in what is signed. */
const LINES = [
  'content-encoding', 'content-language', 'content-length', 'content-md5', 'content-type', 'date', 'if-modified-since',
  'if-match', 'if-none-match', 'if-unmodified-since', 'range',
];

/**
 * The text that is signed for a request to the Blob and Queue services.
 * @param {string} account
 * @param {Signable} request
 */
export function storageText(account, request) {
  const lines = LINES.map((name) => {
    if (name === 'content-length') return request.length > 0 ? String(request.length) : '';
    if (name === 'date') return '';
    return request.headers.get(name) ?? '';
  });
  const named = [...request.headers].filter(([name]) => name.startsWith('x-ms-')).sort(([a], [b]) => (a < b ? -1 : 1));
  const headers = named.map(([name, value]) => `${name}:${value.trim()}\n`).join('');
  /** @type {Map<string, string[]>} */
  const values = new Map();
  for (const [name, value] of request.query) {
    const key = name.toLowerCase();
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  const query = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  const resource = query.map(([name, given]) => `\n${name}:${given.sort().join(',')}`).join('');
  return `${request.method}\n${lines.join('\n')}\n${headers}/${account}${request.path}${resource}`;
}

/**
 * The text that is signed for a request to the Table service, in the short form (Shared Key Lite).
 * @param {string} account
 * @param {Signable} request
 */
export function tableText(account, request) {
  const comp = request.query.find(([name]) => name === 'comp');
  return `${request.headers.get('x-ms-date') ?? ''}\n/${account}${request.path}${comp ? `?comp=${comp[1]}` : ''}`;
}

/**
 * @param {ServiceName} service
 * @param {string} account
 * @param {Key} key
 * @param {Signable} request
 */
export async function authorization(service, account, key, request) {
  if (service === 'table') return `SharedKeyLite ${account}:${await key.sign(tableText(account, request))}`;
  return `SharedKey ${account}:${await key.sign(storageText(account, request))}`;
}
