// Dialogs: modal, closed by Escape, focus returns to where it was.

import { button, fill, h, unique } from '../lib/dom.js';
import { errorBox, isCancelled } from './feedback.js';

/** @typedef {import('../lib/dom.js').Child} Child */

/**
 * Opens a dialog. Resolves when it is closed.
 * @param {string} title
 * @param {(close: () => void) => {body: Child[], actions?: Child[], wide?: boolean}} build
 * @returns {Promise<void>}
 */
export function dialog(title, build) {
  return new Promise((resolve) => {
    const id = unique('dialog');
    const element = h('dialog', { 'aria-labelledby': id });
    const close = () => element.close();
    const { body, actions, wide } = build(close);
    if (wide) element.classList.add('wide');
    const before = document.activeElement;
    element.append(
      h('header', {}, h('h2', { id }, title), button({ icon: 'close', name: 'Close', kind: 'quiet', onclick: close })),
      h('div', { class: 'dialog-body', tabIndex: -1 }, body),
      h('footer', {}, actions ?? [button({ label: 'Close', onclick: close })]),
    );
    element.addEventListener('close', () => {
      element.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      resolve();
    });
    document.body.appendChild(element);
    element.showModal();
    const first = element.querySelector('.dialog-body :is(input, select, textarea, [autofocus]):not([disabled])');
    if (first instanceof HTMLElement) first.focus();
  });
}

/**
 * A dialog with a form. `submit` runs when the user confirms; its error is shown and the dialog stays open.
 * @param {string} title
 * @param {{body: Child[], label: string, danger?: boolean, wide?: boolean, submit: () => Promise<unknown> | unknown}} options
 * @returns {Promise<boolean>} was it confirmed?
 */
export async function form(title, options) {
  let done = false;
  await dialog(title, (close) => {
    const problems = h('div', {});
    const confirm = h('button', { type: 'submit', class: `button ${options.danger ? 'danger' : 'primary'}` }, options.label);
    const id = unique('form');
    confirm.setAttribute('form', id);
    const element = h('form', {
      id,
      novalidate: true,
      onsubmit: async (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        confirm.disabled = true;
        try {
          await options.submit();
          done = true;
          close();
        } catch (error) {
          if (!isCancelled(error)) fill(problems, errorBox(error));
          confirm.disabled = false;
        }
      },
    }, options.body, problems);
    return { body: [element], actions: [button({ label: 'Cancel', kind: 'quiet', onclick: close }), confirm], wide: options.wide ?? false };
  });
  return done;
}

/**
 * Asks once before something is destroyed, and says how much.
 * @param {string} title
 * @param {string} effect
 * @param {string} label
 */
export function confirm(title, effect, label) {
  return form(title, { body: [h('p', { autofocus: true }, effect)], label, danger: true, submit: () => {} });
}

/**
 * Asks for one line of text.
 * @param {string} title
 * @param {{label: string, value?: string, hint?: string, confirm: string, check?: (value: string) => string | undefined, submit: (value: string) => Promise<unknown> | unknown}} options
 */
export function prompt(title, options) {
  const id = unique('prompt');
  const input = h('input', { id, type: 'text', value: options.value ?? '', autocomplete: 'off', spellcheck: 'false' });
  const body = h('div', { class: 'field' }, h('label', { for: id }, options.label), input, options.hint ? h('div', { class: 'hint' }, options.hint) : null);
  return form(title, {
    body: [body],
    label: options.confirm,
    submit: () => {
      const problem = options.check?.(input.value.trim());
      if (problem) throw new Error(problem);
      return options.submit(input.value.trim());
    },
  });
}

/**
 * A menu below a button.
 * @param {HTMLElement} anchor
 * @param {Array<{label: string, run: () => unknown, danger?: boolean, disabled?: boolean}>} items
 */
export function menu(anchor, items) {
  const element = h('div', { class: 'menu', role: 'menu', popover: 'auto' });
  for (const item of items) {
    element.appendChild(h('button', {
      type: 'button', role: 'menuitem', class: item.danger ? 'danger' : '', disabled: item.disabled ?? false,
      onclick: () => { element.hidePopover(); item.run(); },
    }, item.label));
  }
  element.addEventListener('keydown', (event) => {
    const all = [...element.querySelectorAll('button:not([disabled])')];
    const at = all.indexOf(/** @type {Element} */ (document.activeElement));
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const next = all[(at + step + all.length) % all.length];
    if (next instanceof HTMLElement) next.focus();
  });
  element.addEventListener('toggle', (event) => {
    if (/** @type {ToggleEvent} */ (event).newState === 'closed') element.remove();
  });
  document.body.appendChild(element);
  element.showPopover();
  const box = anchor.getBoundingClientRect();
  const left = Math.min(box.left, innerWidth - element.offsetWidth - 8);
  element.style.left = `${Math.max(8, left)}px`;
  const below = box.bottom + 4;
  element.style.top = `${below + element.offsetHeight > innerHeight ? Math.max(8, box.top - element.offsetHeight - 4) : below}px`;
  const first = element.querySelector('button:not([disabled])');
  if (first instanceof HTMLElement) first.focus();
}
