// The queues of an account, with their depths.

import { button, h } from '../lib/dom.js';
import { createQueue, deleteQueue, listQueues, queueState } from '../lib/queues.js';
import { go, linkTo, relink, sortOf, sortText } from '../lib/router.js';
import { number, plural } from '../lib/format.js';
import { currentSettings } from '../lib/state.js';
import { Grid, isNarrow } from '../ui/grid.js';
import { confirm, prompt } from '../ui/dialog.js';
import { attempt, inParallel, run, showError, toast } from '../ui/feedback.js';
import { searchBox } from '../ui/parts.js';
import { findMessage } from './find_message.js';

/** @typedef {{name: string, depth: number | undefined}} Row */

const AT_A_TIME = 6;

/**
 * @param {import('../app.js').Context} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function queuesPage({ account, route }) {
  /** @type {Row[]} */
  let rows = [];
  const left = new AbortController();
  const isReadOnly = currentSettings().readOnly;
  /** @type {Grid<Row>} */
  const grid = new Grid({
    label: 'Queues', keyOf: (row) => row.name, selectable: !isReadOnly, ...sortOf(route.query),
    columns: [
      { key: 'name', title: 'Queue', width: 280, narrow: 124, grows: true, sort: (row) => row.name, render: (row) => h('a', { href: linkTo([account.name, 'queues', row.name]), tabIndex: -1 }, row.name) },
      { key: 'depth', title: 'Messages', width: 110, narrow: 90, align: 'right', sort: (row) => row.depth ?? -1, render: (row) => (row.depth === undefined ? '…' : number(row.depth)) },
      { key: 'kind', title: '', width: 160, narrow: 90, render: (row) => (row.name.endsWith('-poison') ? h('span', { class: 'badge warn', title: 'poison queue' }, isNarrow() ? 'poison' : 'poison queue') : null) },
    ],
    onopen: (row) => go([account.name, 'queues', row.name]),
    onselect: (chosen) => { remove.disabled = chosen.length === 0; },
    onsort: (key, isDescending) => { sort = sortText(key, isDescending); link(); },
  });
  let sort = route.query.get('sort') ?? '';
  const search = searchBox('Search queues', () => { link(); draw(); }, route.query.get('search') ?? '');
  const link = () => relink([account.name, 'queues'], { search: search.input.value.trim(), sort });
  const count = h('span', { class: 'faint', role: 'status' });
  const draw = () => {
    const found = rows.filter((row) => row.name.includes(search.input.value.trim().toLowerCase()));
    grid.options.empty = rows.length ? 'No queue has this in its name. To find a message by its text, use “Find a message…”.' : 'No queues yet. Create one, or let your application do it.';
    grid.setRows(found);
    count.textContent = plural(found.length, 'queue');
  };
  const load = async () => {
    rows = (await listQueues(account, left.signal)).map((name) => ({ name, depth: undefined }));
    draw();
    inParallel(rows, AT_A_TIME, async (row) => {
      row.depth = (await queueState(account, row.name, left.signal)).depth;
      draw();
    }).catch(showError);
  };
  const create = () => prompt('Create a queue', {
    label: 'Name', hint: '3 to 63 characters: lower-case letters, digits, and single hyphens between them', confirm: 'Create',
    check: (name) => (/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? undefined : 'A queue name has 3 to 63 characters: lower-case letters, digits, and single hyphens between them.'),
    submit: async (name) => { await createQueue(account, name); await load(); },
  });
  const remove = button({ icon: 'trash', label: 'Delete', kind: 'danger', disabled: true, onclick: async () => {
    const chosen = grid.selected;
    const messages = chosen.reduce((sum, row) => sum + (row.depth ?? 0), 0);
    if (!(await confirm('Delete queues', `This deletes ${plural(chosen.length, 'queue')} with about ${plural(messages, 'message')}. Queues cannot be restored.`, `Delete ${plural(chosen.length, 'queue')}`))) return;
    await run('Delete queues', async (job) => {
      for (const row of chosen) {
        job.signal.throwIfAborted();
        await deleteQueue(account, row.name);
      }
      toast(`Deleted ${plural(chosen.length, 'queue')}`);
    });
    await load();
  } });
  await load();
  const element = h('div', { class: 'page fill' },
    h('div', { class: 'toolbar' }, h('h1', {}, 'Queues'), count, h('span', { class: 'grow' }), search.element,
      button({ icon: 'refresh', name: 'Refresh', onclick: () => attempt(load) }),
      button({ icon: 'search', label: 'Find a message…', onclick: () => findMessage(account) }),
      isReadOnly ? null : [remove, button({ icon: 'plus', label: 'Create', kind: 'primary', onclick: create })]),
    grid.element);
  return { title: ['Queues'], element, leave: () => left.abort(), search: () => search.input.focus() };
}
