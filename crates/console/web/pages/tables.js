// The tables of an account.

import { button, h } from '../lib/dom.js';
import { countSome, createTable, deleteTable, listTables } from '../lib/tables.js';
import { go, linkTo, relink, sortOf, sortText } from '../lib/router.js';
import { counted, plural } from '../lib/format.js';
import { currentSettings } from '../lib/state.js';
import { Grid } from '../ui/grid.js';
import { confirm, prompt } from '../ui/dialog.js';
import { attempt, inParallel, run, toast } from '../ui/feedback.js';
import { searchBox } from '../ui/parts.js';

const COUNTS_AT_A_TIME = 6;

/**
 * @param {import('../app.js').Context} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function tablesPage({ account, route }) {
  let names = await listTables(account);
  const isReadOnly = currentSettings().readOnly;
  /** @type {Grid<string>} */
  const grid = new Grid({
    label: 'Tables', keyOf: (name) => name, selectable: !isReadOnly, ...sortOf(route.query),
    columns: [{ key: 'name', title: 'Table', width: 280, sort: (name) => name.toLowerCase(), render: (name) => h('a', { href: linkTo([account.name, 'tables', name]), tabIndex: -1 }, name) }],
    onopen: (name) => go([account.name, 'tables', name]),
    onselect: (rows) => { remove.disabled = rows.length === 0; },
    onsort: (key, isDescending) => { sort = sortText(key, isDescending); link(); },
  });
  let sort = route.query.get('sort') ?? '';
  const search = searchBox('Search tables', () => { link(); draw(); }, route.query.get('search') ?? '');
  const link = () => relink([account.name, 'tables'], { search: search.input.value.trim(), sort });
  const count = h('span', { class: 'faint', role: 'status' });
  const draw = () => {
    const found = names.filter((name) => name.toLowerCase().includes(search.input.value.trim().toLowerCase()));
    grid.options.empty = names.length ? 'No table has this in its name. To find a value, open a table and use “Find a value in any property”.' : 'No tables yet. Create one, or let your application do it.';
    grid.setRows(found);
    count.textContent = plural(found.length, 'table');
  };
  const reload = async () => {
    names = await listTables(account);
    draw();
  };
  const create = () => prompt('Create a table', {
    label: 'Name', hint: '3 to 63 letters and digits, starting with a letter', confirm: 'Create',
    check: (name) => (/^[A-Za-z][A-Za-z0-9]{2,62}$/.test(name) ? undefined : 'A table name has 3 to 63 letters and digits and starts with a letter.'),
    submit: async (name) => { await createTable(account, name); await reload(); },
  });
  const remove = button({ icon: 'trash', label: 'Delete', kind: 'danger', disabled: true, onclick: async () => {
    const chosen = grid.selected;
    const what = chosen.length === 1 ? `the table ${chosen[0]}` : plural(chosen.length, 'table');
    const total = { count: 0, isMore: false };
    const isCounted = await run('Count entities', async (job) => {
      await inParallel(chosen, COUNTS_AT_A_TIME, async (name) => {
        const some = await countSome(account, name, job.signal);
        total.count += some.count;
        total.isMore ||= some.isMore;
        job.update(counted(total, 'entity', 'entities'));
      });
      return true;
    });
    if (!isCounted) return;
    if (!(await confirm('Delete tables', `This deletes ${what} with ${counted(total, 'entity', 'entities')}. Tables cannot be restored.`, `Delete ${plural(chosen.length, 'table')}`))) return;
    await run('Delete tables', async (job) => {
      let done = 0;
      for (const name of chosen) {
        job.signal.throwIfAborted();
        await deleteTable(account, name);
        done += 1;
        job.update(`${done} of ${chosen.length}`, done, chosen.length);
      }
      toast(`Deleted ${plural(done, 'table')}`);
    });
    await reload();
  } });
  draw();
  const element = h('div', { class: 'page fill' },
    h('div', { class: 'toolbar' }, h('h1', {}, 'Tables'), count, h('span', { class: 'grow' }), search.element,
      button({ icon: 'refresh', name: 'Refresh', onclick: () => attempt(reload) }),
      isReadOnly ? null : [remove, button({ icon: 'plus', label: 'Create', kind: 'primary', onclick: create })]),
    grid.element);
  return { title: ['Tables'], element, search: () => search.input.focus() };
}
