// Requests to the services: signed with a key, or with a SAS. Everything the console does goes through here, and any client
// of Azure Storage could do the same.

import { Key, authorization } from './sign.js';
import { parseXml, text } from './xml.js';
import { utf8 } from './bytes.js';

/** @typedef {import('./sign.js').ServiceName} ServiceName */
/** @typedef {{query?: Record<string, string | number | undefined>, headers?: Record<string, string | undefined>, body?: string | Uint8Array<ArrayBuffer> | Blob, signal?: AbortSignal}} RequestOptions */
/** @typedef {{version: string, readOnly: boolean, developmentAccount: boolean, endpoints: Partial<Record<ServiceName, string>>}} Settings */

const VERSION = '2025-07-05';
/** A host that starts with the account. */
const HOST_STYLE = /^([a-z0-9]+)(-secondary)?\.(blob|queue|table)\./;
const CALL = { 'x-lazuli-console': '1' };
export const DEVELOPMENT_ACCOUNT = 'devstoreaccount1';
/** Public knowledge: every storage emulator has it. */
export const DEVELOPMENT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** What a service says when it rejects a request. */
export class ServiceError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {string} requestId
   */
  constructor(status, code, message, requestId) {
    super(message);
    this.name = 'ServiceError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
  }
}

/** An account and the right to use it. */
export class Account {
  /**
   * @param {string} name
   * @param {{key?: Key, sas?: string}} credential
   */
  constructor(name, credential) {
    this.name = name;
    this.key = credential.key;
    /** @type {Array<[string, string]>} */
    this.sas = credential.sas ? [...new URLSearchParams(credential.sas)] : [];
  }

  /**
   * Sends a request and returns the response if it is a success.
   * @param {ServiceName | 'health'} service
   * @param {string} method
   * @param {string} path the part after the account, percent-encoded
   * @param {RequestOptions} [options]
   */
  async request(service, method, path, options = {}) {
    const query = Object.entries(options.query ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [/** @type {[string, string]} */ ([name, String(value)])],
    );
    /** @type {Map<string, string>} */
    const headers = new Map();
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (value !== undefined) headers.set(name.toLowerCase(), value);
    }
    headers.set('x-ms-version', VERSION);
    const body = typeof options.body === 'string' ? utf8(options.body) : options.body;
    const length = body instanceof Blob ? body.size : (body?.byteLength ?? 0);
    const signed = `/${this.name}${path}`;
    if (this.key) {
      headers.set('x-ms-date', new Date().toUTCString());
      const form = service === 'health' ? 'blob' : service;
      const request = { method, path: signed, query, headers, length };
      headers.set('authorization', await authorization(form, this.name, this.key, request));
    } else {
      query.push(...this.sas);
    }
    const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
    const url = new URL(`api/${service}${signed}${search ? `?${search}` : ''}`, document.baseURI);
    /** @type {RequestInit} */
    const init = { method, headers: { ...Object.fromEntries(headers), ...CALL }, cache: 'no-store', credentials: 'omit', redirect: 'error' };
    if (body !== undefined) init.body = body;
    if (options.signal) init.signal = options.signal;
    const response = await send(url, init);
    if (!response.ok) throw await failure(response);
    return response;
  }

  /**
   * Sends a request whose response is XML.
   * @param {ServiceName} service
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} [options]
   */
  async xml(service, method, path, options = {}) {
    const response = await this.request(service, method, path, options);
    return parseXml(await response.text());
  }
}

/**
 * @param {URL} url
 * @param {RequestInit} init
 */
async function send(url, init) {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ServiceError(0, 'NoConnection', 'The server cannot be reached.', '');
  }
}

/** @param {Response} response */
async function failure(response) {
  const body = await response.text();
  let code = response.headers.get('x-ms-error-code') ?? '';
  let message = '';
  try {
    if (body.trimStart().startsWith('{')) {
      const error = JSON.parse(body)['odata.error'];
      code ||= error.code;
      message = error.message.value;
    } else if (body.replace(/^\uFEFF/, '').trimStart().startsWith('<')) {
      const root = parseXml(body);
      code ||= text(root, 'Code') || text(root, 'code');
      message = text(root, 'Message') || text(root, 'message');
    } else {
      message = body;
    }
  } catch {
    message = body;
  }
  // The service repeats request id and time behind the message.
  message = message.split('\nRequestId:')[0]?.trim() ?? '';
  const requestId = response.headers.get('x-ms-request-id') ?? '';
  return new ServiceError(response.status, code || `HTTP ${response.status}`, message || response.statusText, requestId);
}

