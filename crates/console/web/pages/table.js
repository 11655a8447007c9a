// One table: a query, its plan, and its entities in a grid.

import { button, fill, h } from '../lib/dom.js';
import { batch, batches, deleteEntity, getEntity, queryPage, queryPages } from '../lib/tables.js';
import { shortType } from '../lib/edm.js';
import { number, plural, time } from '../lib/format.js';
import { ServiceError } from '../lib/client.js';
import { currentSettings } from '../lib/state.js';
import { relink, sortOf, sortText } from '../lib/router.js';
import { Grid } from '../ui/grid.js';
import { confirm, menu } from '../ui/dialog.js';
import { attempt, errorBox, inParallel, isCancelled, run, toast } from '../ui/feedback.js';
import { QueryBar } from './query.js';
import { addPlans, planBar } from './plan.js';
import { confirmChanged, editEntity } from './entity.js';
import { exportEntities, importEntities } from './transfer.js';
import { showQuerySnippet } from './snippet.js';
import { sasDialog } from './sas.js';
import { policiesDialog } from './policies.js';

/** @typedef {import('../lib/edm.js').Entity} Entity */
/** @typedef {import('../lib/tables.js').Query} Query */
/** @typedef {import('../lib/client.js').Account} Account */

const KEY_WIDTH = 170;
const KEY_WIDTH_NARROW = 112;
const BATCHES_AT_A_TIME = 4;
/** Columns that are shown; an entity can have 252 properties, each entity its own. */
const COLUMNS_MAX = 300;

/**
 * @param {import('../app.js').Context} context
 * @param {string} table
 * @returns {Promise<import('../app.js').View>}
 */
export async function tablePage(context, table) {
  const view = new TableView(context.account, table, context.route.query);
  const running = view.run();
  // A search of the whole table may take long: its results are shown as they arrive.
  if (!context.route.query.get('find')) await running;
  return { title: ['Tables', table], element: view.element, leave: () => view.stop(), search: () => view.query.focus() };
}

class TableView {
  /** @type {Entity[]} */ #entities = [];
  /** @type {Record<string, string> | undefined} */ #next;
  /** @type {AbortController | undefined} */ #running;
  /** @type {Map<string, string>} */ #columns = new Map();
  /** The columns of the grid. */ #drawn = '';
  /** @type {import('../lib/tables.js').Plan | undefined} */ #cost;
  /** @type {Promise<void> | undefined} */ #more;
  #left = Infinity;
  #isLoading = false;
  #isLeft = false;
  #isEditing = false;

