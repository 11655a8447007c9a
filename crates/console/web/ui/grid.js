// A grid that draws only the rows that can be seen: as smooth with 100,000 rows as with ten.

import { fill, h } from '../lib/dom.js';

/** @typedef {import('../lib/dom.js').Child} Child */

/**
 * @template R
 * @typedef {{key: string, title: string, width?: number, narrow?: number, kind?: string, align?: 'right', grows?: boolean, render: (row: R) => Child, sort?: (row: R) => string | number}} Column
 * `narrow` is the width on a phone; 0 leaves the column out there. A column that grows takes the room that is left; else the last one does.
 */

/**
 * @template R
 * @typedef {{label: string, columns: Column<R>[], keyOf: (row: R) => string, onopen?: (row: R) => unknown, onselect?: (rows: R[]) => void, onsort?: (key: string, isDescending: boolean) => void, selectable?: boolean, onend?: () => void, empty?: Child, rowClass?: (row: R) => string, sortKey?: string | undefined, descending?: boolean}} GridOptions
 * `keyOf` tells what a row stands for: rows stay selected when they are read again.
 */

const ROW_HEIGHT = 32;
const OVERSCAN = 8;
const DEFAULT_WIDTH = 160;
const CHECK_WIDTH = 36;
const narrowScreen = matchMedia('(max-width: 720px)');
/** What ends a press, wherever the pointer is by then. */
const RELEASES = ['pointerup', 'pointercancel', 'dragend'];
/** Rows from the end at which more are asked for. */
const END_ROWS = 20;

/** @template R */
export class Grid {
  /** @type {R[]} */ #rows = [];
  /** @type {R[]} */ #shown = [];
  /** @type {Set<R>} */ #selected = new Set();
  #active = 0;
  #anchor = 0;
  #frame = 0;
  /** @type {string | undefined} */ #sortKey;
  #descending = false;
  #isNarrow = false;
  #isPressed = false;
  #isBusy = false;