/** What the page must know before anybody has signed anything. */
export async function loadSettings() {
  const response = await send(new URL('api/settings', document.baseURI), { headers: CALL, cache: 'no-store' });
  if (!response.ok) throw new ServiceError(response.status, `HTTP ${response.status}`, await response.text(), '');
  return /** @type {Settings} */ (await response.json());
}

/**
 * The view of the resource that a SAS URL names, behind its account.
 * @param {string} entered
 * @returns {string[]} empty if it names none
 */
export function viewOfSasUrl(entered) {
  const given = entered.trim();
  if (!/^https?:\/\//i.test(given)) return [];
  const url = new URL(given);
  const kind = url.searchParams.get('sr') ?? '';
  const segments = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
  if (!HOST_STYLE.test(url.hostname)) segments.shift();
  const [container, ...rest] = segments;
  if (url.searchParams.has('tn')) return ['tables', container ?? url.searchParams.get('tn') ?? ''];
  if (!container) return url.searchParams.has('ss') ? [sectionOf(url.searchParams.get('ss') ?? '')] : [];
  if (!kind && !url.searchParams.has('ss')) return ['queues', container];
  return /^(b|bs|bv)$/.test(kind) && rest.length ? ['blobs', container, rest.join('/')] : kind === 'c' ? ['blobs', container] : [];
}

/** @param {string} services letters of an account SAS */
function sectionOf(services) {
  return services.includes('t') ? 'tables' : services.includes('b') ? 'blobs' : 'queues';
}

/**
 * Reads what a user enters: a connection string, or a SAS URL.
 * @param {string} entered
 * @returns {Account}
 */
export function parseCredential(entered) {
  const given = entered.trim();
  if (/^https?:\/\//i.test(given)) return accountOfSasUrl(new URL(given));
  /** @type {Map<string, string>} */
  const parts = new Map();
  for (const part of given.split(';').filter((piece) => piece.trim())) {
    const at = part.indexOf('=');
    if (at < 0) throw new Error(`“${part}” is not a setting; a connection string consists of Name=Value pairs.`);
    parts.set(part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim());
  }
  if (parts.get('usedevelopmentstorage')?.toLowerCase() === 'true') return developmentAccount();
  const key = parts.get('accountkey');
  const sas = parts.get('sharedaccesssignature');
  const endpoint = parts.get('blobendpoint') ?? parts.get('queueendpoint') ?? parts.get('tableendpoint');
  const name = parts.get('accountname') ?? (endpoint ? accountOfUrl(new URL(endpoint)) : undefined);
  if (!name) throw new Error('The connection string has no AccountName.');
  if (key) return new Account(name, { key: new Key(key) });
  if (sas) return new Account(name, { sas: sas.replace(/^\?/, '') });
  throw new Error('The connection string has neither an AccountKey nor a SharedAccessSignature.');
}

/** @param {URL} url */
function accountOfSasUrl(url) {
  if (!url.searchParams.has('sig')) throw new Error('The URL carries no SAS: it has no “sig” parameter.');
  return new Account(accountOfUrl(url), { sas: url.search.slice(1) });
}

/** @param {URL} url */
function accountOfUrl(url) {
  const label = HOST_STYLE.exec(url.hostname);
  const segment = url.pathname.split('/')[1];
  const name = label?.[1] ?? segment;
  if (!name) throw new Error('The URL names no account.');
  return name;
}

export function developmentAccount() {
  return new Account(DEVELOPMENT_ACCOUNT, { key: new Key(DEVELOPMENT_KEY) });
}

/**
 * A path of names, percent-encoded. Browsers rewrite dot segments, so the slashes of such names are encoded, too.
 * @param {string} container
 * @param {string} blob
 */
export function blobPath(container, blob) {
  const isPlain = !blob.split('/').some((segment) => segment === '' || segment === '.' || segment === '..');
  const encoded = isPlain ? blob.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(blob);
  return `/${container}/${encoded}`;
}
