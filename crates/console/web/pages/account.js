// The account: how to connect to it, and the settings of its services.

import { button, field, fill, h } from '../lib/dom.js';
import { DEVELOPMENT_ACCOUNT } from '../lib/client.js';
import { endpointOf, forgetAccount } from '../lib/state.js';
import { go } from '../lib/router.js';
import { copyable } from '../ui/parts.js';
import { allPoliciesCard } from './all_policies.js';
import { explanation, sasDialog } from './sas.js';
import { NAMES, propertiesCard } from './service_properties.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../lib/sign.js').ServiceName} ServiceName */

const SERVICES = /** @type {ServiceName[]} */ (['blob', 'queue', 'table']);

/**
 * @param {import('../app.js').Context} context
 * @returns {import('../app.js').View}
 */
export function accountPage({ account }) {
  const served = SERVICES.filter((service) => endpointOf(service, account.name));
  const pasted = h('textarea', { rows: 3, spellcheck: 'false', placeholder: 'https://…?sv=…&sig=…' });
  const explained = h('div', {});
  pasted.addEventListener('input', () => fill(explained, pasted.value.trim() ? explanation(pasted.value) : null));
  const element = h('div', { class: 'page scrolls' },
    h('div', { class: 'toolbar' }, h('h1', {}, account.name), h('span', { class: 'grow' }),
      account.key ? button({ icon: 'link', label: 'Share the account (SAS)', onclick: () => sasDialog(account, { service: 'account' }) }) : null,
      button({ label: 'Disconnect', kind: 'quiet', onclick: () => { forgetAccount(account.name); go([]); } })),
    h('div', { class: 'cards spaced' },
      h('section', { class: 'card span' }, h('h2', {}, 'Connect an application'),
        copyable('Connection string', connectionString(account, served), { secret: account.name !== DEVELOPMENT_ACCOUNT }),
        account.name === DEVELOPMENT_ACCOUNT ? h('p', { class: 'faint' }, 'The key of the development account is public. On the usual ports, UseDevelopmentStorage=true means the same.') : null),
      h('section', { class: 'card' }, h('h2', {}, 'Endpoints'), served.map((service) => copyable(NAMES[service], endpointOf(service, account.name) ?? ''))),
      h('section', { class: 'card' }, h('h2', {}, 'Explain a SAS'), field('SAS URL or token', pasted), explained),
      served.map((service) => propertiesCard(account, service)),
      account.key ? allPoliciesCard(account, served) : null));
  return { title: ['Account'], element, search: () => pasted.focus() };
}

/**
 * @param {Account} account
 * @param {ServiceName[]} served
 */
function connectionString(account, served) {
  const endpoints = served.map((service) => `${service[0]?.toUpperCase()}${service.slice(1)}Endpoint=${endpointOf(service, account.name)}`);
  const scheme = endpoints[0]?.includes('=https:') ? 'https' : 'http';
  const credential = account.key ? `AccountKey=${account.key.reveal()}` : `SharedAccessSignature=${new URLSearchParams(account.sas)}`;
  return [`DefaultEndpointsProtocol=${scheme}`, `AccountName=${account.name}`, credential, ...endpoints, ''].join(';');
}
