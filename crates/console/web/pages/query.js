// The query of a table: a text to find in any property, or a filter with completion and checking, columns and a limit.

import { button, field, h, icon, unique } from '../lib/dom.js';
import { check, complete } from '../lib/odata.js';

/** @typedef {{find: string, filter: string, select: string, top: string}} QueryFields */

export class QueryBar {
  /** @type {string[]} */ #properties = ['PartitionKey', 'RowKey', 'Timestamp'];
  /** @type {string[]} */ #options = [];
  #from = 0;
  #active = -1;

  /**
   * @param {QueryFields} initial
   * @param {() => unknown} run
   */
  constructor(initial, run) {
    this.run = run;
    const listId = unique('completion');
    this.find = h('input', { type: 'search', value: initial.find, placeholder: 'Find a value in any property', 'aria-label': 'Find a value in any property', autocomplete: 'off', spellcheck: 'false' });
    this.filter = h('input', {
      type: 'text', value: initial.filter, class: 'mono', placeholder: "PartitionKey eq 'a' and Age gt 30", 'aria-label': 'Filter', autocomplete: 'off', spellcheck: 'false',
      role: 'combobox', 'aria-expanded': 'false', 'aria-controls': listId, 'aria-autocomplete': 'list',
    });
    this.list = h('div', { id: listId, role: 'listbox', 'aria-label': 'Completions', class: 'completions', hidden: true });
    this.problem = h('div', { class: 'problem', role: 'status', id: unique('problem') });
    this.filter.setAttribute('aria-describedby', this.problem.id);
    this.select = h('input', { type: 'text', value: initial.select, class: 'mono', placeholder: 'all', autocomplete: 'off', spellcheck: 'false' });
    this.top = h('input', { type: 'number', min: 1, value: initial.top, placeholder: 'all', class: 'short' });
    this.filter.addEventListener('input', () => { this.#check(); this.#complete(); });
    this.filter.addEventListener('keydown', (event) => this.#onKey(event));
    this.filter.addEventListener('blur', () => this.#close());
    this.element = h('form', { class: 'query', onsubmit: (/** @type {SubmitEvent} */ event) => { event.preventDefault(); this.#close(); if (!check(this.filter.value)) this.run(); } },
      h('div', { class: 'query-main' },
        h('div', { class: 'search find' }, icon('search'), this.find),
        h('div', { class: 'filter' }, h('span', { class: 'tag', 'aria-hidden': 'true' }, 'Filter'), this.filter, this.list)),
      h('div', { class: 'query-more' }, field('Columns', this.select), field('Limit', this.top),
        h('button', { type: 'submit', class: 'button primary' }, icon('play'), h('span', {}, 'Run')),
        button({ icon: 'close', name: 'Clear the query', kind: 'quiet', onclick: () => { for (const input of [this.find, this.filter, this.select, this.top]) input.value = ''; this.#check(); this.run(); } })),
      this.problem);
    this.#check();
  }

  focus() {
    this.find.focus();
  }

  /** @returns {QueryFields} */
  read() {
    return { find: this.find.value.trim(), filter: this.filter.value.trim(), select: this.select.value.replace(/\s/g, ''), top: this.top.value };
  }

  /** @param {string[]} names */
  setProperties(names) {
    this.#properties = names;
  }

  #check() {
    const mistake = check(this.filter.value);
    this.problem.textContent = mistake ? `Character ${mistake.at + 1}: ${mistake.message}` : '';
    this.filter.setAttribute('aria-invalid', String(Boolean(mistake)));
  }

  #complete() {
    const { from, options } = complete(this.filter.value, this.filter.selectionStart ?? 0, this.#properties);
    this.#from = from;
    this.#options = options;
    this.#active = -1;
    this.#draw();
  }

  #draw() {
    this.list.hidden = this.#options.length === 0;
    this.filter.setAttribute('aria-expanded', String(!this.list.hidden));
    this.list.replaceChildren(...this.#options.map((option, index) => h('div', {
      role: 'option', id: `${this.list.id}-${index}`, 'aria-selected': String(index === this.#active),
      onmousedown: (/** @type {MouseEvent} */ event) => { event.preventDefault(); this.#accept(option); },
    }, option)));
    if (this.#active >= 0) this.filter.setAttribute('aria-activedescendant', `${this.list.id}-${this.#active}`);
    else this.filter.removeAttribute('aria-activedescendant');
  }

  #close() {
    this.#options = [];
    this.#draw();
  }

  /** @param {string} option */
  #accept(option) {
    const caret = this.filter.selectionStart ?? this.filter.value.length;
    const space = option.endsWith("'") ? '' : ' ';
    this.filter.setRangeText(option + space, this.#from, caret, 'end');
    this.#check();
    this.#complete();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const count = this.#options.length;
    if (event.key === ' ' && event.ctrlKey) this.#complete();
    else if (count === 0) return;
    else if (event.key === 'ArrowDown') this.#active = (this.#active + 1) % count;
    else if (event.key === 'ArrowUp') this.#active = (this.#active - 1 + count) % count;
    else if (event.key === 'Escape') this.#close();
    else if ((event.key === 'Enter' || event.key === 'Tab') && this.#active >= 0) this.#accept(this.#options[this.#active] ?? '');
    else return;
    event.preventDefault();
    this.#draw();
  }
}
