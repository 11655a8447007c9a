// One container: folders and blobs, search, and what can be done with several of them.

import { button, checkbox, fill, h, icon, select } from '../lib/dom.js';
import { inFolders, listBlobs, withoutVersions } from '../lib/blobs.js';
import { glob, number, plural, shortTime, size, time } from '../lib/format.js';
import { currentSettings } from '../lib/state.js';
import { linkTo, relink, sortOf, sortText } from '../lib/router.js';
import { Grid, isNarrow } from '../ui/grid.js';
import { menu } from '../ui/dialog.js';
import { attempt, isCancelled, showError } from '../ui/feedback.js';
import { searchBox } from '../ui/parts.js';
import { copyItems, downloadItems, emptyContainer, folderSizes, removeItems } from './container_actions.js';
import { containerSettings } from './container_settings.js';
import { chooseFiles, dropZone } from './upload.js';
import { sasDialog } from './sas.js';
import { policiesDialog } from './policies.js';

/** @typedef {import('../lib/blobs.js').Item} Item */
/** @typedef {import('../lib/client.js').Account} Account */

/** Items that are kept in memory; search narrows down what is beyond. */
const ITEMS_MAX = 500_000;
const MODES = /** @type {Array<[string, string]>} */ ([['contains', 'contains'], ['prefix', 'starts with'], ['glob', 'matches *.?']]);

/**
 * @param {import('../app.js').Context} context
 * @param {string} container
 * @returns {Promise<import('../app.js').View>}
 */
export async function containerPage({ account, route }, container) {
  const view = new ContainerView(account, container, route.query);
  await view.load();
  const segments = view.prefix.split('/').filter(Boolean);
  const link = (/** @type {number} */ count) => linkTo([account.name, 'blobs', container], { prefix: segments.slice(0, count).map((segment) => `${segment}/`).join('') });
  return {
    title: ['Blobs', container, ...segments],
    links: [undefined, link(0), ...segments.map((_, index) => link(index + 1))],
    element: view.element, leave: () => view.stop(), search: () => view.search.input.focus(),
  };
}

export class ContainerView {
  /** @type {Item[]} */ #items = [];
  /** @type {AbortController | undefined} */ #loading;
  /** The search whose results are shown. */ #applied = '';
  /** The blobs inside folders are shown instead of the folders. */ #isNested = false;
  #isLeft = false;
  /** Sizes of folders that were asked for. @type {Map<string, number>} */
  sizes = new Map();

