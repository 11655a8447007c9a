// Stored access policies of a table, a queue or a container.

import { button, h } from '../lib/dom.js';
import { POLICIES_MAX, getPolicies, setPolicies } from '../lib/properties.js';
import { currentSettings } from '../lib/state.js';
import { dialog, form } from '../ui/dialog.js';
import { toast } from '../ui/feedback.js';

/** @typedef {import('../lib/properties.js').Policy} Policy */

/**
 * @param {import('../lib/client.js').Account} account
 * @param {{service: import('../lib/sign.js').ServiceName, name: string}} resource
 */
export async function policiesDialog(account, { service, name }) {
  const { policies, access } = await getPolicies(account, service, name);
  const rows = h('div', { class: 'policies' });
  /** @type {Map<Element, () => Policy>} */
  const readers = new Map();
  const add = (/** @type {Policy} */ policy) => {
    const input = (/** @type {string} */ label, /** @type {string} */ value, placeholder = '') => h('input', { type: 'text', 'aria-label': label, placeholder: placeholder || label, value, spellcheck: 'false' });
    const [id, start, end, permissions] = [input('Name', policy.id), input('Start', policy.start, 'Start: 2026-01-31T12:00:00Z'), input('End', policy.end, 'End: 2026-12-31T12:00:00Z'), input('Permissions', policy.permissions, 'Permissions: r')];
    /** @type {HTMLElement} */
    const row = h('div', { class: 'policy' }, id, permissions, start, end, button({ icon: 'close', name: 'Remove policy', kind: 'quiet', onclick: () => row.remove() }));
    readers.set(row, () => ({ id: id.value.trim(), start: start.value.trim(), end: end.value.trim(), permissions: permissions.value.trim() }));
    rows.appendChild(row);
  };
  policies.forEach(add);
  const head = h('div', { class: 'policy policy-head', 'aria-hidden': 'true' }, ['Name', 'Permissions', 'Start', 'End'].map((title) => h('span', {}, title)));
  const about = h('p', { class: 'faint' }, `A SAS can refer to a policy by its name. Changing or removing the policy changes or revokes every such SAS. At most ${POLICIES_MAX}.`);
  if (currentSettings().readOnly) {
    await dialog('Stored access policies', () => ({ wide: true, body: [about, head, rows] }));
    return;
  }
  await form('Stored access policies', {
    wide: true, label: 'Save',
    body: [about, head, rows, button({ icon: 'plus', label: 'Add policy', kind: 'quiet', onclick: () => add({ id: '', start: '', end: '', permissions: 'r' }) })],
    submit: async () => {
      const read = [...rows.children].map((row) => readers.get(row)?.()).filter((policy) => policy !== undefined);
      if (read.some((policy) => !policy.id)) throw new Error('A policy needs a name.');
      await setPolicies(account, service, name, read, access);
      toast('Policies saved');
    },
  });
}
