// All stored access policies of an account: what can be revoked, in one place.

import { button, fill, h } from '../lib/dom.js';
import { getPolicies } from '../lib/properties.js';
import { listContainers } from '../lib/blobs.js';
import { listQueues } from '../lib/queues.js';
import { listTables } from '../lib/tables.js';
import { plural, time } from '../lib/format.js';
import { attempt, inParallel, run } from '../ui/feedback.js';
import { policiesDialog } from './policies.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../lib/sign.js').ServiceName} ServiceName */
/** @typedef {{service: ServiceName, name: string}} Resource */
/** @typedef {{resource: Resource, policy: import('../lib/properties.js').Policy}} Found */

const AT_A_TIME = 6;
const KINDS = { blob: 'container', queue: 'queue', table: 'table' };

/**
 * A card that looks for policies when asked: each table, queue and container takes a request.
 * @param {Account} account
 * @param {ServiceName[]} services
 */
export function allPoliciesCard(account, services) {
  const slot = h('div', {}, h('p', { class: 'faint' }, 'A SAS that refers to a stored policy is revoked by changing the policy. Policies belong to tables, queues and containers.'));
  const search = async () => {
    const found = await collect(account, services);
    if (!found) return;
    // A table needs the whole width.
    card.classList.toggle('span', found.length > 0);
    fill(slot, found.length ? table(found, (resource) => attempt(async () => { await policiesDialog(account, resource); await search(); })) : h('p', { class: 'faint' }, 'No table, queue or container has a stored policy.'));
  };
  const card = h('section', { class: 'card' }, h('h2', {}, 'Stored access policies'), slot, h('div', { class: 'row spaced' }, button({ icon: 'search', label: 'Find all policies', onclick: search })));
  return card;
}

/**
 * @param {Account} account
 * @param {ServiceName[]} services
 * @returns {Promise<Found[] | undefined>}
 */
function collect(account, services) {
  return run('Find stored policies', async (job) => {
    /** @type {Resource[]} */
    const resources = [];
    const add = (/** @type {ServiceName} */ service, /** @type {string[]} */ names) => { for (const name of names) resources.push({ service, name }); };
    if (services.includes('table')) add('table', await listTables(account, job.signal));
    if (services.includes('queue')) add('queue', await listQueues(account, job.signal));
    if (services.includes('blob')) add('blob', (await listContainers(account, { signal: job.signal })).map((container) => container.name));
    /** @type {Found[]} */
    const found = [];
    let asked = 0;
    await inParallel(resources, AT_A_TIME, async (resource) => {
      job.signal.throwIfAborted();
      const { policies } = await getPolicies(account, resource.service, resource.name);
      for (const policy of policies) found.push({ resource, policy });
      asked += 1;
      job.update(`${asked} of ${plural(resources.length, 'resource')}, ${found.length} found`, asked, resources.length);
    });
    return found.sort((a, b) => (a.resource.name < b.resource.name ? -1 : 1));
  });
}

/**
 * @param {Found[]} found
 * @param {(resource: Resource) => unknown} edit
 */
function table(found, edit) {
  const rows = found.map(({ resource, policy }) => h('tr', {},
    h('td', {}, `${KINDS[resource.service]} ${resource.name}`), h('td', { class: 'mono' }, policy.id), h('td', { class: 'mono' }, policy.permissions), h('td', {}, time(policy.start)), h('td', {}, time(policy.end)),
    h('td', {}, button({ icon: 'edit', name: `Edit policies of ${resource.name}`, kind: 'quiet', onclick: () => edit(resource) }))));
  return h('div', { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Stored policies' }, h('table', { class: 'plain' },
    h('thead', {}, h('tr', {}, ['Resource', 'Policy', 'Permissions', 'Start', 'End', 'Change'].map((title) => h('th', { scope: 'col' }, title)))), h('tbody', {}, rows)));
}