  /**
   * @param {Account} account
   * @param {string} container
   * @param {URLSearchParams} link
   */
  constructor(account, container, link) {
    this.account = account;
    this.container = container;
    this.prefix = link.get('prefix') ?? '';
    this.sort = link.get('sort') ?? '';
    const shown = new Set((link.get('show') ?? '').split(','));
    const reload = () => attempt(() => this.load());
    this.search = searchBox('Search this folder and below', () => {}, link.get('search') ?? '', 'Search here and below');
    this.mode = select(MODES, link.get('mode') ?? 'contains', { 'aria-label': 'Kind of search' });
    // The form handles Enter; this is the cross in the field.
    this.search.input.addEventListener('search', () => { if (!this.search.input.value && this.#applied) reload(); });
    this.mode.addEventListener('change', () => { if (this.search.input.value) reload(); });
    this.nested = checkbox('Blobs inside folders', link.get('nested') === '1', reload);
    this.toggles = ['deleted', 'snapshots', 'versions'].map((name) => ({ name, ...checkbox(name[0]?.toUpperCase() + name.slice(1), shown.has(name), reload) }));
    this.count = h('span', { class: 'faint', role: 'status' });
    this.hint = h('span', { role: 'status' });
    this.halt = button({ icon: 'stop', label: 'Stop', kind: 'quiet', onclick: () => this.#loading?.abort() });
    this.grid = this.#makeGrid(link);
    this.remove = button({ icon: 'trash', label: 'Delete', kind: 'danger', disabled: true, onclick: () => removeItems(this, this.grid.selected) });
    this.download = button({ icon: 'download', label: 'Download', kind: 'brief', disabled: true, onclick: () => downloadItems(this, this.grid.selected) });
    const more = button({ icon: 'more', name: 'More', onclick: () => menu(more, this.#menuItems()) });
    const isReadOnly = currentSettings().readOnly;
    const upload = button({ icon: 'upload', label: 'Upload', kind: 'primary', onclick: () => menu(upload, [
      { label: 'Files…', run: () => chooseFiles(this, false) }, { label: 'A folder…', run: () => chooseFiles(this, true) }]) });
    this.element = h('div', { class: 'page fill' },
      h('div', { class: 'toolbar' }, h('h1', {}, this.prefix ? (this.prefix.split('/').at(-2) ?? '') : container), this.count, this.halt, h('span', { class: 'grow' }),
        button({ icon: 'refresh', name: 'Refresh', onclick: reload }), this.download, isReadOnly ? null : [this.remove, upload], more),
      h('form', { class: 'toolbar', role: 'search', onsubmit: (/** @type {SubmitEvent} */ event) => { event.preventDefault(); reload(); } },
        h('div', { class: 'row search-row' }, this.mode, this.search.element),
        h('span', { class: 'grow' }), h('span', { class: 'faint small' }, 'Show'), this.nested.element, this.toggles.map((toggle) => toggle.element)),
      this.grid.element,
      h('div', { class: 'statusbar faint small' }, this.hint, isReadOnly ? null : h('span', { class: 'not-phone' }, 'Drop files or folders here to upload them.')));
    if (!isReadOnly) dropZone(this.element, this);
  }

  /** @param {URLSearchParams} link */
  #makeGrid(link) {
    /** @type {Grid<Item>} */
    const grid = new Grid({
      label: `Blobs of ${this.container}`, selectable: true, ...sortOf(link, 'name'),
      keyOf: (item) => JSON.stringify([item.name, item.snapshot, item.version, item.isDeleted]),
      rowClass: (item) => (item.isDeleted ? 'deleted' : ''),
      columns: [
        { key: 'name', title: 'Name', width: 320, narrow: 150, grows: true, sort: (item) => `${item.kind === 'folder' ? 0 : 1}${item.name}`, render: (item) => this.#name(item) },
        { key: 'size', title: 'Size', width: 100, narrow: 74, align: 'right', sort: (item) => this.#size(item) ?? -1, render: (item) => size(this.#size(item) ?? NaN) },
        { key: 'modified', title: 'Modified', width: 170, narrow: 100, sort: (item) => Date.parse(item.modified) || 0, render: (item) => h('span', { class: 'faint', title: time(item.modified) }, isNarrow() ? shortTime(item.modified) : time(item.modified)) },
        { key: 'type', title: 'Type', width: 150, narrow: 0, sort: (item) => item.type, render: (item) => item.type },
        { key: 'state', title: 'State', width: 240, render: (item) => this.#state(item) },
      ],
      onopen: (item) => this.open(item),
      onselect: (rows) => {
        this.remove.disabled = rows.length === 0;
        this.download.disabled = !rows.some((item) => !item.isDeleted);
      },
      onsort: (key, isDescending) => { this.sort = sortText(key, isDescending); this.#relink(); this.#showHint(); },
    });
    return grid;
  }

  /** @param {Item} item */
  #size(item) {
    return item.kind === 'folder' ? this.sizes.get(item.name) : item.size;
  }

  /** @param {Item} item */
  #name(item) {
    const base = this.#isNested ? this.prefix : this.prefix.slice(0, this.prefix.lastIndexOf('/') + 1);
    return [icon(item.kind === 'folder' ? 'folder' : 'file'), h('a', { href: this.link(item), tabIndex: -1, class: this.#isNested ? 'grow nested' : 'grow' }, h('bdi', {}, item.name.slice(base.length)))];
  }

  /** @param {Item} item */
  #state(item) {
    const badges = [];
    if (item.isDeleted) badges.push(h('span', { class: 'badge bad' }, item.daysLeft ? `deleted, ${plural(Number(item.daysLeft), 'day')} left` : 'deleted, versions remain'));
    if (item.snapshot) badges.push(h('span', { class: 'badge' }, `snapshot ${time(item.snapshot)}`));
    else if (item.version && !item.isCurrent && !item.isDeleted) badges.push(h('span', { class: 'badge' }, `version ${time(item.version)}`));
    if (item.lease === 'leased') badges.push(h('span', { class: 'badge warn' }, 'leased'));
    if (item.tier && item.tier !== 'Hot') badges.push(h('span', { class: 'badge' }, item.tier));
    if (item.blobType && item.blobType !== 'BlockBlob') badges.push(h('span', { class: 'badge' }, item.blobType.replace('Blob', ' blob').toLowerCase()));
    return badges;
  }

  /** @param {Item} item */
  link(item) {
    const path = [this.account.name, 'blobs', this.container];
    if (item.kind === 'folder') return linkTo(path, { prefix: item.name, show: this.include.join(','), sort: this.sort });
    return linkTo([...path, item.name], { snapshot: item.snapshot, version: item.isCurrent || item.isDeleted ? '' : item.version, deleted: item.isDeleted ? '1' : '' });
  }

  /** @param {Item} item */
  open(item) {
    location.hash = this.link(item);
  }

  #menuItems() {
    const chosen = this.grid.selected;
    const only = chosen.length === 1 && chosen[0]?.kind === 'blob' && !chosen[0].isDeleted ? chosen[0] : undefined;
    const folders = chosen.filter((item) => item.kind === 'folder');
    const isReadOnly = currentSettings().readOnly;
    return [
      ...(only ? [{ label: 'Share the selected blob…', run: () => sasDialog(this.account, { service: 'blob', container: this.container, blob: only.name, snapshot: only.snapshot, version: only.isCurrent ? '' : only.version }) }] : []),
      { label: folders.length ? `Size of ${plural(folders.length, 'folder')}` : 'Sizes of all folders', run: () => folderSizes(this, folders.length ? folders : this.#items.filter((item) => item.kind === 'folder')) },
      ...(isReadOnly ? [] : [
        { label: 'Copy to…', disabled: chosen.length === 0, run: () => copyItems(this, chosen, false) },
        { label: 'Move to…', disabled: chosen.length === 0, run: () => copyItems(this, chosen, true) },
      ]),
      { label: 'Share (SAS)…', run: () => sasDialog(this.account, { service: 'blob', container: this.container }) },
      { label: 'Stored access policies…', run: () => attempt(() => policiesDialog(this.account, { service: 'blob', name: this.container })) },
      { label: 'Container settings…', run: () => containerSettings(this.account, this.container) },
      ...(isReadOnly ? [] : [{ label: this.prefix ? 'Delete everything in this folder…' : 'Empty the container…', danger: true, run: () => emptyContainer(this) }]),
    ];
  }

  stop() {
    this.#isLeft = true;
    this.#loading?.abort();
  }

  #relink() {
    const wanted = this.search.input.value.trim();
    relink([this.account.name, 'blobs', this.container], { prefix: this.prefix, search: wanted, mode: wanted ? this.mode.value : '', nested: this.nested.input.checked ? '1' : '', show: this.include.join(','), sort: this.sort });
  }

  get include() {
    return this.toggles.filter((toggle) => toggle.input.checked).map((toggle) => toggle.name);
  }

  async load() {
    // An upload may end after the user has gone elsewhere.
    if (this.#isLeft) return;
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    const wanted = this.search.input.value.trim();
    const mode = this.mode.value;
    this.#relink();
    this.grid.setBusy(true);
    this.sizes.clear();
    const matches = matcher(mode, wanted, this.prefix);
    // A blob that was deleted under versioning is gone but for its versions: to show it, they must be listed.
    const isFolded = this.include.includes('deleted') && !this.include.includes('versions');
    const isNested = wanted !== '' || this.nested.input.checked;
    const isFlat = !isNested && this.include.includes('snapshots');
    const listed = listBlobs(this.account, this.container, {
      prefix: mode === 'prefix' && wanted ? this.prefix + wanted : this.prefix,
      ...(isNested || isFlat ? {} : { delimiter: '/' }), include: isFolded ? [...this.include, 'versions'] : this.include, signal: loading.signal,
    });
    const reduced = isFolded ? withoutVersions(listed) : listed;
    const pages = isFlat ? inFolders(reduced, this.prefix) : reduced;
    /** @type {Item[]} */
    const found = [];
    let seen = 0;
    const take = (/** @type {Item[]} */ page, /** @type {boolean} */ isLoading) => {
      for (const item of page) if (matches(item.name)) found.push(item);
      seen += page.length;
      if (this.#loading !== loading) return;
      this.#items = found;
      this.#draw(isLoading, seen, wanted);
    };
    try {
      const first = await pages.next();
      if (this.#applied !== wanted || this.#isNested !== isNested) this.grid.toTop();
      this.#applied = wanted;
      this.#isNested = isNested;
      take(first.value ?? [], !first.done);
    } finally {
      if (this.#loading === loading) this.grid.setBusy(false);
    }
    // The rest arrives while the first page is shown already.
    (async () => {
      for await (const page of pages) {
        take(page, true);
        if (found.length >= ITEMS_MAX) break;
      }
    })().catch((error) => { if (!isCancelled(error)) showError(error); }).finally(() => take([], false));
  }

  /**
   * @param {boolean} isLoading
   * @param {number} seen
   * @param {string} wanted
   */
  #draw(isLoading, seen, wanted) {
    this.grid.options.empty = isLoading ? 'Searching…' : wanted ? 'No blobs match.' : currentSettings().readOnly || isNarrow() ? 'No blobs here.' : 'No blobs here. Drop files to upload them.';
    this.grid.setRows(this.#items);
    const found = plural(this.#items.length, 'item');
    this.count.textContent = wanted ? `${found} of ${number(seen)} searched` : `${found}${isLoading ? '…' : ''}`;
    this.halt.hidden = !isLoading;
    this.#showHint();
  }

  /** Folders have neither size nor date: who sorts by one of them looks for a blob inside. */
  #showHint() {
    const [, key = ''] = /^-?(size|modified)$/.exec(this.sort) ?? [];
    const isShown = key !== '' && !this.#isNested && this.#items.some((item) => item.kind === 'folder');
    if (isShown === this.hint.hasChildNodes()) return;
    fill(this.hint, isShown ? button({ label: 'Sort the blobs inside folders, too', onclick: () => { this.nested.input.checked = true; return attempt(() => this.load()); } }) : null);
  }

  /** Draws the rows again, after sizes were computed. */
  redraw() {
    this.grid.setRows(this.#items);
  }
}

/**
 * @param {string} mode
 * @param {string} wanted
 * @param {string} prefix
 * @returns {(name: string) => boolean}
 */
function matcher(mode, wanted, prefix) {
  if (!wanted || mode === 'prefix') return () => true;
  if (mode === 'glob') {
    const pattern = glob(wanted);
    return (name) => pattern.test(name.slice(prefix.length)) || (!wanted.includes('/') && pattern.test(name.slice(name.lastIndexOf('/') + 1)));
  }
  const lower = wanted.toLowerCase();
  return (name) => name.slice(prefix.length).toLowerCase().includes(lower);
}
