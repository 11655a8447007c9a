// The editor of one entity: typed properties, and conflicts shown side by side.

import { button, fill, h, select } from '../lib/dom.js';
import { TYPES, problemOf, shortType } from '../lib/edm.js';
import { getEntity, insertEntity, replaceEntity } from '../lib/tables.js';
import { ServiceError } from '../lib/client.js';
import { currentSettings } from '../lib/state.js';
import { number, time } from '../lib/format.js';
import { dialog, form } from '../ui/dialog.js';
import { facts } from '../ui/parts.js';
import { toast } from '../ui/feedback.js';

/** @typedef {import('../lib/edm.js').Entity} Entity */
/** @typedef {import('../lib/edm.js').EdmType} EdmType */
/** @typedef {import('../lib/edm.js').EdmValue} EdmValue */
/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {{partition: string, row: string, values: Map<string, EdmValue>}} Draft */

/**
 * Shows an entity, or the form for a new one. Resolves to whether something was changed.
 * @param {Account} account
 * @param {string} table
 * @param {Entity | undefined} entity
 * @returns {Promise<boolean>}
 */
export async function editEntity(account, table, entity) {
  if (currentSettings().readOnly && entity) {
    await dialog('Entity', () => ({ wide: true, body: [entityFacts(entity)] }));
    return false;
  }
  // A query may have selected only some properties; a replacement needs all of them.
  const current = entity ? await getEntity(account, table, entity) : undefined;
  const editor = new Editor(current);
  let changed = false;
  await form(current ? 'Edit entity' : 'Insert entity', {
    wide: true, label: current ? 'Save' : 'Insert', body: [editor.element],
    submit: async () => {
      const draft = editor.read();
      if (!current) await insertEntity(account, table, draft);
      else changed = await save(account, table, draft, current.etag);
      changed ||= !current;
      if (changed) toast(current ? 'Entity saved' : 'Entity inserted');
    },
  });
  return changed;
}

/**
 * Saves a draft. If somebody else has changed the entity, the user sees both and decides.
 * @param {Account} account
 * @param {string} table
 * @param {Draft} draft
 * @param {string} etag
 */
async function save(account, table, draft, etag) {
  try {
    await replaceEntity(account, table, draft, etag);
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 412) throw error;
    const theirs = await getEntity(account, table, draft);
    return resolve(account, table, draft, theirs);
  }
}

/**
 * @param {Account} account
 * @param {string} table
 * @param {Draft} mine
 * @param {Entity} theirs
 */
async function resolve(account, table, mine, theirs) {
  const isSaved = await form('The entity has changed', {
    wide: true, label: 'Overwrite with mine', danger: true,
    body: [
      h('p', {}, `Somebody changed this entity at ${time(theirs.timestamp)}, after you opened it. Rows that differ are marked.`),
      comparison(mine, theirs, 'Yours'),
    ],
    submit: () => replaceEntity(account, table, mine, theirs.etag),
  });
  return isSaved;
}

/**
 * Two states of an entity side by side.
 * @param {{values: Map<string, EdmValue>}} mine
 * @param {{values: Map<string, EdmValue>}} theirs
 * @param {string} label what the first of them is
 */
function comparison(mine, theirs, label) {
  const names = [...new Set([...mine.values.keys(), ...theirs.values.keys()])];
  const shown = (/** @type {EdmValue | undefined} */ value) => (value ? `${value.text} (${shortType(value.type)})` : 'absent');
  const rows = names.map((name) => {
    const [own, other] = [shown(mine.values.get(name)), shown(theirs.values.get(name))];
    return h('tr', { class: own === other ? '' : 'differs' }, h('th', { scope: 'row' }, name), h('td', {}, own), h('td', {}, other));
  });
  return h('table', { class: 'conflict' }, h('thead', {}, h('tr', {}, ['Property', label, 'On the server'].map((title) => h('th', { scope: 'col' }, title)))), h('tbody', {}, rows));
}

/** Changed entities that a dialog shows; the others are counted. */
const CHANGED_MAX = 20;

/**
 * Asks whether entities are to be deleted although somebody changed them after they were shown.
 * @param {Array<{mine: Entity, theirs: Entity}>} pairs
 */
export function confirmChanged(pairs) {
  const what = pairs.length === 1 ? 'One entity has' : `${number(pairs.length)} entities have`;
  return form(pairs.length === 1 ? 'The entity has changed' : 'Entities have changed', {
    wide: true, label: 'Delete anyway', danger: true,
    body: [
      h('p', {}, `${what} changed since this page read them. All others are deleted.`),
      pairs.slice(0, CHANGED_MAX).map(({ mine, theirs }) => [
        h('h3', { class: 'mono' }, `${mine.partition} / ${mine.row}`), h('p', { class: 'faint small' }, `Changed ${time(theirs.timestamp)}`), comparison(mine, theirs, 'As shown')]),
      pairs.length > CHANGED_MAX ? h('p', {}, `And ${number(pairs.length - CHANGED_MAX)} more.`) : null,
    ].flat(3),
    submit: () => {},
  });
}

