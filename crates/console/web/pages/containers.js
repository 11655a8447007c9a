// The containers of an account.

import { button, checkbox, field, h, select } from '../lib/dom.js';
import { countSome, createContainer, deleteContainer, listContainers, restoreContainer } from '../lib/blobs.js';
import { go, linkTo, relink, sortOf, sortText } from '../lib/router.js';
import { counted, plural, shortTime, size, time } from '../lib/format.js';
import { currentSettings } from '../lib/state.js';
import { Grid, isNarrow } from '../ui/grid.js';
import { confirm, form } from '../ui/dialog.js';
import { attempt, inParallel, run, toast } from '../ui/feedback.js';
import { searchBox } from '../ui/parts.js';

/** @typedef {import('../lib/blobs.js').Container} Container */

export const ACCESS = /** @type {Array<[string, string]>} */ ([['private', 'Private'], ['blob', 'Anyone may read blobs'], ['container', 'Anyone may list and read blobs']]);

const COUNTS_AT_A_TIME = 6;

/**
 * @param {import('../app.js').Context} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function containersPage({ account, route }) {
  /** @type {Container[]} */
  let containers = [];
  const isReadOnly = currentSettings().readOnly;
  /** @type {Grid<Container>} */
  const grid = new Grid({
    label: 'Containers', keyOf: (row) => `${row.name} ${row.version}`, selectable: !isReadOnly, ...sortOf(route.query),
    rowClass: (container) => (container.isDeleted ? 'deleted' : ''),
    columns: [
      { key: 'name', title: 'Container', width: 260, narrow: 118, grows: true, sort: (row) => row.name, render: (row) => (row.isDeleted ? row.name : h('a', { href: linkTo([account.name, 'blobs', row.name]), tabIndex: -1 }, row.name)) },
      { key: 'access', title: 'Access', width: 170, narrow: 110, sort: (row) => row.access, render: (row) => (row.access === 'private' ? h('span', { class: 'faint' }, 'Private') : h('span', { class: 'badge warn' }, `Public: ${row.access}`)) },
      { key: 'lease', title: 'Lease', width: 110, narrow: 0, render: (row) => (row.lease === 'leased' ? h('span', { class: 'badge' }, 'leased') : '') },
      { key: 'modified', title: 'Modified', width: 170, narrow: 100, sort: (row) => Date.parse(row.modified), render: (row) => h('span', { class: 'faint', title: time(row.modified) }, isNarrow() ? shortTime(row.modified) : time(row.modified)) },
    ],
    onopen: (row) => (row.isDeleted ? restore([row]) : go([account.name, 'blobs', row.name])),
    onselect: (rows) => { remove.disabled = rows.length === 0 || rows.some((row) => row.isDeleted); },
    onsort: (key, isDescending) => { sort = sortText(key, isDescending); link(); },
  });
  let sort = route.query.get('sort') ?? '';
  const search = searchBox('Search containers', () => { link(); draw(); }, route.query.get('search') ?? '');
  const deleted = checkbox('Deleted', route.query.get('show') === 'deleted', () => { link(); return attempt(load); });
  const link = () => relink([account.name, 'blobs'], { search: search.input.value.trim(), show: deleted.input.checked ? 'deleted' : '', sort });
  const count = h('span', { class: 'faint', role: 'status' });
  const draw = () => {
    const found = containers.filter((container) => container.name.includes(search.input.value.trim().toLowerCase()));
    grid.options.empty = containers.length ? 'No container has this in its name. To find a blob, open a container and search there.' : 'No containers yet. Create one, or let your application do it.';
    grid.setRows(found);
    count.textContent = plural(found.length, 'container');
  };
  const load = async () => {
    containers = await listContainers(account, { deleted: deleted.input.checked });
    draw();
  };
  const restore = (/** @type {Container[]} */ wanted) => attempt(async () => {
    for (const container of wanted) await restoreContainer(account, container);
    toast(`Restored ${wanted.length === 1 ? wanted[0]?.name : plural(wanted.length, 'container')}`);
    await load();
  });
  const create = () => {
    const name = h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
    const access = select(ACCESS, 'private');
    return form('Create a container', {
      label: 'Create', body: [field('Name', name, '3 to 63 characters: lower-case letters, digits, and single hyphens between them'), field('Public access', access)],
      submit: async () => {
        const wanted = name.value.trim();
        if (!/^(\$root|\$web|\$logs|(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*)$/.test(wanted)) throw new Error('A container name has 3 to 63 characters: lower-case letters, digits, and single hyphens between them.');
        await createContainer(account, wanted, access.value);
        await load();
      },
    });
  };
  const remove = button({ icon: 'trash', label: 'Delete', kind: 'danger', disabled: true, onclick: async () => {
    const chosen = grid.selected;
    const what = chosen.length === 1 ? `the container ${chosen[0]?.name}` : plural(chosen.length, 'container');
    const total = { count: 0, bytes: 0, isMore: false };
    const isCounted = await run('Count blobs', async (job) => {
      await inParallel(chosen, COUNTS_AT_A_TIME, async (container) => {
        const some = await countSome(account, container.name, job.signal);
        total.count += some.count;
        total.bytes += some.bytes;
        total.isMore ||= some.isMore;
        job.update(counted(total, 'blob'));
      });
      return true;
    });
    if (!isCounted) return;
    if (!(await confirm('Delete containers', `This deletes ${what} with ${counted(total, 'blob')} (${size(total.bytes)}). Without soft delete for containers they cannot be restored.`, `Delete ${plural(chosen.length, 'container')}`))) return;
    /** @type {string[]} */
    const gone = [];
    await run('Delete containers', async (job) => {
      for (const container of chosen) {
        job.signal.throwIfAborted();
        await deleteContainer(account, container.name);
        gone.push(container.name);
        job.update(`${gone.length} of ${chosen.length}`, gone.length, chosen.length);
      }
    });
    await load();
    const restorable = gone.length ? await lastDeleted(account, gone) : [];
    if (gone.length) toast(`Deleted ${plural(gone.length, 'container')}`, restorable.length ? { action: { label: 'Undo', run: () => restore(restorable) } } : {});
  } });
  await load();
  const element = h('div', { class: 'page fill' },
    h('div', { class: 'toolbar' }, h('h1', {}, 'Containers'), count, h('span', { class: 'grow' }), deleted.element, search.element,
      button({ icon: 'refresh', name: 'Refresh', onclick: () => attempt(load) }),
      isReadOnly ? null : [remove, button({ icon: 'plus', label: 'Create', kind: 'primary', onclick: create })]),
    grid.element);
  return { title: ['Blobs'], element, search: () => search.input.focus() };
}

/**
 * The containers of these names that were deleted last and can be restored.
 * @param {import('../lib/client.js').Account} account
 * @param {string[]} names
 */
async function lastDeleted(account, names) {
  /** @type {Map<string, Container>} */
  const found = new Map();
  for (const container of await listContainers(account, { deleted: true })) {
    const known = found.get(container.name);
    if (container.isDeleted && names.includes(container.name) && (!known || known.version < container.version)) found.set(container.name, container);
  }
  return [...found.values()];
}
