// One blob: preview, properties, metadata, tags, lease, snapshots and versions.

import { button, field, fill, h, select } from '../lib/dom.js';
import { HTTP_HEADERS, blobProperties, canRestore, copyBlob, deleteBlob, getTags, isAlreadyThere, lease, restoreBlob, setHttpHeaders, setMetadata, setTags, setTier, snapshotBlob } from '../lib/blob.js';
import { listBlobs, listContainers } from '../lib/blobs.js';
import { blobPath } from '../lib/client.js';
import { plural, size, time } from '../lib/format.js';
import { currentSettings, endpointOf } from '../lib/state.js';
import { go, linkTo, relink } from '../lib/router.js';
import { confirm, form, menu } from '../ui/dialog.js';
import { attempt, errorBox, toast } from '../ui/feedback.js';
import { copyable, facts, pairs, tabs } from '../ui/parts.js';
import { retentionDays, hasVersions } from './container_actions.js';
import { downloadBlob } from './download.js';
import { preview } from './preview.js';
import { confirmReplacing } from './replace.js';
import { sasDialog } from './sas.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../lib/blob.js').Properties} Properties */
/** @typedef {import('../lib/blob.js').Revision} Revision */

const TIERS = ['Hot', 'Cool', 'Cold', 'Archive'];

/**
 * @param {import('../app.js').Context} context
 * @param {string} container
 * @param {string} name
 * @returns {Promise<import('../app.js').View>}
 */
export async function blobPage({ account, route }, container, name) {
  const revision = { snapshot: route.query.get('snapshot') ?? undefined, version: route.query.get('version') ?? undefined };
  const view = new BlobView(account, container, name, revision);
  if (route.query.get('deleted')) view.showDeleted();
  else await view.load(route.query.get('tab') ?? undefined);
  const folders = name.split('/').slice(0, -1);
  const link = (/** @type {number} */ count) => linkTo([account.name, 'blobs', container], { prefix: folders.slice(0, count).map((folder) => `${folder}/`).join('') });
  return {
    title: ['Blobs', container, ...folders, name.slice(name.lastIndexOf('/') + 1)],
    links: [undefined, link(0), ...folders.map((_, index) => link(index + 1))],
    element: view.element, leave: () => view.stop(),
  };
}

class BlobView {
  /**
   * @param {Account} account
   * @param {string} container
   * @param {string} name
   * @param {Revision} revision
   */
  constructor(account, container, name, revision) {
    this.account = account;
    this.container = container;
    this.name = name;
    this.revision = revision;
    this.isOld = Boolean(revision.snapshot || revision.version);
    this.left = new AbortController();
    this.element = h('div', { class: 'page scrolls' });
    this.bar = h('div', { class: 'bar' });
    /** @type {Properties | undefined} */
    this.properties = undefined;
    this.tab = '';
  }

  stop() {
    this.left.abort();
  }

  get leaf() {
    return this.name.slice(this.name.lastIndexOf('/') + 1);
  }

