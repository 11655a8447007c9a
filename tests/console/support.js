// Starts servers and browsers, signs requests that set the scene, and collects tests.

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const ACCOUNT = 'devstoreaccount1';
export const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const START_MILLISECONDS = 180_000;

/** Tests in the order in which they were defined. */
export const tests = [];
export function test(name, options, body) {
  tests.push({ name, options: body ? options : {}, body: body ?? options });
}

export function equal(actual, expected, what = '') {
  const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== e) throw new Error(`${what || 'values differ'}: expected ${e}, got ${a}`);
}

export function ok(value, what) {
  if (!value) throw new Error(what);
}

/**
 * Holds the requests of a page that match, until they are let go: so a test can act while an operation is half done.
 * @returns an object with the number of requests `seen`, `release()` for those held and all later ones, and `drop()`
 */
export async function hold(page, pattern, { pass = 0, matches = () => true } = {}) {
  const state = { seen: 0, isOpen: false, waiting: [] };
  await page.route(pattern, async (route) => {
    if (!matches(route.request())) return route.fallback();
    state.seen += 1;
    if (!state.isOpen && state.seen > pass) await new Promise((resolve) => { state.waiting.push(resolve); });
    // The page may have cancelled the request in the meantime.
    await route.fallback().catch(() => {});
  });
  state.release = () => { state.isOpen = true; state.waiting.splice(0).forEach((resolve) => resolve()); };
  return state;
}

const made = new WeakMap();

/** Makes what several tests need, once per server: each of them can run alone, and in any order. */
export function once(server, name, make) {
  if (!made.has(server)) made.set(server, new Map());
  const known = made.get(server);
  if (!known.has(name)) known.set(name, make());
  return known.get(name);
}

/** Waits for a short message of the page and takes all of them away: a later wait must not find an earlier message. */
export async function toasted(page, text, options) {
  await page.locator('.toast').getByText(text, options).first().waitFor();
  await page.evaluate(() => document.querySelectorAll('.toast').forEach((toast) => toast.remove()));
}

/** Presses Tab until the element with this name has the focus. */
export async function tabTo(page, name) {
  for (let presses = 0; presses < 80; presses += 1) {
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const label = element?.id ? document.querySelector(`label[for="${element.id}"]`)?.textContent : undefined;
      return element?.getAttribute('aria-label') ?? label ?? element?.closest('label')?.textContent ?? element?.textContent ?? '';
    });
    if (focused.trim() === name) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach “${name}”`);
}

/** Waits until `probe` returns something true; the deadline is generous and fails with a clear message. */
export async function until(what, probe) {
  const deadline = Date.now() + 90_000;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Starts a server on free ports and reads its addresses from what it prints. */
export async function startServer(binary, flags = []) {
  const data = mkdtempSync(join(tmpdir(), 'lazuli-console-'));
  const child = spawn(binary, ['serve', '--location', data, '--table-port', '0', '--admin-port', '0', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => { errors += chunk; });
  const server = { endpoints: {}, console: '', pid: child.pid };
  server.stop = () => new Promise((resolve) => {
    child.once('exit', (code) => { rmSync(data, { recursive: true, force: true }); resolve(code); });
    child.kill('SIGTERM');
  });
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server did not start: ${errors}`)), START_MILLISECONDS);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /web console: (\S+)/.exec(line);
      if (url) server.console = url[1];
      if (!line.startsWith('DefaultEndpointsProtocol')) return;
      for (const [, service, address] of line.matchAll(/(Blob|Queue|Table)Endpoint=([^;]+)/g)) server.endpoints[service.toLowerCase()] = address;
      clearTimeout(timer);
      resolve();
    });
  });
  child.removeAllListeners('exit');
  return server;
}

/** Sends a signed request to a data port, as any client would. */
export async function send(server, service, method, path, { query = {}, headers = {}, body } = {}) {
  const url = new URL(server.endpoints[service] + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const all = { 'x-ms-date': new Date().toUTCString(), 'x-ms-version': '2025-07-05', ...headers };
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const length = bytes?.length ? String(bytes.length) : '';
  let text;
  if (service === 'table') {
    text = `${all['x-ms-date']}\n/${ACCOUNT}${url.pathname}${query.comp ? `?comp=${query.comp}` : ''}`;
  } else {
    const named = Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]).filter(([name]) => name.startsWith('x-ms-')).sort();
    const params = Object.entries(query).map(([name, value]) => [name.toLowerCase(), value]).sort();
    const get = (name) => Object.entries(all).find(([given]) => given.toLowerCase() === name)?.[1] ?? '';
    text = [method, '', '', length, get('content-md5'), get('content-type'), '', '', get('if-match'), get('if-none-match'), '', get('range')].join('\n') + '\n' +
      named.map(([name, value]) => `${name}:${value}\n`).join('') + `/${ACCOUNT}${url.pathname}` + params.map(([name, value]) => `\n${name}:${value}`).join('');
  }
  const signature = createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64');
  const response = await fetch(url, { method, headers: { ...all, authorization: `SharedKey${service === 'table' ? 'Lite' : ''} ${ACCOUNT}:${signature}` }, body: bytes });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Inserts entities of one partition, a hundred at a time. */
export async function insertMany(server, table, entities) {
  for (let first = 0; first < entities.length; first += 100) {
    const parts = entities.slice(first, first + 100).map((entity) => `--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST ${server.endpoints.table}/${table} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json\r\nPrefer: return-no-content\r\n\r\n${JSON.stringify(entity)}\r\n`);
    const body = `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${parts.join('')}--c--\r\n--b--\r\n`;
    await send(server, 'table', 'POST', '/$batch', { headers: { 'content-type': 'multipart/mixed; boundary=b' }, body });
  }
}

export async function makeTable(server, name, entities = []) {
  const headers = { 'content-type': 'application/json', accept: 'application/json;odata=nometadata' };
  await send(server, 'table', 'POST', '/Tables', { headers, body: JSON.stringify({ TableName: name }) });
  for (const entity of entities) await send(server, 'table', 'POST', `/${name}`, { headers: { ...headers, prefer: 'return-no-content' }, body: JSON.stringify(entity) });
}