  /** @param {GridOptions<R>} options */
  constructor(options) {
    this.options = options;
    this.#sortKey = options.sortKey;
    this.#descending = options.descending ?? false;
    this.head = h('div', { class: 'grid-head', role: 'row' });
    this.body = h('div', { class: 'grid-body', role: 'rowgroup' });
    this.empty = h('div', { class: 'grid-empty' });
    this.scroll = h('div', {
      class: 'grid', role: 'grid', 'aria-label': options.label, tabIndex: 0, 'aria-multiselectable': options.selectable ? 'true' : undefined,
      onscroll: () => this.#schedule(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event),
    }, h('div', { role: 'rowgroup' }, this.head), this.body, this.empty);
    this.element = h('div', { class: 'grid-frame' }, this.scroll);
    new ResizeObserver(() => this.#resized()).observe(this.scroll);
    // A click needs the element that was pressed: rows are not replaced before the pointer is released.
    this.body.addEventListener('pointerdown', () => this.#press());
    this.body.addEventListener('pointerover', (event) => { if (event.target instanceof HTMLElement) showWhole(event.target); });
    this.setColumns(options.columns);
  }

  /** @param {Column<R>[]} columns */
  setColumns(columns) {
    this.options.columns = columns;
    this.#drawHead();
    this.setRows(this.#rows);
  }

  /** The columns that this screen has room for. */
  get #columns() {
    return narrowScreen.matches ? this.options.columns.filter((column) => column.narrow !== 0) : this.options.columns;
  }

  #resized() {
    if (this.#isNarrow !== narrowScreen.matches) this.#drawHead();
    this.#schedule();
  }

  get rows() {
    return this.#shown;
  }

  /** @param {R[]} rows */
  setRows(rows) {
    this.#rows = rows;
    this.#shown = this.#sorted();
    this.#keepSelection();
    this.#active = Math.min(this.#active, Math.max(0, rows.length - 1));
    this.body.style.height = `${this.#shown.length * ROW_HEIGHT}px`;
    this.scroll.setAttribute('aria-rowcount', String(this.#shown.length + 1));
    fill(this.empty, rows.length === 0 ? (this.options.empty ?? 'Nothing here') : null);
    this.empty.hidden = rows.length > 0;
    this.#schedule();
  }

  /** The rows that stand for what was selected before take the selection over. */
  #keepSelection() {
    if (this.#selected.size === 0) return;
    const keys = new Set([...this.#selected].map((row) => this.options.keyOf(row)));
    this.#selected = new Set(this.#rows.filter((row) => keys.has(this.options.keyOf(row))));
    if (this.#selected.size !== keys.size) this.options.onselect?.(this.selected);
  }

  /**
   * Rows of an earlier search are shown, but cannot be used, while the next one runs.
   * @param {boolean} isBusy
   */
  setBusy(isBusy) {
    this.#isBusy = isBusy;
    this.scroll.classList.toggle('busy', isBusy);
    this.scroll.setAttribute('aria-busy', String(isBusy));
  }

  #press() {
    this.#isPressed = true;
    const release = () => {
      this.#isPressed = false;
      for (const name of RELEASES) removeEventListener(name, release, true);
      // After the click that follows.
      setTimeout(() => this.#schedule());
    };
    for (const name of RELEASES) addEventListener(name, release, true);
  }

  get selected() {
    return this.#shown.filter((row) => this.#selected.has(row));
  }

  clearSelection() {
    this.#selected.clear();
    this.#changed();
  }

  focus() {
    this.scroll.focus();
  }

  /** Shows the first row, for rows that have nothing to do with those before. */
  toTop() {
    this.#active = 0;
    this.#anchor = 0;
    this.scroll.scrollTop = 0;
  }

  #sorted() {
    const column = this.options.columns.find((candidate) => candidate.key === this.#sortKey);
    const value = column?.sort;
    if (!value) return this.#rows;
    const sign = this.#descending ? -1 : 1;
    // Each key is computed once: a comparison that computes them makes 100,000 rows slow.
    const keyed = this.#rows.map((row) => ({ row, key: value(row) }));
    keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : 0));
    return keyed.map(({ row }) => row);
  }

  #template() {
    const columns = this.#columns;
    const growing = columns.findIndex((column) => column.grows);
    const widths = columns.map((column, index) => {
      const width = widthOf(column);
      return index === (growing < 0 ? columns.length - 1 : growing) ? `minmax(${width}px, 1fr)` : `${width}px`;
    });
    return (this.options.selectable ? [`${CHECK_WIDTH}px`, ...widths] : widths).join(' ');
  }

  #drawHead() {
    this.#isNarrow = narrowScreen.matches;
    const cells = this.#columns.map((column) => this.#headCell(column));
    if (this.options.selectable) {
      const all = h('input', {
        type: 'checkbox', 'aria-label': 'Select all rows', tabIndex: -1,
        onclick: (/** @type {MouseEvent} */ event) => event.stopPropagation(),
        onchange: () => { this.#selected = all.checked ? new Set(this.#shown) : new Set(); this.#changed(); },
      });
      cells.unshift(h('div', { role: 'columnheader', class: 'cell check-cell' }, all));
    }
    const focused = this.head.contains(document.activeElement) ? document.activeElement?.getAttribute('data-key') : undefined;
    fill(this.head, cells);
    const sorts = this.#sortButtons();
    const reached = sorts.find((sort) => sort.dataset.key === focused);
    for (const sort of sorts) sort.tabIndex = sort === (reached ?? sorts[0]) ? 0 : -1;
    reached?.focus();
    this.head.style.gridTemplateColumns = this.#template();
    const checks = this.options.selectable ? CHECK_WIDTH : 0;
    const wide = this.#columns.reduce((sum, column) => sum + widthOf(column), checks);
    this.head.style.minWidth = `${wide}px`;
    this.body.style.minWidth = `${wide}px`;
  }

  #sortButtons() {
    return /** @type {HTMLButtonElement[]} */ ([...this.head.querySelectorAll('button.sort')]);
  }

  /**
   * The columns are one stop of the Tab key; arrows move between them.
   * @param {KeyboardEvent} event
   */
  #onHeadKey(event) {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const sorts = this.#sortButtons();
    const next = sorts[sorts.indexOf(/** @type {HTMLButtonElement} */ (event.target)) + step];
    if (!step || !next) return;
    event.preventDefault();
    for (const sort of sorts) sort.tabIndex = sort === next ? 0 : -1;
    next.focus();
  }

  /** @param {Column<R>} column */
  #headCell(column) {
    const isSorted = column.key === this.#sortKey;
    const title = [h('span', {}, column.title), column.kind ? h('span', { class: 'kind' }, column.kind) : null];
    const cell = h('div', {
      role: 'columnheader', class: `cell${column.align ? ' right' : ''}`,
      'aria-sort': isSorted ? (this.#descending ? 'descending' : 'ascending') : undefined,
    });
    if (!column.sort) return fill(cell, title);
    return fill(cell, h('button', {
      type: 'button', class: 'sort', 'data-key': column.key,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onHeadKey(event),
      onclick: () => {
        this.#descending = isSorted ? !this.#descending : column.align === 'right' || column.key === 'modified';
        this.#sortKey = column.key;
        this.options.onsort?.(column.key, this.#descending);
        this.#drawHead();
        this.setRows(this.#rows);
      },
    }, title, h('span', { 'aria-hidden': 'true', class: isSorted ? 'arrow' : 'arrow unsorted' }, isSorted ? (this.#descending ? '↓' : '↑') : '')));
  }

  #schedule() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (!this.#isPressed) this.#draw();
    });
  }

  #draw() {
    const top = Math.max(0, this.scroll.scrollTop - ROW_HEIGHT);
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - OVERSCAN);
    const last = Math.min(this.#shown.length, Math.ceil((top + this.scroll.clientHeight) / ROW_HEIGHT) + OVERSCAN);
    const template = this.#template();
    const columns = this.#columns;
    const rows = [];
    for (let index = first; index < last; index += 1) {
      const row = this.#shown[index];
      if (row !== undefined) rows.push(this.#drawRow(row, index, template, columns));
    }
    this.body.replaceChildren(...rows);
    const active = this.body.querySelector('.active');
    if (active) this.scroll.setAttribute('aria-activedescendant', active.id);
    else this.scroll.removeAttribute('aria-activedescendant');
    if (last > this.#shown.length - END_ROWS && this.#shown.length > 0) this.options.onend?.();
  }

  /**
   * @param {R} row
   * @param {number} index
   * @param {string} template
   * @param {Column<R>[]} columns
   */
  #drawRow(row, index, template, columns) {
    const isSelected = this.#selected.has(row);
    const classes = ['grid-row', index === this.#active ? 'active' : '', isSelected ? 'selected' : '', this.options.rowClass?.(row) ?? ''];
    const element = h('div', {
      role: 'row', id: `${this.#id()}-${index}`, class: classes.join(' '), 'aria-rowindex': index + 2, 'aria-selected': this.options.selectable ? String(isSelected) : undefined,
      onclick: (/** @type {MouseEvent} */ event) => this.#onClick(event, row, index),
      ondblclick: (/** @type {MouseEvent} */ event) => { if (!isOpener(event) && !isBesideBox(event)) this.options.onopen?.(row); },
    });
    if (this.options.selectable) {
      element.appendChild(h('div', { role: 'gridcell', class: 'cell check-cell' }, h('input', {
        type: 'checkbox', checked: isSelected, tabIndex: -1, 'aria-label': `Select row ${index + 1}`,
        onclick: (/** @type {MouseEvent} */ event) => { event.stopPropagation(); this.#active = index; this.#toggle(row); },
      })));
    }
    for (const column of columns) {
      element.appendChild(h('div', { role: 'gridcell', class: `cell${column.align ? ' right' : ''}` }, column.render(row)));
    }
    element.style.top = `${index * ROW_HEIGHT}px`;
    element.style.gridTemplateColumns = template;
    return element;
  }

  #id() {
    if (!this.scroll.id) this.scroll.id = `grid-${Math.random().toString(36).slice(2)}`;
    return this.scroll.id;
  }

  /**
   * @param {MouseEvent} event
   * @param {R} row
   * @param {number} index
   */
  #onClick(event, row, index) {
    this.#active = index;
    if (event.shiftKey && this.options.selectable) return this.#range(index);
    if ((event.ctrlKey || event.metaKey || isBesideBox(event)) && this.options.selectable) return this.#toggle(row);
    this.#anchor = index;
    if (isOpener(event)) {
      event.preventDefault();
      // The second click of two would open the row once more; and who selects text wants to copy it.
      if (event.detail < 2 && (document.getSelection()?.isCollapsed ?? true)) this.options.onopen?.(row);
      return undefined;
    }
    return this.#schedule();
  }

  /** @param {R} row */
  #toggle(row) {
    if (!this.#selected.delete(row)) this.#selected.add(row);
    this.#anchor = this.#active;
    this.#changed();
  }

  /** @param {number} to */
  #range(to) {
    const [from, until] = [Math.min(this.#anchor, to), Math.max(this.#anchor, to)];
    this.#selected = new Set(this.#shown.slice(from, until + 1));
    this.#changed();
  }

  #changed() {
    this.options.onselect?.(this.selected);
    this.#schedule();
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.target !== this.scroll || this.#isBusy) return;
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / ROW_HEIGHT) - 1);
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const move = moves[event.key];
    const row = this.#shown[this.#active];
    if (move !== undefined) {
      this.#active = Math.max(0, Math.min(this.#shown.length - 1, this.#active + move));
      if (event.shiftKey && this.options.selectable) this.#range(this.#active);
      else this.#anchor = this.#active;
      this.#reveal();
    } else if (event.key === 'Enter' && row !== undefined) {
      this.options.onopen?.(row);
    } else if (event.key === ' ' && row !== undefined && this.options.selectable) {
      this.#toggle(row);
    } else if (event.key === 'a' && (event.ctrlKey || event.metaKey) && this.options.selectable) {
      this.#selected = new Set(this.#shown);
      this.#changed();
    } else {
      return;
    }
    event.preventDefault();
  }

  #reveal() {
    const top = this.#active * ROW_HEIGHT;
    const view = this.scroll.clientHeight - ROW_HEIGHT;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top + ROW_HEIGHT > this.scroll.scrollTop + view) this.scroll.scrollTop = top + ROW_HEIGHT - view;
    this.#schedule();
  }
}

/**
 * Was the part of a row clicked that opens it?
 * @param {MouseEvent} event
 */
function isOpener(event) {
  return event.target instanceof HTMLElement && event.target.closest('.opens') !== null;
}

/**
 * Was the box of a row clicked, or its cell? A finger does not hit the box exactly.
 * @param {MouseEvent} event
 */
function isBesideBox(event) {
  return event.target instanceof HTMLElement && event.target.closest('.check-cell') !== null;
}

/**
 * Text that is cut off gets a tooltip.
 * @param {HTMLElement} element
 */
function showWhole(element) {
  if (element.scrollWidth > element.clientWidth && element.closest('.cell') && !element.title) element.title = element.textContent ?? '';
}

/** Whether the screen is a phone's. */
export function isNarrow() {
  return narrowScreen.matches;
}

/** @param {{width?: number, narrow?: number}} column */
function widthOf(column) {
  return (narrowScreen.matches ? column.narrow : undefined) ?? column.width ?? DEFAULT_WIDTH;
}