  /** @param {string} [tab] */
  async load(tab) {
    const shown = await this.#read();
    let isShown = false;
    const current = () => this.properties ?? shown;
    this.parts = tabs('Parts of the blob', [
      { key: 'preview', title: 'Preview', build: () => preview(this.account, this.container, this.name, { revision: this.revision, properties: current(), signal: this.left.signal }) },
      { key: 'properties', title: 'Properties', build: () => this.#properties(current()) },
      { key: 'metadata', title: 'Metadata and tags', build: () => this.#metadata(current()) },
      { key: 'history', title: 'Snapshots and versions', build: () => this.#history() },
    ], {
      chosen: tab,
      onchange: (key) => {
        this.tab = key;
        if (isShown) relink([this.account.name, 'blobs', this.container, this.name], { snapshot: this.revision.snapshot, version: this.revision.version, tab: key === 'preview' ? '' : key });
      },
    });
    isShown = true;
    fill(this.element, this.bar, this.#banner(), this.parts.element);
  }

  async #read() {
    const properties = await blobProperties(this.account, this.container, this.name, this.revision);
    this.properties = properties;
    const focused = [...this.bar.querySelectorAll('button')].findIndex((candidate) => candidate === document.activeElement);
    fill(this.bar, this.#toolbar(properties));
    this.bar.querySelectorAll('button')[focused]?.focus();
    return properties;
  }

  /**
   * Shows what has changed. The user may have gone on to another tab in the meantime, or entered something there: only these tabs are drawn again.
   * @param {string[]} tabs
   */
  async #refresh(tabs) {
    await this.#read();
    if (tabs.includes(this.tab)) this.parts?.choose(this.tab);
  }

  showDeleted() {
    fill(this.element, h('div', { class: 'toolbar' }, h('h1', {}, this.leaf), h('span', { class: 'badge bad' }, 'deleted')),
      h('p', {}, 'This blob is deleted. It can be restored with its snapshots until its retention time is over, or from a version that remains.'),
      currentSettings().readOnly ? null : button({ icon: 'undo', label: 'Restore', kind: 'primary', onclick: () => attempt(async () => {
        await restoreBlob(this.account, this.container, this.name);
        toast('Blob restored');
        this.#open(this.name);
      }) }));
  }

  #banner() {
    if (!this.isOld) return null;
    const what = this.revision.snapshot ? `Snapshot of ${time(this.revision.snapshot)}` : `Version of ${time(this.revision.version)}`;
    return h('div', { class: 'note' }, h('span', { class: 'grow' }, what), h('a', { href: linkTo([this.account.name, 'blobs', this.container, this.name]) }, 'Show the current blob'));
  }

  /** @param {Properties} properties */
  #toolbar(properties) {
    const isReadOnly = currentSettings().readOnly;
    const more = button({ icon: 'more', name: 'More', onclick: () => menu(more, this.#menuItems(properties)) });
    const leased = properties.headers.get('x-ms-lease-state') === 'leased';
    return h('div', { class: 'toolbar' }, h('h1', {}, this.leaf), h('span', { class: 'faint' }, `${size(properties.size)} · ${properties.type}`), leased ? h('span', { class: 'badge warn' }, 'leased') : null,
      h('span', { class: 'grow' }),
      isReadOnly ? null : button({ icon: 'trash', label: 'Delete', kind: 'danger', onclick: () => this.remove(properties) }),
      button({ icon: 'link', label: 'Share', onclick: () => sasDialog(this.account, { service: 'blob', container: this.container, blob: this.name, ...this.revision }) }),
      button({ icon: 'download', label: 'Download', kind: 'primary', onclick: () => downloadBlob(this.account, this.container, this.name, this.revision) }), more);
  }

  /** @param {Properties} properties */
  #menuItems(properties) {
    if (currentSettings().readOnly) return [{ label: 'Download', run: () => downloadBlob(this.account, this.container, this.name, this.revision) }];
    const leased = properties.headers.get('x-ms-lease-state') === 'leased';
    const does = (/** @type {string} */ done, /** @type {() => Promise<unknown>} */ work) => () => attempt(async () => { await work(); await this.#refresh(['properties', 'history']); toast(done); });
    if (this.isOld) return [{ label: 'Restore as the current blob', run: () => this.restore() }];
    const path = blobPath(this.container, this.name);
    return [
      { label: 'Create snapshot', run: does('Snapshot created', () => snapshotBlob(this.account, this.container, this.name)) },
      { label: 'Copy to…', run: () => attempt(() => this.copy(false)) },
      { label: 'Rename or move…', run: () => attempt(() => this.copy(true)) },
      { label: 'Change tier…', run: () => this.tier(properties) },
      leased
        ? { label: 'Break lease', run: does('Lease broken', () => lease(this.account, path, 'break')) }
        : { label: 'Acquire lease…', run: () => this.acquire() },
    ];
  }

  /** @param {string} name */
  #open(name) {
    go([this.account.name, 'blobs', this.container, name]);
  }

  /** @param {Properties} properties */
  async remove(properties) {
    const [days, snapshots, isVersioned] = this.isOld
      ? [0, 0, false]
      : await Promise.all([retentionDays(this.account), this.#countSnapshots(), hasVersions(this.account, this.container, this.name)]);
    const what = this.isOld ? `this ${this.revision.snapshot ? 'snapshot' : 'version'} of ${this.name} (${size(properties.size)})` : `${this.name} (${size(properties.size)}) with ${plural(snapshots, 'snapshot')}`;
    const hope = days ? `It can be restored for ${plural(days, 'day')}.` : isVersioned ? 'Its versions remain, so it can be restored.' : this.isOld ? '' : 'Soft delete is off: it cannot be restored.';
    if (!(await confirm('Delete blob', `This deletes ${what}. ${hope}`, 'Delete'))) return;
    await attempt(async () => {
      const response = await deleteBlob(this.account, this.container, this.name, { revision: this.revision, snapshots: this.isOld ? undefined : 'include' });
      const undo = { label: 'Undo', run: () => attempt(async () => {
        await restoreBlob(this.account, this.container, this.name);
        toast('Blob restored');
        this.#open(this.name);
      }) };
      toast('Blob deleted', canRestore(response) && !this.isOld ? { action: undo } : {});
      go([this.account.name, 'blobs', this.container], { prefix: this.name.slice(0, this.name.lastIndexOf('/') + 1) });
    });
  }

  async #countSnapshots() {
    let count = 0;
    for await (const page of listBlobs(this.account, this.container, { prefix: this.name, include: ['snapshots'], signal: this.left.signal })) {
      count += page.filter((item) => item.name === this.name && item.snapshot).length;
      if (page.some((item) => item.name > this.name)) break;
    }
    return count;
  }

  async restore() {
    await attempt(async () => {
      await copyBlob(this.account, { container: this.container, name: this.name, revision: this.revision }, { container: this.container, name: this.name });
      toast('Restored as the current blob');
      this.#open(this.name);
    });
  }

  /**
   * Copies the blob; asks before it replaces another one. Returns whether there is a copy.
   * @param {{container: string, name: string}} to
   */
  async #copyTo(to) {
    const from = { container: this.container, name: this.name };
    try {
      await copyBlob(this.account, from, to, { isNew: true });
    } catch (error) {
      if (!isAlreadyThere(error)) throw error;
      if (!(await confirmReplacing(to.container, [to.name]))) return false;
      await copyBlob(this.account, from, to);
    }
    return true;
  }

  /** @param {boolean} isMove */
  async copy(isMove) {
    const containers = await listContainers(this.account);
    const container = select(containers.map((candidate) => candidate.name), this.container);
    const target = h('input', { type: 'text', value: this.name, autocomplete: 'off', spellcheck: 'false' });
    const done = await form(isMove ? 'Rename or move' : 'Copy to', {
      label: isMove ? 'Move' : 'Copy', body: [field('To container', container), field('Name', target), isMove ? h('p', { class: 'faint' }, 'Snapshots are not moved; they are deleted with the original.') : null],
      submit: async () => {
        if (!target.value || (target.value === this.name && container.value === this.container)) throw new Error('Enter another name, or choose another container.');
        if (!(await this.#copyTo({ container: container.value, name: target.value }))) throw new DOMException('not replaced', 'AbortError');
        if (isMove) await deleteBlob(this.account, this.container, this.name, { snapshots: 'include' });
      },
    });
    if (done) go([this.account.name, 'blobs', container.value, target.value]);
  }

  /** @param {Properties} properties */
  async tier(properties) {
    const tier = select(TIERS, properties.headers.get('x-ms-access-tier') ?? 'Hot');
    if (await form('Access tier', { label: 'Change', body: [field('Tier', tier)], submit: () => setTier(this.account, this.container, this.name, tier.value, this.revision) })) await this.#refresh(['properties', 'history']);
  }

  async acquire() {
    const seconds = select([['-1', 'until it is released'], ['60', '60 seconds'], ['30', '30 seconds'], ['15', '15 seconds']], '60');
    let id = '';
    const done = await form('Acquire a lease', { label: 'Acquire', body: [h('p', {}, 'Until it ends, only requests with the id of the lease can change or delete the blob.'), field('Holds', seconds)], submit: async () => {
      id = await lease(this.account, blobPath(this.container, this.name), 'acquire', { seconds: Number(seconds.value) });
    } });
    if (!done) return;
    toast(`Lease ${id}`, { action: { label: 'Release', run: () => attempt(async () => { await lease(this.account, blobPath(this.container, this.name), 'release', { id }); await this.#refresh(['properties']); toast('Lease released'); }) } });
    await this.#refresh(['properties']);
  }

  /** @param {Properties} properties */
  #properties({ headers, size: bytes }) {
    const get = (/** @type {string} */ name) => headers.get(name) ?? '';
    const url = `${endpointOf('blob', this.account.name) ?? ''}${blobPath(this.container, this.name)}`;
    const known = facts([
      ['Size', `${size(bytes)} (${bytes} bytes)`], ['Modified', time(get('last-modified'))], ['Created', time(get('x-ms-creation-time'))], ['ETag', h('code', {}, get('etag'))],
      ['Kind', get('x-ms-blob-type')], ['Tier', get('x-ms-access-tier')], ['Content-MD5', h('code', {}, get('content-md5'))], ['Lease', `${get('x-ms-lease-state')} ${get('x-ms-lease-duration')}`],
      ['Version', h('code', {}, get('x-ms-version-id'))], ['Copy', get('x-ms-copy-status') ? `${get('x-ms-copy-status')} from ${get('x-ms-copy-source')}` : ''],
    ].filter(([, value]) => value !== '' && !(value instanceof HTMLElement && !value.textContent)).map(([label, value]) => /** @type {[string, import('../lib/dom.js').Child]} */ ([label, value])));
    const inputs = HTTP_HEADERS.map((name) => ({ name, input: h('input', { type: 'text', value: get(name), spellcheck: 'false' }) }));
    const editable = currentSettings().readOnly || this.isOld ? null : h('form', { class: 'card', onsubmit: (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      attempt(async () => {
        await setHttpHeaders(this.account, this.container, this.name, Object.fromEntries(inputs.map(({ name, input }) => [name, input.value.trim()])));
        await this.#refresh(['properties', 'history']);
        toast('Properties saved');
      });
    } }, h('h2', {}, 'Headers of downloads'), inputs.map(({ name, input }) => field(name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()), input)), h('button', { type: 'submit', class: 'button primary' }, 'Save'));
    return [h('div', { class: 'cards' }, h('div', { class: 'card' }, h('h2', {}, 'Properties'), copyable('URL', url), known), editable ?? '')].flat();
  }

  /** @param {Properties} properties */
  #metadata(properties) {
    const isFixed = currentSettings().readOnly || this.isOld;
    const metadata = pairs(properties.metadata);
    const save = (/** @type {string} */ label, /** @type {string} */ done, /** @type {() => Promise<unknown>} */ work) => (isFixed ? null : button({ label, kind: 'primary', onclick: () => attempt(async () => { await work(); await this.#refresh(['properties']); toast(done); }) }));
    const tagSlot = h('div', {}, h('p', { class: 'faint' }, 'Loading…'));
    getTags(this.account, this.container, this.name, this.revision).then((values) => {
      const tags = pairs(values);
      fill(tagSlot, isFixed ? facts(Object.entries(values)) : [tags.element, save('Save tags', 'Tags saved', () => setTags(this.account, this.container, this.name, tags.read()))]);
    }, (error) => fill(tagSlot, errorBox(error)));
    return h('div', { class: 'cards' },
      h('div', { class: 'card' }, h('h2', {}, 'Metadata'), isFixed ? facts(Object.entries(properties.metadata)) : [metadata.element, save('Save metadata', 'Metadata saved', () => setMetadata(this.account, this.container, this.name, metadata.read()))]),
      h('div', { class: 'card' }, h('h2', {}, 'Tags'), tagSlot));
  }

  #history() {
    const slot = h('div', { class: 'card' }, h('p', { class: 'faint' }, 'Loading…'));
    const fillSlot = async () => {
      const rows = [];
      for await (const page of listBlobs(this.account, this.container, { prefix: this.name, include: ['snapshots', 'versions', 'deleted'], signal: this.left.signal })) {
        for (const item of page.filter((candidate) => candidate.name === this.name)) {
          const label = item.snapshot ? `Snapshot ${time(item.snapshot)}` : item.isCurrent ? 'Current' : `Version ${time(item.version)}`;
          const href = linkTo([this.account.name, 'blobs', this.container, this.name], { snapshot: item.snapshot, version: item.isCurrent || item.snapshot ? '' : item.version });
          rows.push(h('tr', {}, h('td', {}, item.isDeleted ? label : h('a', { href }, label)), h('td', { class: 'num' }, size(item.size)), h('td', {}, time(item.modified)), h('td', {}, item.isDeleted ? h('span', { class: 'badge bad' }, 'deleted') : '')));
        }
      }
      fill(slot, h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ['Revision', 'Size', 'Modified', 'State'].map((title, index) => h('th', { scope: 'col', class: index === 1 ? 'num' : '' }, title)))), h('tbody', {}, rows)));
    };
    fillSlot().catch((error) => fill(slot, errorBox(error)));
    return slot;
  }
}
