// The plan by which the server ran a query: how it read, how much, and how long that took.

import { h, icon } from '../lib/dom.js';
import { micros, number, plural } from '../lib/format.js';

/** @type {Record<string, {title: string, meaning: string, cost: 'low' | 'middle' | 'high'}>} */
export const PLANS = {
  nothing: { title: 'Nothing to read', meaning: 'the filter can match nothing', cost: 'low' },
  point: { title: 'Point read', meaning: 'reads one entity by its keys', cost: 'low' },
  'multi-point': { title: 'Point reads', meaning: 'reads several entities by their keys', cost: 'low' },
  'row-range': { title: 'Row range', meaning: 'reads a range of rows of one partition', cost: 'low' },
  partition: { title: 'Partition scan', meaning: 'reads one partition', cost: 'middle' },
  'partition-range': { title: 'Partition range', meaning: 'reads a range of partitions', cost: 'middle' },
  table: { title: 'Table scan', meaning: 'reads the whole table', cost: 'high' },
};

/** @typedef {import('../lib/tables.js').Plan} Plan */

/**
 * The cost of all pages of a query so far.
 * @param {Plan | undefined} before
 * @param {Plan} next
 * @returns {Plan}
 */
export function addPlans(before, next) {
  if (!before) return next;
  return {
    plan: before.plan, ranges: Math.max(before.ranges, next.ranges), rowsRead: before.rowsRead + next.rowsRead, rowsReturned: before.rowsReturned + next.rowsReturned,
    planMicros: before.planMicros + next.planMicros, scanMicros: before.scanMicros + next.scanMicros, encodeMicros: before.encodeMicros + next.encodeMicros,
  };
}

/**
 * @param {Plan} plan
 * @param {string | undefined} filter
 * @param {string} [note] what this page did with the rows
 */
export function planBar(plan, filter, note) {
  const known = PLANS[plan.plan] ?? { title: plan.plan, meaning: '', cost: 'middle' };
  const wasted = plan.rowsRead > 100 && plan.rowsRead > plan.rowsReturned * 10;
  return h('div', { class: 'plan', 'aria-label': 'Query plan', role: 'group' },
    // Without a filter, all rows are wanted: reading them is no waste.
    h('span', { class: filter ? `badge cost-${known.cost}` : 'badge', title: known.meaning }, known.title),
    fact(plural(plan.ranges, 'range')),
    fact(`${plural(plan.rowsRead, 'row')} read`),
    fact(`${number(plan.rowsReturned)} returned`),
    fact(`plan ${micros(plan.planMicros)}`), fact(`scan ${micros(plan.scanMicros)}`), fact(`encode ${micros(plan.encodeMicros)}`),
    note ? fact(note) : null,
    filter && (wasted || (known.cost === 'high' && plan.rowsRead > plan.rowsReturned))
      ? h('span', { class: 'advice' }, icon('warn'), plan.plan === 'table' ? 'Add PartitionKey to the filter to read less.' : 'Add RowKey to the filter to read less.')
      : null);
}

/** @param {string} text */
function fact(text) {
  return h('span', { class: 'fact' }, text);
}
