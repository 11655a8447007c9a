// The command palette and the keyboard shortcuts.

import { h, icon, unique } from '../lib/dom.js';
import { accountNames, currentSettings, findAccount, setTheme } from '../lib/state.js';
import { currentRoute, go } from '../lib/router.js';
import { SECTIONS } from './shell.js';
import { dialog } from './dialog.js';
import { listTables } from '../lib/tables.js';
import { listQueues } from '../lib/queues.js';
import { listContainers } from '../lib/blobs.js';

/** @typedef {{label: string, hint: string, icon: string, run: () => unknown}} Command */

const SHOWN_MAX = 50;

/** Sources of names in the account: each service adds one.
 * @type {Array<{service: import('../lib/sign.js').ServiceName, icon: string, section: string, list: (account: import('../lib/client.js').Account) => Promise<string[]>}>} */
const SOURCES = [
  { service: 'table', icon: 'table', section: 'tables', list: (account) => listTables(account) },
  { service: 'queue', icon: 'queue', section: 'queues', list: (account) => listQueues(account) },
  { service: 'blob', icon: 'blob', section: 'blobs', list: async (account) => (await listContainers(account)).map((container) => container.name) },
];

/** @param {string | undefined} accountName */
function fixedCommands(accountName) {
  /** @type {Command[]} */
  const commands = [];
  for (const entry of accountName ? SECTIONS : []) {
    commands.push({ label: entry.label, hint: 'Section', icon: entry.icon, run: () => go([accountName ?? '', entry.section]) });
  }
  for (const name of accountNames()) commands.push({ label: name, hint: 'Account', icon: 'account', run: () => go([name, 'tables']) });
  commands.push(
    { label: 'Connect an account', hint: 'Command', icon: 'plus', run: () => go(['+']) },
    { label: 'Light theme', hint: 'Command', icon: 'theme', run: () => setTheme('light') },
    { label: 'Dark theme', hint: 'Command', icon: 'theme', run: () => setTheme('dark') },
    { label: 'Theme of the system', hint: 'Command', icon: 'theme', run: () => setTheme('system') },
    { label: 'Keyboard shortcuts', hint: 'Command', icon: 'help', run: () => showShortcuts() },
  );
  return commands;
}

/** @param {unknown} _shell */
export function openPalette(_shell) {
  if (document.querySelector('dialog.palette, dialog[open]')) return;
  const account = findAccount(currentRoute().path[0] ?? '');
  const fixed = fixedCommands(account?.name);
  /** Names of the account, by service: their order does not depend on which service responds first. @type {Command[][]} */
  const named = SOURCES.map(() => []);
  const id = unique('palette');
  const input = h('input', { type: 'text', role: 'combobox', placeholder: 'Go to a table, queue, container or page', 'aria-label': 'Command', 'aria-controls': id, 'aria-expanded': 'true', 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false' });
  const list = h('div', { id, role: 'listbox', 'aria-label': 'Commands', class: 'palette-list' });
  const element = h('dialog', { class: 'palette', 'aria-label': 'Command palette' }, input, list);
  let active = 0;
  /** @type {Command[]} */
  let matching = [];
  const draw = () => {
    const typed = input.value.trim().toLowerCase();
    const before = matching[active];
    matching = [...fixed, ...named.flat()].filter((command) => `${command.label} ${command.hint}`.toLowerCase().includes(typed)).slice(0, SHOWN_MAX);
    // Names arrive while the list is open: the active command stays the same.
    if (before && matching.includes(before)) active = matching.indexOf(before);
    active = Math.max(0, Math.min(active, matching.length - 1));
    list.replaceChildren(...matching.map((command, index) => h('div', {
      role: 'option', id: `${id}-${index}`, 'aria-selected': String(index === active), class: 'palette-item',
      onclick: () => choose(command),
    }, icon(command.icon), h('span', { class: 'grow' }, command.label), h('span', { class: 'faint' }, command.hint))));
    if (matching.length === 0) list.replaceChildren(h('p', { class: 'faint pad' }, 'Nothing matches.'));
    input.setAttribute('aria-activedescendant', matching.length ? `${id}-${active}` : '');
    list.children[active]?.scrollIntoView({ block: 'nearest' });
  };
  const choose = (/** @type {Command} */ command) => {
    element.close();
    command.run();
  };
  input.addEventListener('input', () => { active = 0; matching = []; draw(); });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') active += 1;
    else if (event.key === 'ArrowUp') active -= 1;
    else if (event.key === 'Enter' && matching[active]) choose(/** @type {Command} */ (matching[active]));
    else return;
    event.preventDefault();
    draw();
  });
  element.addEventListener('close', () => element.remove());
  element.addEventListener('click', (event) => { if (event.target === element) element.close(); });
  document.body.appendChild(element);
  element.showModal();
  draw();
  if (account) {
    const { endpoints } = currentSettings();
    for (const [index, source] of SOURCES.entries()) {
      if (!endpoints[source.service]) continue;
      source.list(account).then((names) => {
        named[index] = names.map((name) => ({ label: name, hint: source.section, icon: source.icon, run: () => go([account.name, source.section, name]) }));
        draw();
      }, () => {});
    }
  }
}

const SHORTCUTS = [
  ['Ctrl K', 'Command palette'],
  ['/', 'Search or query in this view'],
  ['g then t, q, b, a, h', 'Tables, queues, blobs, account, health'],
  ['↑ ↓ PgUp PgDn Home End', 'Move in a list'],
  ['Enter', 'Open the row'],
  ['Space, Shift ↑↓, Ctrl A', 'Select rows'],
  ['← →', 'Move between the columns of the head; Enter sorts'],
  ['Escape', 'Close a dialog'],
  ['?', 'This list'],
];

export function showShortcuts() {
  return dialog('Keyboard shortcuts', () => ({
    body: [h('dl', { class: 'shortcuts' }, SHORTCUTS.flatMap(([keys, what]) => [h('dt', {}, h('kbd', {}, keys)), h('dd', {}, what)]))],
  }));
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** @param {{palette: () => void, search: () => void}} actions */
export function shortcuts(actions) {
  let waiting = false;
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      return actions.palette();
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const account = currentRoute().path[0];
    if (waiting) {
      waiting = false;
      const entry = SECTIONS.find((candidate) => candidate.section.startsWith(event.key));
      if (entry && account) go([account, entry.section]);
    } else if (event.key === 'g') {
      waiting = true;
    } else if (event.key === '/') {
      event.preventDefault();
      actions.search();
    } else if (event.key === '?') {
      showShortcuts();
    }
  });
}
