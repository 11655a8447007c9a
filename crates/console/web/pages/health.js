// The health of the server, live: requests, errors, latency, bytes, the store, the hottest partitions, slow queries.

import { fill, h } from '../lib/dom.js';
import { parseMetrics, quantile, sum } from '../lib/metrics.js';
import { duration, micros, number, size, time } from '../lib/format.js';
import { linkTo } from '../lib/router.js';
import { errorBox } from '../ui/feedback.js';
import { facts } from '../ui/parts.js';
import { Sparkline, poll } from '../ui/live.js';
import { PLANS } from './plan.js';

/** @typedef {import('../lib/metrics.js').Sample} Sample */
/** @typedef {Map<string, Sample[]>} Families */
/** @typedef {{at: string, path: string, query: string, plan: string, ranges: number, rowsRead: number, rowsReturned: number, micros: number}} Slow */

/** @typedef {{name: string, rates: number[], row: HTMLAnchorElement, cells: HTMLElement[], now: HTMLElement}} Partition */

const POLL_MILLISECONDS = 2000;
const OPERATIONS_MAX = 40;
/** Partitions in the heat map, and readings of each: two minutes. */
const HEAT_ROWS_MAX = 20;
const HEAT_READINGS = 60;
const HEAT_LEVELS = 5;

/** What is known by name about the store; other numbers of the engine follow under its heading.
 * @type {Array<{title: string, entries: Array<[string, string]>}>} */
const STORE = [
  { title: 'Size', entries: [['disk_bytes', 'On disk'], ['content_live_bytes', 'Blob content, live'], ['content_dead_bytes', 'Blob content, dead'], ['content_unswept_bytes', 'Deleted, not yet swept'], ['content_writing_bytes', 'Being written'], ['content_freed_bytes_total', 'Freed since the start'], ['journal_bytes', 'Journal'], ['write_buffer_bytes', 'Write buffer']] },
  { title: 'Caches', entries: [['cache_bytes', 'Used'], ['cache_capacity_bytes', 'Capacity']] },
  { title: 'Commit groups', entries: [['commits_total', 'Commits'], ['commit_groups_total', 'Groups'], ['commit_group_commits', 'Commits per group'], ['largest_commit_group_bytes', 'Largest group'], ['sync_seconds', 'Time of a sync']] },
];

/**
 * @param {import('../app.js').Context} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function healthPage({ account }) {
  const element = h('div', { class: 'page scrolls' });
  if (!account.key) {
    fill(element, h('h1', {}, 'Health'), h('p', {}, 'Server metrics require an account key; this page is connected with a SAS.'));
    return { title: ['Health'], element };
  }
  const view = new HealthView(account.name);
  const refresh = async (/** @type {AbortSignal | undefined} */ signal) => {
    const response = await account.request('health', 'GET', '', signal ? { signal } : {});
    const body = /** @type {{metrics: string, slow: Slow[]}} */ (await response.json());
    view.show(parseMetrics(body.metrics), body.slow);
  };
  const report = (/** @type {unknown} */ error) => view.showOutage(error);
  await refresh(undefined).catch(report);
  fill(element, view.element);
  const stop = poll(POLL_MILLISECONDS, refresh, report);
  return { title: ['Health'], element, leave: stop };
}

class HealthView {
  /** @type {{at: number, families: Families} | undefined} */
  #before;
  /** The slow queries that are shown. */ #slowShown = '';

