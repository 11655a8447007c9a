// What the page remembers: accounts with their credentials in memory only, and the theme. Nothing secret is stored.

import { developmentAccount } from './client.js';

/** @typedef {import('./client.js').Account} Account */

/** @typedef {import('./client.js').Settings} Settings */
/** @typedef {'light' | 'dark' | 'system'} Theme */

/** @type {Map<string, Account>} */
const accounts = new Map();
/** @type {Settings} */
let settings = { version: '', readOnly: false, developmentAccount: false, endpoints: {} };

/** @param {Settings} loaded */
export function begin(loaded) {
  settings = loaded;
  if (settings.developmentAccount) addAccount(developmentAccount());
}

export function currentSettings() {
  return settings;
}

/** @param {Account} account */
export function addAccount(account) {
  accounts.set(account.name, account);
}

/** @param {string} name */
export function forgetAccount(name) {
  accounts.delete(name);
}

/** @param {string} name */
export function findAccount(name) {
  return accounts.get(name);
}

export function accountNames() {
  return [...accounts.keys()];
}

/**
 * Where the server reaches a service of its own, with the account.
 * @param {import('./sign.js').ServiceName} service
 * @param {string} account
 */
export function ownEndpointOf(service, account) {
  const base = settings.endpoints[service];
  return base ? `${base}/${account}` : undefined;
}

const LOOPBACK = /^(127\.|localhost$|\[::1\]$)/;

/**
 * Where other programs reach a service, with the account. A server that listens on all addresses calls itself 127.0.0.1;
 * whoever sees this page from another machine knows it by the name in the address bar.
 * @param {import('./sign.js').ServiceName} service
 * @param {string} account
 */
export function endpointOf(service, account) {
  const own = ownEndpointOf(service, account);
  if (!own) return undefined;
  const url = new URL(own);
  if (!LOOPBACK.test(url.hostname) || LOOPBACK.test(location.hostname)) return own;
  url.hostname = location.hostname;
  return url.href;
}

const THEME = 'lazuli-theme';

/** @returns {Theme} */
export function theme() {
  try {
    const stored = localStorage.getItem(THEME);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

/** @param {Theme} wanted */
export function setTheme(wanted) {
  try {
    localStorage.setItem(THEME, wanted);
  } catch {
    // A browser may forbid it; the theme then lasts as long as the page.
  }
  applyTheme(wanted);
}

/** @param {Theme} [wanted] */
export function applyTheme(wanted = theme()) {
  const dark = wanted === 'dark' || (wanted === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}
