// The settings of a service: request logs, metrics, soft delete and CORS rules.

import { button, checkbox, field, fill, h, select } from '../lib/dom.js';
import { serviceProperties, setCors, setMonitoring, setSoftDelete } from '../lib/properties.js';
import { currentSettings } from '../lib/state.js';
import { plural } from '../lib/format.js';
import { form } from '../ui/dialog.js';
import { attempt, errorBox, toast } from '../ui/feedback.js';
import { facts } from '../ui/parts.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../lib/sign.js').ServiceName} ServiceName */
/** @typedef {import('../lib/properties.js').CorsRule} CorsRule */
/** @typedef {import('../lib/properties.js').ServiceSettings} ServiceSettings */

export const NAMES = { blob: 'Blobs', queue: 'Queues', table: 'Tables' };

/**
 * @param {Account} account
 * @param {ServiceName} service
 */
export function propertiesCard(account, service) {
  const slot = h('div', {}, h('p', { class: 'faint' }, 'Loading…'));
  const load = async () => {
    const properties = await serviceProperties(account, service);
    const isReadOnly = currentSettings().readOnly;
    fill(slot,
      facts([...(service === 'blob' ? [/** @type {[string, string]} */ (['Default version', properties.version || 'none'])] : []),
        ['Request logs', described(properties.logged, properties.logDays)], ['Metrics', described(properties.metrics, properties.metricsDays)],
        ...(service === 'blob' ? [/** @type {[string, string]} */ (['Soft delete', properties.softDeleteDays ? plural(properties.softDeleteDays, 'day') : 'off'])] : []),
        ['CORS', properties.cors.length ? properties.cors.map((rule) => `${rule.methods} from ${rule.origins}`).join('; ') : 'no rules: pages of other origins have no access']]),
      isReadOnly ? null : h('div', { class: 'row wrap' },
        button({ label: 'Logs and metrics…', onclick: () => monitoringDialog(account, service, properties, load) }),
        button({ label: 'CORS rules…', onclick: () => corsDialog(account, service, properties.cors, load) }),
        service === 'blob' ? button({ label: 'Soft delete…', onclick: () => softDeleteDialog(account, properties.softDeleteDays, load) }) : null));
  };
  load().catch((error) => fill(slot, errorBox(error)));
  return h('section', { class: 'card' }, h('h2', {}, NAMES[service]), slot);
}

/**
 * @param {Account} account
 * @param {number} days
 * @param {() => Promise<void>} done
 */
async function softDeleteDialog(account, days, done) {
  const enabled = checkbox('Deleted blobs can be restored', days > 0);
  const kept = select(['1', '7', '14', '30', '90', '365'].map((value) => /** @type {[string, string]} */ ([value, plural(Number(value), 'day')])), ['1', '7', '14', '30', '90', '365'].includes(String(days)) ? String(days) : '7');
  const isSaved = await form('Soft delete of blobs', { label: 'Save', body: [enabled.element, field('Kept for', kept)], submit: () => setSoftDelete(account, enabled.input.checked ? Number(kept.value) : 0) });
  if (isSaved) await attempt(done);
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {CorsRule[]} rules
 * @param {() => Promise<void>} done
 */
async function corsDialog(account, service, rules, done) {
  const list = h('div', {});
  /** @type {Map<Element, () => CorsRule>} */
  const readers = new Map();
  const add = (/** @type {CorsRule} */ rule) => {
    const input = (/** @type {string} */ value) => h('input', { type: 'text', value, spellcheck: 'false' });
    const [origins, methods, headers, exposed, age] = [input(rule.origins), input(rule.methods), input(rule.headers), input(rule.exposed), input(rule.age)];
    /** @type {HTMLElement} */
    const card = h('div', { class: 'card' }, h('div', { class: 'row wrap align-top' }, field('Origins', origins), field('Methods', methods), field('Headers of requests', headers), field('Headers of responses', exposed), field('Seconds a preflight is remembered', age)),
      button({ icon: 'trash', label: 'Remove rule', kind: 'quiet', onclick: () => card.remove() }));
    readers.set(card, () => ({ origins: origins.value.trim(), methods: methods.value.trim(), headers: headers.value.trim(), exposed: exposed.value.trim(), age: age.value.trim() }));
    list.appendChild(card);
  };
  rules.forEach(add);
  const isSaved = await form(`CORS rules: ${NAMES[service]}`, {
    wide: true, label: 'Save',
    body: [h('p', { class: 'faint' }, 'A rule lets web pages of other origins call the service. Requests must still be signed.'), list,
      button({ icon: 'plus', label: 'Add rule', kind: 'quiet', onclick: () => add({ origins: 'http://localhost:3000', methods: 'GET,PUT,POST,DELETE', headers: '*', exposed: '*', age: '3600' }) })],
    submit: () => setCors(account, service, [...list.children].map((card) => readers.get(card)?.()).filter((rule) => rule !== undefined)),
  });
  if (isSaved) {
    toast('CORS rules saved');
    await attempt(done);
  }
}

/**
 * @param {string[]} kinds
 * @param {number} days
 */
function described(kinds, days) {
  return kinds.length ? `${kinds.join(', ').toLowerCase()}${days ? `, kept for ${plural(days, 'day')}` : ''}` : 'off';
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {ServiceSettings} properties
 * @param {() => Promise<void>} done
 */
async function monitoringDialog(account, service, properties, done) {
  const logs = ['Read', 'Write', 'Delete'].map((kind) => ({ kind, ...checkbox(`Log ${kind.toLowerCase()} requests`, properties.logged.includes(kind)) }));
  const metrics = ['Hour', 'Minute'].map((kind) => ({ kind, ...checkbox(`Metrics per ${kind.toLowerCase()}`, properties.metrics.includes(kind)) }));
  const days = (/** @type {number} */ value) => h('input', { type: 'number', min: 0, max: 365, value: String(value), class: 'short' });
  const [logDays, metricsDays] = [days(properties.logDays), days(properties.metricsDays)];
  const chosen = (/** @type {Array<{kind: string, input: HTMLInputElement}>} */ boxes) => boxes.filter((box) => box.input.checked).map((box) => box.kind);
  const isSaved = await form(`Logs and metrics: ${NAMES[service]}`, {
    label: 'Save',
    body: [
      h('p', { class: 'faint' }, 'Request logs are blobs of the container $logs; metrics are tables whose names start with $Metrics.'),
      h('fieldset', {}, h('legend', {}, 'Request logs'), h('div', { class: 'checks' }, logs.map((box) => box.element)), field('Days kept (0: for ever)', logDays)),
      h('fieldset', {}, h('legend', {}, 'Metrics'), h('div', { class: 'checks' }, metrics.map((box) => box.element)), field('Days metrics are kept (0: for ever)', metricsDays)),
    ],
    submit: () => setMonitoring(account, service, { logged: chosen(logs), logVersion: properties.logVersion, logDays: Number(logDays.value), metrics: chosen(metrics), metricsDays: Number(metricsDays.value) }),
  });
  if (isSaved) {
    toast('Logs and metrics saved');
    await attempt(done);
  }
}
