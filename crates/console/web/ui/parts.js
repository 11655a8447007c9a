// Small parts that several pages use.

import { button, h, icon, unique } from '../lib/dom.js';
import { copyText } from './feedback.js';

/** @typedef {import('../lib/dom.js').Child} Child */

/**
 * @param {string} label
 * @param {() => void} oninput
 * @param {string} [value]
 * @param {string} [placeholder] where there is not room for the label
 */
export function searchBox(label, oninput, value = '', placeholder = label) {
  const input = h('input', { type: 'search', placeholder, 'aria-label': label, value, autocomplete: 'off', spellcheck: 'false', oninput });
  return { input, element: h('div', { class: 'search' }, icon('search'), input) };
}

/**
 * A text that can be copied.
 * @param {string} label
 * @param {string} value
 * @param {{secret?: boolean}} [options]
 */
export function copyable(label, value, options = {}) {
  const id = unique('copy');
  const input = h('input', { id, type: options.secret ? 'password' : 'text', readOnly: true, value, class: 'mono', autocomplete: 'off' });
  const show = options.secret
    ? button({ label: 'Show', kind: 'quiet', onclick: () => { input.type = input.type === 'password' ? 'text' : 'password'; } })
    : null;
  return h('div', { class: 'field' }, h('label', { for: id }, label), h('div', { class: 'row' }, input, show, button({ icon: 'copy', name: `Copy ${label}`, onclick: () => copyText(value) })));
}

/**
 * Code that can be copied.
 * @param {string} code
 * @param {string} label
 */
export function codeBlock(code, label) {
  return h('div', { class: 'code' }, h('pre', { tabIndex: 0, 'aria-label': label }, code), button({ icon: 'copy', name: `Copy ${label}`, onclick: () => copyText(code) }));
}

/**
 * Tabs: one panel at a time.
 * @param {string} label
 * @param {Array<{key: string, title: string, build: () => Child}>} tabs
 * @param {{chosen?: string | undefined, onchange?: (key: string) => void}} [options]
 */
export function tabs(label, tabs, options = {}) {
  const id = unique('tabs');
  const list = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label });
  const panel = h('div', { class: 'tab-panel', role: 'tabpanel', id: `${id}-panel`, tabIndex: 0 });
  const choose = (/** @type {string} */ key, focus = false) => {
    for (const tab of tabs) {
      const element = list.querySelector(`#${id}-${tab.key}`);
      const isChosen = tab.key === key;
      element?.setAttribute('aria-selected', String(isChosen));
      if (element instanceof HTMLElement) {
        element.tabIndex = isChosen ? 0 : -1;
        if (isChosen && focus) element.focus();
        // On a phone there is not room for all of them. The first one is chosen before it has a place.
        if (isChosen) requestAnimationFrame(() => { list.scrollLeft += Math.max(0, element.getBoundingClientRect().right - list.getBoundingClientRect().right); });
      }
      if (isChosen) {
        const built = tab.build();
        panel.replaceChildren(...[built].flat().filter((child) => child instanceof Node));
        panel.setAttribute('aria-labelledby', `${id}-${key}`);
      }
    }
    options.onchange?.(key);
  };
  for (const tab of tabs) {
    list.appendChild(h('button', { type: 'button', role: 'tab', id: `${id}-${tab.key}`, 'aria-controls': panel.id, onclick: () => choose(tab.key) }, tab.title));
  }
  list.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const at = tabs.findIndex((tab) => list.querySelector(`#${id}-${tab.key}`)?.getAttribute('aria-selected') === 'true');
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (step && next) choose(next.key, true);
  });
  const first = tabs.find((tab) => tab.key === options.chosen) ?? tabs[0];
  if (first) choose(first.key);
  return { element: h('div', { class: 'tabbed' }, list, panel), choose };
}

/**
 * A list of names and values.
 * @param {Array<[string, Child]>} entries
 */
export function facts(entries) {
  return h('dl', { class: 'facts' }, entries.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, ...[value].flat())]));
}

/** @typedef {{element: HTMLElement, read: () => Record<string, string>}} PairsEditor */

/**
 * An editor for names with values, such as metadata and tags.
 * @param {Record<string, string>} values
 * @param {{name: string, value: string}} [labels]
 * @returns {PairsEditor}
 */
export function pairs(values, labels = { name: 'Name', value: 'Value' }) {
  const rows = h('div', { class: 'pairs' });
  const add = (/** @type {string} */ name, /** @type {string} */ value) => {
    /** @type {HTMLElement} */
    const row = h('div', { class: 'row pair' },
      h('input', { type: 'text', value: name, 'aria-label': labels.name, placeholder: labels.name, spellcheck: 'false' }),
      h('input', { type: 'text', value, 'aria-label': labels.value, placeholder: labels.value, class: 'grow', spellcheck: 'false' }),
      button({ icon: 'close', name: 'Remove', kind: 'quiet', onclick: () => row.remove() }));
    rows.appendChild(row);
    return row;
  };
  for (const [name, value] of Object.entries(values)) add(name, value);
  const more = button({ icon: 'plus', label: 'Add', kind: 'quiet', onclick: () => add('', '').querySelector('input')?.focus() });
  return {
    element: h('div', {}, rows, more),
    read: () => {
      /** @type {Record<string, string>} */
      const read = {};
      for (const row of rows.children) {
        const [name, value] = /** @type {NodeListOf<HTMLInputElement>} */ (row.querySelectorAll('input'));
        if (name?.value.trim()) read[name.value.trim()] = value?.value ?? '';
      }
      return read;
    },
  };
}
