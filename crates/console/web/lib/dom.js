// Builds the page. Strings become text nodes and attributes, never markup: nothing here parses HTML.

/** @typedef {Node | string | number | null | undefined | false} Leaf */
/** @typedef {Leaf | Leaf[] | Array<Leaf | Leaf[]>} Child */
/** @typedef {Record<string, unknown>} Attributes */

/** Attributes that are set as properties, because they change after the element was made.
 * @type {Set<string>} */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'hidden', 'indeterminate', 'readOnly', 'selected', 'tabIndex', 'open']);

/**
 * Makes an element. Attributes that start with `on` are listeners.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on') && typeof value === 'function') {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (PROPERTIES.has(name)) {
      /** @type {any} */ (element)[name] = value;
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  append(element, children);
  return element;
}

/**
 * @param {Node} parent
 * @param {Array<Child | Child[]>} children
 */
export function append(parent, children) {
  for (const child of /** @type {Leaf[]} */ (children.flat(3))) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replaces everything in an element.
 * @template {Element} E
 * @param {E} parent
 * @param {...(Child | Child[])} children
 * @returns {E}
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/** @type {Record<string, string>} Paths of icons on a grid of 24. */
const ICONS = {
  table: 'M3 5h18v14H3zM3 10h18M3 14.5h18M9 10v9',
  queue: 'M4 5h16v4H4zM4 11h16v3H4zM4 16h16v3H4z',
  blob: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM12 12l8-4.5M12 12v9M12 12L4 7.5',
  folder: 'M3 6h6l2 2h10v11H3z',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0',
  health: 'M3 12h4l2-6 4 12 2-6h6',
  plus: 'M12 5v14M5 12h14',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  edit: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
  close: 'M6 6l12 12M18 6L6 18',
  refresh: 'M20 11a8 8 0 0 0-14-4L3 10M3 4v6h6M4 13a8 8 0 0 0 14 4l3-3M21 20v-6h-6',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  upload: 'M12 20V8M7 13l5-5 5 5M4 4h16',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  theme: 'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z',
  menu: 'M4 6h16M4 12h16M4 18h16',
  more: 'M5 11v2M12 11v2M19 11v2M4 12h2M11 12h2M18 12h2',
  play: 'M7 5l12 7-12 7z',
  pause: 'M8 5v14M16 5v14',
  stop: 'M6 6h12v12H6z',
  up: 'M12 19V5M6 11l6-6 6 6',
  left: 'M15 5l-7 7 7 7',
  right: 'M9 5l7 7-7 7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  move: 'M4 12h15M13 6l6 6-6 6',
  lock: 'M6 11h12v10H6zM8 11V7a4 4 0 0 1 8 0v4',
  undo: 'M8 5L3 10l5 5M3 10h11a6 6 0 0 1 0 12h-3',
  warn: 'M12 3l10 18H2zM12 10v5M12 18h.01',
  check: 'M4 12l6 6L20 6',
  camera: 'M4 7h4l2-3h4l2 3h4v13H4zM12 17a4 4 0 1 0 0-8 4 4 0 0 0 0 8z',
  help: 'M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18h.01M12 22a10 10 0 1 0 0-20 10 10 0 0 0 0 20z',
};

/**
 * @param {string} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', ICONS[name] ?? ICONS.file ?? '');
  svg.appendChild(path);
  return svg;
}

/**
 * A button with an icon, a label, or both. Without a label the name is for screen readers and the tooltip.
 * @param {{icon?: string, label?: string, name?: string, kind?: 'primary' | 'danger' | 'quiet' | 'brief', onclick: (event: MouseEvent) => unknown, disabled?: boolean, id?: string}} options
 * @returns {HTMLButtonElement}
 */
export function button(options) {
  const kind = options.kind ? ` ${options.kind}` : '';
  return h(
    'button',
    {
      type: 'button',
      class: `button${kind}${options.label ? '' : ' bare'}`,
      onclick: options.onclick,
      disabled: options.disabled ?? false,
      id: options.id,
      'aria-label': options.label ? undefined : options.name,
      title: options.label ? options.name : options.name,
    },
    options.icon ? icon(options.icon) : null,
    options.label ? h('span', {}, options.label) : null,
  );
}

/**
 * A labelled form field.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  if (!control.id) control.id = unique('field');
  const note = hint ? h('div', { class: 'hint', id: `${control.id}-hint` }, hint) : null;
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, note);
}

/**
 * A checkbox with its label.
 * @param {string} label
 * @param {boolean} checked
 * @param {(checked: boolean) => void} [onchange]
 */
export function checkbox(label, checked, onchange) {
  const input = h('input', { type: 'checkbox', checked });
  if (onchange) input.addEventListener('change', () => onchange(input.checked));
  return { input, element: h('label', { class: 'check' }, input, h('span', {}, label)) };
}

/**
 * @param {Array<string | [string, string]>} options values, or values with labels
 * @param {string} [value]
 * @param {Attributes} [attributes]
 */
export function select(options, value, attributes = {}) {
  const element = h(
    'select',
    attributes,
    options.map((option) => {
      const [key, label] = Array.isArray(option) ? option : [option, option];
      return h('option', { value: key }, label);
    }),
  );
  if (value !== undefined) element.value = value;
  return element;
}

let counter = 0;

/** @param {string} prefix */
export function unique(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}