/** @param {Entity} entity */
function entityFacts(entity) {
  return facts([['PartitionKey', entity.partition], ['RowKey', entity.row], ['Timestamp', entity.timestamp],
    ...[...entity.values].map(([name, value]) => /** @type {[string, string]} */ ([`${name} (${shortType(value.type)})`, value.text]))]);
}

class Editor {
  /** @param {Entity | undefined} entity */
  constructor(entity) {
    const isNew = !entity;
    const key = (/** @type {string} */ label, /** @type {string} */ value) =>
      h('input', { type: 'text', value, 'aria-label': label, disabled: !isNew, spellcheck: 'false', autocomplete: 'off' });
    this.partition = key('PartitionKey', entity?.partition ?? '');
    this.row = key('RowKey', entity?.row ?? '');
    this.rows = h('div', { class: 'properties' });
    for (const [name, value] of entity?.values ?? []) this.#add(name, value);
    if (isNew) this.#add('', { type: 'Edm.String', text: '' });
    this.element = h('div', {},
      h('div', { class: 'property' }, h('span', { class: 'property-key' }, 'PartitionKey'), h('span', { class: 'faint' }, 'String'), this.partition),
      h('div', { class: 'property' }, h('span', { class: 'property-key' }, 'RowKey'), h('span', { class: 'faint' }, 'String'), this.row),
      entity ? h('p', { class: 'faint small mono' }, `Changed ${time(entity.timestamp)} · ${entity.etag}`) : null,
      this.rows,
      button({ icon: 'plus', label: 'Add property', kind: 'quiet', onclick: () => this.#add('', { type: 'Edm.String', text: '' }).querySelector('input')?.focus() }));
  }

  /**
   * @param {string} name
   * @param {EdmValue} value
   */
  #add(name, value) {
    const nameInput = h('input', { type: 'text', value: name, 'aria-label': 'Property name', placeholder: 'Name', class: 'property-name', spellcheck: 'false' });
    const typeInput = select(TYPES.map((type) => /** @type {[string, string]} */ ([type, shortType(type)])), value.type, { 'aria-label': 'Type', class: 'property-type' });
    const slot = h('span', { class: 'property-value' });
    const problem = h('div', { class: 'problem', role: 'status' });
    /** @type {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */
    let input;
    const build = (/** @type {string} */ text) => {
      const label = { 'aria-label': 'Value' };
      if (typeInput.value === 'Edm.Boolean') input = select(['true', 'false'], text === 'false' ? 'false' : 'true', label);
      else if (typeInput.value === 'Edm.String') input = h('textarea', { ...label, rows: Math.min(8, text.split('\n').length), value: text, spellcheck: 'false' });
      else input = h('input', { ...label, type: 'text', value: text, class: 'mono', spellcheck: 'false' });
      input.addEventListener('input', validate);
      fill(slot, input);
      validate();
    };
    const read = () => ({ type: /** @type {EdmType} */ (typeInput.value), text: input.value });
    const validate = () => {
      const wrong = input.value === '' && typeInput.value !== 'Edm.String' ? undefined : problemOf(read());
      problem.textContent = wrong ?? '';
      input.setAttribute('aria-invalid', String(Boolean(wrong)));
    };
    typeInput.addEventListener('change', () => build(input.value));
    /** @type {HTMLElement} */
    const element = h('div', { class: 'property' }, nameInput, typeInput, slot, button({ icon: 'close', name: 'Remove property', kind: 'quiet', onclick: () => element.remove() }), problem);
    build(value.text);
    this.readers.set(element, () => ({ name: nameInput.value.trim(), value: read() }));
    this.rows.appendChild(element);
    return element;
  }

  /** @type {WeakMap<Element, () => {name: string, value: EdmValue}>} */
  readers = new WeakMap();

  /** @returns {Draft} */
  read() {
    /** @type {Map<string, EdmValue>} */
    const values = new Map();
    for (const element of this.rows.children) {
      const entry = this.readers.get(element)?.();
      if (!entry || (entry.name === '' && entry.value.text === '')) continue;
      if (!entry.name) throw new Error('A property has a value but no name.');
      if (values.has(entry.name)) throw new Error(`The property ${entry.name} occurs twice.`);
      const wrong = problemOf(entry.value);
      if (wrong) throw new Error(`${entry.name}: ${wrong}`);
      values.set(entry.name, entry.value);
    }
    return { partition: this.partition.value, row: this.row.value, values };
  }
}