  /**
   * @param {Account} account
   * @param {string} table
   * @param {URLSearchParams} link
   */
  constructor(account, table, link) {
    this.account = account;
    this.table = table;
    const isReadOnly = currentSettings().readOnly;
    this.query = new QueryBar({ find: link.get('find') ?? '', filter: link.get('filter') ?? '', select: link.get('select') ?? '', top: link.get('top') ?? '' }, () => this.run());
    this.plan = h('div', { class: 'plan-slot' });
    this.count = h('span', { class: 'faint', role: 'status' });
    this.more = button({ label: 'Load more', onclick: () => this.loadMore() });
    this.all = button({ label: 'Load all', kind: 'quiet', onclick: () => this.loadAll() });
    this.remove = button({ icon: 'trash', label: 'Delete', kind: 'danger', disabled: true, onclick: () => this.removeSelected() });
    /** @type {Grid<Entity>} */
    this.grid = new Grid({
      label: `Entities of ${table}`, columns: [], selectable: !isReadOnly, ...sortOf(link),
      keyOf: (entity) => JSON.stringify([entity.partition, entity.row]),
      onopen: (entity) => this.edit(entity),
      onselect: (rows) => { this.remove.disabled = rows.length === 0; },
      onend: () => { if (this.#next && !this.#isLoading) this.loadMore(); },
      onsort: (key, isDescending) => { this.sort = sortText(key, isDescending); this.#relink(); },
    });
    this.sort = link.get('sort') ?? '';
    const others = button({ icon: 'more', name: 'More', onclick: () => menu(others, this.#menuItems()) });
    this.element = h('div', { class: 'page fill' },
      h('div', { class: 'toolbar' }, h('h1', {}, table), this.count, h('span', { class: 'grow' }),
        isReadOnly ? null : [this.remove, button({ icon: 'plus', label: 'Insert', kind: 'primary', onclick: () => this.edit(undefined) })],
        button({ icon: 'code', label: 'Code', kind: 'brief', onclick: () => showQuerySnippet(account, table, this.query.read()) }), others),
      this.query.element, this.plan, this.grid.element,
      h('div', { class: 'statusbar' }, this.more, this.all));
  }

  #menuItems() {
    const isReadOnly = currentSettings().readOnly;
    const query = () => this.query.read();
    const { find, filter } = query();
    return [
      { label: 'Export as CSV', run: () => exportEntities(this.account, this.table, query(), 'csv') },
      { label: 'Export as JSON Lines', run: () => exportEntities(this.account, this.table, query(), 'jsonl') },
      { label: 'Share (SAS)…', run: () => sasDialog(this.account, { service: 'table', table: this.table }) },
      { label: 'Stored access policies…', run: () => attempt(() => policiesDialog(this.account, { service: 'table', name: this.table })) },
      ...(isReadOnly ? [] : [
        { label: 'Import CSV or JSON Lines…', run: () => importEntities(this.account, this.table, () => this.run()) },
        { label: find || filter ? 'Delete all matching entities…' : 'Empty the table…', danger: true, run: () => this.removeMatching() },
      ]),
    ];
  }

  stop() {
    this.#isLeft = true;
    this.#running?.abort();
  }

  #relink() {
    relink([this.account.name, 'tables', this.table], { ...this.query.read(), sort: this.sort });
  }

  /** The part of the query that the server evaluates.
   * @returns {Query} */
  #serverQuery() {
    const { filter, select, top } = this.query.read();
    return { filter, select, top };
  }

  async run() {
    // An import may end after the user has gone elsewhere.
    if (this.#isLeft) return;
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    const read = this.query.read();
    this.#relink();
    this.grid.setBusy(true);
    this.#entities = [];
    this.#columns = new Map();
    this.#next = undefined;
    this.#cost = undefined;
    this.grid.toTop();
    this.#left = read.top ? Number(read.top) : Infinity;
    try {
      if (read.find) await this.#find(read, running.signal);
      else await this.#load(undefined, running.signal);
    } catch (error) {
      if (isCancelled(error)) return;
      fill(this.plan, errorBox(error));
      this.#draw('Nothing to show.');
    }
  }

  /**
   * @param {Record<string, string> | undefined} from
   * @param {AbortSignal} signal
   */
  async #load(from, signal) {
    this.#isLoading = true;
    try {
      const query = this.#serverQuery();
      if (this.#left < 1000) query.top = String(this.#left);
      else query.top = undefined;
      const page = await queryPage(this.account, this.table, query, from, signal);
      this.#take(page.entities);
      this.#left -= page.entities.length;
      this.#next = this.#left > 0 ? page.next : undefined;
      this.#showPlan(page.plan, query.filter);
      this.#draw();
    } finally {
      this.#isLoading = false;
    }
  }

  /**
   * @param {import('../lib/tables.js').Plan | undefined} plan of one more page
   * @param {string | undefined} filter
   * @param {string} [note]
   */
  #showPlan(plan, filter, note) {
    if (!plan) return;
    this.#cost = addPlans(this.#cost, plan);
    fill(this.plan, planBar(this.#cost, filter, note));
  }

  /**
   * Searches all properties for a text, page by page.
   * @param {Query} query
   * @param {AbortSignal} signal
   */
  async #find(query, signal) {
    let searched = 0;
    this.#draw('Searching…');
    await run(`Search ${this.table}`, async (job) => {
      const both = AbortSignal.any([job.signal, signal]);
      try {
        for await (const page of queryPages(this.account, this.table, query, both)) {
          searched += page.searched;
          this.#take(page.entities);
          job.update(`${number(searched)} entities searched, ${number(this.#entities.length)} found`);
          this.#showPlan(page.plan, query.filter, `searched here for “${query.find}”`);
          this.#draw('Searching…');
        }
      } catch (error) {
        // The next search has taken over, or the view was left: the user did not cancel this one.
        if (!signal.aborted) throw error;
      }
    });
    if (!signal.aborted) this.#draw();
  }

  /** @param {Entity[]} entities */
  #take(entities) {
    this.#entities.push(...entities);
    for (const entity of entities) {
      for (const [name, value] of entity.values) {
        const known = this.#columns.get(name);
        if (known === undefined && this.#columns.size < COLUMNS_MAX) this.#columns.set(name, shortType(value.type));
        else if (known !== undefined && known !== shortType(value.type)) this.#columns.set(name, 'mixed');
      }
    }
    if (entities.length > 0 && JSON.stringify([...this.#columns]) !== this.#drawn) this.#drawColumns();
    this.query.setProperties(['PartitionKey', 'RowKey', 'Timestamp', ...this.#columns.keys()]);
  }

  #drawColumns() {
    this.#drawn = JSON.stringify([...this.#columns]);
    const text = (/** @type {string} */ value) => value.toLowerCase();
    this.grid.setColumns([
      { key: 'pk', title: 'PartitionKey', width: KEY_WIDTH, narrow: KEY_WIDTH_NARROW, sort: (row) => text(row.partition), render: (row) => h('span', { class: 'key opens' }, row.partition) },
      { key: 'rk', title: 'RowKey', width: KEY_WIDTH, narrow: KEY_WIDTH_NARROW, sort: (row) => text(row.row), render: (row) => h('span', { class: 'key opens' }, row.row) },
      ...[...this.#columns].map(([name, kind]) => ({
        key: `p:${name}`, title: name, kind, width: widthOf(name, kind),
        sort: (/** @type {Entity} */ row) => sortable(row.values.get(name)),
        render: (/** @type {Entity} */ row) => cell(row.values.get(name)),
      })),
      { key: 'ts', title: 'Timestamp', width: 170, sort: (row) => row.timestamp, render: (row) => h('span', { class: 'faint' }, time(row.timestamp)) },
    ]);
  }

  /** @param {string} [empty] what the grid says without rows */
  #draw(empty) {
    const { find, filter } = this.query.read();
    this.grid.options.empty = empty ?? (find ? `No entity${filter ? ' that matches the filter' : ''} contains “${find}”.` : filter ? 'No entities match the filter.' : 'No entities yet. Insert one, or import a file.');
    if (this.grid.options.columns.length === 0) this.#drawColumns();
    this.grid.setRows(this.#entities);
    this.grid.setBusy(false);
    this.count.textContent = `${plural(this.#entities.length, 'entity', 'entities')}${this.#next ? ' so far' : ''}`;
    this.more.hidden = !this.#next;
    this.all.hidden = !this.#next;
  }

  loadMore() {
    const running = this.#running;
    if (!this.#next || this.#isLoading || !running) return;
    this.#more = this.#load(this.#next, running.signal).catch((error) => { if (!isCancelled(error)) fill(this.plan, errorBox(error)); });
  }

  async loadAll() {
    const running = this.#running;
    if (!running) return;
    await run(`Load ${this.table}`, async (job) => {
      // A page that is on its way must not be read twice.
      await this.#more;
      while (this.#next) {
        await this.#load(this.#next, AbortSignal.any([job.signal, running.signal]));
        job.update(plural(this.#entities.length, 'entity', 'entities'));
      }
    });
  }

  /** @param {Entity | undefined} entity */
  async edit(entity) {
    // The entity is read before its dialog opens: a second request must not open another.
    if (this.#isEditing) return;
    this.#isEditing = true;
    try {
      const changed = await editEntity(this.account, this.table, entity);
      if (changed) await this.run();
    } finally {
      this.#isEditing = false;
    }
  }

  async removeSelected() {
    const chosen = this.grid.selected;
    const what = plural(chosen.length, 'entity', 'entities');
    if (!(await confirm('Delete entities', `This deletes ${what} from ${this.table}. Entities cannot be restored.`, `Delete ${what}`))) return;
    await run(`Delete entities of ${this.table}`, async (job) => {
      const changed = await this.#removeUnchanged(chosen, job);
      const pairs = changed.length ? await this.#current(changed, job.signal) : [];
      const isAgreed = pairs.length > 0 && (await confirmChanged(pairs));
      for (const { theirs } of isAgreed ? pairs : []) await deleteEntity(this.account, this.table, theirs, theirs.etag, job.signal);
      const kept = isAgreed ? 0 : pairs.length;
      toast(`Deleted ${plural(chosen.length - kept, 'entity', 'entities')}${kept ? `, kept ${number(kept)} that changed` : ''}`);
    });
    await this.run();
  }

  /**
   * Deletes entities that are still as the grid shows them. Returns the others.
   * @param {Entity[]} entities
   * @param {import('../ui/feedback.js').Job} job
   */
  async #removeUnchanged(entities, job) {
    /** @type {Entity[]} */
    const changed = [];
    let done = 0;
    const one = async (/** @type {Entity} */ entity) => {
      try {
        await deleteEntity(this.account, this.table, entity, entity.etag || '*', job.signal);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.status === 412) changed.push(entity);
        else if (error.status !== 404) throw error; // It was already deleted, which is the intended result.
      }
    };
    const groups = batches(entities.map((entity) => ({ kind: 'delete', entity })));
    await inParallel(groups, BATCHES_AT_A_TIME, async (group) => {
      job.signal.throwIfAborted();
      try {
        await batch(this.account, this.table, group, job.signal);
      } catch (error) {
        if (!(error instanceof ServiceError) || (error.status !== 412 && error.status !== 404)) throw error;
        // A batch does all or nothing: find the entities that stand in its way.
        for (const { entity } of group) await one(/** @type {Entity} */ (entity));
      }
      done += group.length;
      job.update(`${number(done)} of ${number(entities.length)}`, done, entities.length);
    });
    return changed;
  }

  /**
   * What has become of entities that somebody changed.
   * @param {Entity[]} entities
   * @param {AbortSignal} signal
   */
  async #current(entities, signal) {
    const pairs = [];
    for (const mine of entities) {
      signal.throwIfAborted();
      pairs.push({ mine, theirs: await getEntity(this.account, this.table, mine) });
    }
    return pairs;
  }

  async removeMatching() {
    const read = this.query.read();
    const query = { ...read, select: read.find ? undefined : 'PartitionKey,RowKey' };
    const count = await run('Count entities', async (job) => {
      let found = 0;
      for await (const page of queryPages(this.account, this.table, query, job.signal)) {
        found += page.entities.length;
        job.update(plural(found, 'entity', 'entities'));
      }
      return found;
    });
    if (count === undefined) return;
    if (count === 0) return toast('There is nothing to delete');
    const what = plural(count, 'entity', 'entities');
    const conditions = [query.filter ? 'match the filter' : '', query.find ? `contain “${query.find}”` : ''].filter(Boolean).join(' and ');
    const scope = conditions ? `${what} of ${this.table} that ${conditions}` : `ALL ${what} of ${this.table}`;
    if (!(await confirm('Delete entities', `This deletes ${scope}. Entities cannot be restored.`, `Delete ${what}`))) return;
    await run(`Delete entities of ${this.table}`, async (job) => {
      let done = 0;
      for await (const page of queryPages(this.account, this.table, query, job.signal)) {
        await this.#removeAll(page.entities, job.signal);
        done += page.entities.length;
        job.update(`${number(done)} of ${number(count)}`, done, count);
      }
      toast(`Deleted ${plural(done, 'entity', 'entities')}`);
    });
    await this.run();
  }

  /**
   * Deletes entities, whatever they have become.
   * @param {Entity[]} entities
   * @param {AbortSignal} signal
   */
  async #removeAll(entities, signal) {
    const groups = batches(entities.map(({ partition, row }) => ({ kind: 'delete', entity: { partition, row } })));
    await inParallel(groups, BATCHES_AT_A_TIME, async (group) => {
      signal.throwIfAborted();
      await batch(this.account, this.table, group, signal);
    });
  }
}

/**
 * @param {string} name
 * @param {string} kind
 */
function widthOf(name, kind) {
  /** @type {Record<string, number>} */
  const usual = { Boolean: 100, Int32: 110, Double: 120, Int64: 150, DateTime: 200, Guid: 290 };
  return Math.max(usual[kind] ?? 200, name.length * 8 + kind.length * 7 + 54);
}

/** @param {import('../lib/edm.js').EdmValue | undefined} value */
function sortable(value) {
  if (!value) return '';
  const isNumber = value.type === 'Edm.Int32' || value.type === 'Edm.Int64' || value.type === 'Edm.Double';
  return isNumber ? Number(value.text) : value.text.toLowerCase();
}

/** @param {import('../lib/edm.js').EdmValue | undefined} value */
function cell(value) {
  if (!value) return h('span', { class: 'absent', 'aria-label': 'absent' }, '—');
  const text = value.text.length > 300 ? `${value.text.slice(0, 300)}…` : value.text;
  return h('span', { class: `value opens type-${shortType(value.type).toLowerCase()}` }, text);
}