  /** @param {string} account */
  constructor(account) {
    this.account = account;
    this.tiles = ['Requests per second', 'Errors per second', 'Received per second', 'Sent per second'].map((title) => ({ title, value: h('strong', { class: 'big' }, '–'), spark: new Sparkline(title) }));
    this.operations = h('tbody', {});
    this.store = h('div', {});
    this.heat = h('div', { class: 'heat' });
    /** Recent rates of each partition, the newest last. @type {Map<string, Partition>} */
    this.partitions = new Map();
    this.slow = h('div', {});
    this.outage = h('div', {});
    this.element = h('div', {},
      h('h1', {}, 'Health'), this.outage,
      h('div', { class: 'tiles' }, this.tiles.map((tile) => h('div', { class: 'card tile' }, h('span', { class: 'faint' }, tile.title), tile.value, tile.spark.element))),
      h('p', { class: 'faint small' }, 'Bytes include what this page itself reads every two seconds.'),
      h('div', { class: 'cards' },
        h('section', { class: 'card span' }, h('h2', {}, 'Operations since the start'), h('div', { class: 'scroll-x part', tabIndex: 0, role: 'region', 'aria-label': 'Operations' },
          h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Operation', 'Requests', 'Errors', 'Median', '99 %'].map((title, index) => h('th', { scope: 'col', class: index ? 'num' : '' }, title)))), this.operations))),
        h('section', { class: 'card span' }, h('h2', {}, 'Hottest partitions of this account'), this.heat),
        h('section', { class: 'card span' }, h('h2', {}, 'Recent slow queries of this account'), this.slow),
        h('section', { class: 'card span' }, h('h2', {}, 'Server and store'), this.store)));
  }

  /**
   * @param {Families} families
   * @param {Slow[]} slow
   */
  show(families, slow) {
    this.#showRates(families);
    this.#showOperations(families);
    this.#showStore(families);
    this.#showHeat(families);
    this.#showSlow(slow);
  }

  /** @param {unknown} error of the last reading */
  showOutage(error) {
    fill(this.outage, error === undefined ? null : [errorBox(error), h('p', { class: 'faint' }, this.#before ? 'The numbers below are from the last successful update. The page keeps retrying.' : 'The page keeps retrying.')]);
  }

  /** @param {Families} families */
  #showRates(families) {
    const now = performance.now();
    const before = this.#before;
    const seconds = before ? (now - before.at) / 1000 : 0;
    const errors = (/** @type {Families} */ of) => sum(of, 'lazuli_requests_total', { status: '4xx' }) + sum(of, 'lazuli_requests_total', { status: '5xx' });
    const readings = [(/** @type {Families} */ of) => sum(of, 'lazuli_requests_total'), errors, (/** @type {Families} */ of) => sum(of, 'lazuli_received_bytes_total'), (/** @type {Families} */ of) => sum(of, 'lazuli_sent_bytes_total')];
    this.tiles.forEach((tile, index) => {
      const read = readings[index];
      if (!read || !before || seconds <= 0) return;
      const rate = Math.max(0, (read(families) - read(before.families)) / seconds);
      tile.value.textContent = index < 2 ? number(Math.round(rate * 10) / 10) : size(rate);
      tile.spark.add(rate);
    });
    this.#before = { at: now, families };
  }

  /** @param {Families} families */
  #showOperations(families) {
    /** @type {Map<string, {requests: number, errors: number}>} */
    const operations = new Map();
    for (const { labels, value } of families.get('lazuli_requests_total') ?? []) {
      const entry = operations.get(labels.operation ?? '') ?? { requests: 0, errors: 0 };
      entry.requests += value;
      if (labels.status === '4xx' || labels.status === '5xx') entry.errors += value;
      operations.set(labels.operation ?? '', entry);
    }
    const buckets = families.get('lazuli_request_duration_seconds_bucket') ?? [];
    const rows = [...operations].sort(([, a], [, b]) => b.requests - a.requests).slice(0, OPERATIONS_MAX).map(([name, entry]) => {
      const own = buckets.filter((bucket) => bucket.labels.operation === name);
      const cell = (/** @type {string} */ value, kind = '') => h('td', { class: `num ${kind}` }, value);
      return h('tr', {}, h('td', {}, name), cell(number(entry.requests)), cell(number(entry.errors), entry.errors ? 'bad' : ''), cell(micros(quantile(own, 0.5) * 1e6)), cell(micros(quantile(own, 0.99) * 1e6)));
    });
    fill(this.operations, rows);
  }

  /** @param {Families} families */
  #showStore(families) {
    const one = (/** @type {string} */ name) => families.get(name)?.[0]?.value;
    const memory = one('process_resident_memory_bytes');
    /** @type {Array<[string, string]>} */
    const server = [
      ['Takes writes', one('lazuli_engine_takes_writes') === 1 ? 'yes' : 'NO: restart the server and read its log'],
      ['Up', duration(one('lazuli_uptime_seconds') ?? 0)], ['Connections', number(one('lazuli_connections_open') ?? 0)],
      ...(memory === undefined ? [] : [/** @type {[string, string]} */ (['Memory', size(memory)])]),
      ['Throttled', number(sum(families, 'lazuli_throttled_total'))],
    ];
    const left = engineNumbers(families);
    left.delete('takes_writes');
    const groups = STORE.map(({ title, entries }) => {
      const known = entries.filter(([name]) => left.has(name)).map(([name, label]) => /** @type {[string, string]} */ ([label, left.get(name) ?? '']));
      for (const [name] of entries) left.delete(name);
      return { title, known };
    });
    groups.unshift({ title: 'Server', known: server });
    groups.push({ title: 'Engine', known: [...left].map(([name, value]) => [words(name), value]) });
    fill(this.store, h('div', { class: 'groups' }, groups.filter((group) => group.known.length > 0).map((group) => h('div', {}, h('h3', {}, group.title), facts(group.known)))));
  }

  /** @param {Families} families */
  #showHeat(families) {
    const seen = new Set();
    for (const { labels, value } of families.get('lazuli_partition_entities_per_second') ?? []) {
      if (labels.account === '' || (value <= 0 && !this.partitions.has(`${labels.table}/${labels.partition}`))) continue;
      const key = `${labels.table}/${labels.partition}`;
      const entry = this.partitions.get(key) ?? this.#partition(labels.table ?? '', labels.partition ?? '');
      entry.rates.push(value);
      seen.add(key);
      this.partitions.set(key, entry);
    }
    for (const [key, entry] of this.partitions) {
      if (!seen.has(key)) entry.rates.push(0);
      if (entry.rates.length > HEAT_READINGS) entry.rates.shift();
      if (entry.rates.every((rate) => rate === 0)) this.partitions.delete(key);
    }
    this.#drawHeat();
  }

  /**
   * @param {string} table
   * @param {string} partition
   * @returns {Partition}
   */
  #partition(table, partition) {
    const href = linkTo([this.account, 'tables', table], { filter: `PartitionKey eq '${partition.replaceAll("'", "''")}'` });
    const cells = Array.from({ length: HEAT_READINGS }, () => h('i', {}));
    const now = h('span', { class: 'heat-now' });
    const row = h('a', { class: 'heat-row', href }, h('span', { class: 'heat-name' }, `${table} / ${partition}`), h('span', { class: 'heat-cells', 'aria-hidden': 'true' }, cells), now);
    return { rates: [], row, cells, now, name: `${table} / ${partition}` };
  }

  /** A row per partition, the hottest first; a cell per reading, the newest at the right. Rows stay, so that the keyboard can reach them. */
  #drawHeat() {
    const peak = (/** @type {Partition} */ entry) => Math.max(...entry.rates);
    const hottest = [...this.partitions.values()].sort((a, b) => peak(b) - peak(a)).slice(0, HEAT_ROWS_MAX);
    if (hottest.length === 0) return fill(this.heat, h('p', { class: 'faint' }, 'No partition was used in the last two minutes.'));
    const most = Math.max(0.001, ...hottest.map(peak));
    for (const entry of hottest) {
      const { row, cells, rates } = entry;
      const empty = HEAT_READINGS - rates.length;
      cells.forEach((cell, index) => { cell.className = `heat-${Math.ceil(((rates[index - empty] ?? 0) / most) * HEAT_LEVELS)}`; });
      const perSecond = (/** @type {number} */ rate) => `${number(Math.round(rate * 10) / 10)}/s`;
      entry.now.textContent = perSecond(rates.at(-1) ?? 0);
      row.title = `${entry.name}: ${entry.now.textContent} now, ${perSecond(peak(entry))} at most`;
    }
    const rows = hottest.map((entry) => entry.row);
    if (rows.length !== this.heat.childElementCount || rows.some((row, index) => row !== this.heat.children[index])) {
      const focused = rows.find((row) => row === document.activeElement);
      this.heat.replaceChildren(...rows);
      focused?.focus({ preventScroll: true });
    }
    return this.heat;
  }

  /** @param {Slow[]} slow */
  #showSlow(slow) {
    // Drawing the same again would take the focus and the selection away.
    const shown = JSON.stringify(slow);
    if (shown === this.#slowShown) return;
    this.#slowShown = shown;
    if (slow.length === 0) return void fill(this.slow, h('p', { class: 'faint' }, 'None: no query took 100 ms or more, or read over a hundred times more than it returned.'));
    const rows = slow.map((query) => {
      const plan = PLANS[query.plan];
      const table = /\/([A-Za-z][A-Za-z0-9]*)(\(|$)/.exec(query.path)?.[1];
      const filter = /(?:^|&)\$filter=(.*?)(?:&\$|$)/.exec(query.query)?.[1];
      const what = `${query.path.replace(/^\/[^/]*/, '')} ${query.query}`;
      return h('tr', {}, h('td', {}, time(query.at)), h('td', { class: 'mono' }, table ? h('a', { href: linkTo([this.account, 'tables', table], { filter }) }, what) : what),
        h('td', {}, h('span', { class: `badge cost-${plan?.cost ?? 'middle'}` }, plan?.title ?? query.plan)), h('td', { class: 'num' }, number(query.rowsRead)), h('td', { class: 'num' }, number(query.rowsReturned)), h('td', { class: 'num' }, micros(query.micros)));
    });
    fill(this.slow, h('div', { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Slow queries' }, h('table', { class: 'plain' },
      h('thead', {}, h('tr', {}, ['Time', 'Query', 'Plan', 'Read', 'Returned', 'Took'].map((title, index) => h('th', { scope: 'col', class: index > 2 ? 'num' : '' }, title)))), h('tbody', {}, rows))));
  }
}

/**
 * The numbers of the engine as people read them, by their names without prefix and suffixes.
 * @param {Families} families
 */
function engineNumbers(families) {
  /** @type {Map<string, string>} */
  const numbers = new Map();
  for (const [name, samples] of families) {
    const found = /^lazuli_engine_(.*?)(_bucket)?$/.exec(name);
    if (!found || /_(sum|count)$/.test(name)) continue;
    const [, bare = '', isHistogram] = found;
    // What is counted is whole; a quantile that lies within a bucket is not.
    const shown = (/** @type {number} */ value) => (/seconds/.test(name) ? micros(value * 1e6) : /bytes/.test(name) ? size(value) : number(isHistogram ? Math.ceil(value) : value));
    if (!isHistogram) numbers.set(bare, shown(samples.reduce((total, sample) => total + sample.value, 0)));
    else if (!Number.isNaN(quantile(samples, 0.5))) numbers.set(bare, `median ${shown(quantile(samples, 0.5))}, 99 % ${shown(quantile(samples, 0.99))}`);
  }
  return numbers;
}

/** @param {string} name */
function words(name) {
  const text = name.replace(/_(total|bytes|seconds)/g, '').replaceAll('_', ' ');
  return (text[0]?.toUpperCase() ?? '') + text.slice(1);
}
