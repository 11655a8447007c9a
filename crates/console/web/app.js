// The console: starts, shows the shell, and shows the view that the link names.

import { button, fill, h } from './lib/dom.js';
import { ServiceError, loadSettings } from './lib/client.js';
import { accountNames, applyTheme, begin, findAccount } from './lib/state.js';
import { currentRoute, go } from './lib/router.js';
import { errorBox, feedbackElements, isCancelled, showError } from './ui/feedback.js';
import { SECTIONS, Shell } from './ui/shell.js';
import { openPalette, shortcuts } from './ui/palette.js';

/** @typedef {{account: import('./lib/client.js').Account, route: import('./lib/router.js').Route, shell: Shell}} Context */
/** @typedef {{title: string[], links?: Array<string | undefined>, element: HTMLElement, leave?: () => void, search?: () => void}} View */
/** @typedef {(context: Context) => View | Promise<View>} PageOf */

/** What each section shows. A view is fetched when it is first shown: the page itself starts with less than half of the modules.
 * @type {Record<string, (path: string[]) => Promise<PageOf>>} */
const PAGES = {
  tables: async ([, , table]) => {
    if (!table) return (await import('./pages/tables.js')).tablesPage;
    const { tablePage } = await import('./pages/table.js');
    return (context) => tablePage(context, table);
  },
  queues: async ([, , queue]) => {
    if (!queue) return (await import('./pages/queues.js')).queuesPage;
    const { queuePage } = await import('./pages/queue.js');
    return (context) => queuePage(context, queue);
  },
  blobs: async ([, , container, blob]) => {
    if (!container) return (await import('./pages/containers.js')).containersPage;
    if (blob !== undefined) {
      const { blobPage } = await import('./pages/blob.js');
      return (context) => blobPage(context, container, blob);
    }
    const { containerPage } = await import('./pages/container.js');
    return (context) => containerPage(context, container);
  },
  account: async () => (await import('./pages/account.js')).accountPage,
  health: async () => (await import('./pages/health.js')).healthPage,
};

/**
 * Fetches the view of a link.
 * @param {string[]} path
 * @returns {Promise<PageOf>}
 */
async function pageOf(path) {
  const find = PAGES[path[1] ?? 'tables'] ?? PAGES.tables;
  try {
    return await /** @type {NonNullable<typeof find>} */ (find)(path);
  } catch {
    throw new Error('This part of the page could not be loaded. The server may have stopped or been upgraded; reload the page.');
  }
}

/** @type {View | undefined} */
let shown;
let turn = 0;

/** @param {Shell} shell */
async function show(shell) {
  turn += 1;
  const mine = turn;
  const route = currentRoute();
  const [name, section = 'tables'] = route.path;
  const account = name ? findAccount(name) : undefined;
  if (!name) {
    const [first] = accountNames();
    if (first) return go([first, 'tables']);
  }
  let view;
  try {
    if (account) view = await (await pageOf(route.path))({ account, route, shell });
    else view = (await import('./pages/connect.js')).connectPage({ wanted: name, done: () => show(shell) });
  } catch (error) {
    const title = [SECTIONS.find((entry) => entry.section === section)?.label ?? 'Error', ...route.path.slice(2)];
    view = { title, element: h('div', { class: 'page' }, errorBox(error), button({ icon: 'refresh', label: 'Try again', onclick: () => { show(shell); } })) };
  }
  if (mine !== turn) return view.leave?.();
  shown?.leave?.();
  // A dialog is about the view that it was opened in.
  for (const dialog of document.querySelectorAll('dialog[open]')) /** @type {HTMLDialogElement} */ (dialog).close();
  shown = view;
  document.title = `${view.title.at(-1) ?? 'Lazuli'} · Lazuli`;
  return shell.show(view, account, section);
}

/**
 * Whatever a service rejects is shown, wherever the page was when it asked.
 * @param {PromiseRejectionEvent} event
 */
function onRejection(event) {
  if (event.reason instanceof ServiceError) showError(event.reason);
  else if (!isCancelled(event.reason)) return;
  event.preventDefault();
}

/**
 * A file that is dropped beside the place for it would be opened instead of the page, and the keys in its memory would be gone.
 * @param {DragEvent} event
 */
function keepPage(event) {
  if (event.defaultPrevented || event.target instanceof HTMLInputElement || !event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}

async function main() {
  applyTheme();
  addEventListener('unhandledrejection', onRejection);
  addEventListener('dragover', keepPage);
  addEventListener('drop', keepPage);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme());
  const root = document.getElementById('app');
  if (!root) return;
  // The view is on its way while the settings are. If it cannot be fetched, showing it says so.
  pageOf(currentRoute().path).catch(() => {});
  try {
    begin(await loadSettings());
  } catch (error) {
    fill(root, h('main', { class: 'page' }, errorBox(error)));
    return;
  }
  const shell = new Shell({ palette: () => openPalette(shell) });
  fill(root, shell.element, feedbackElements());
  shortcuts({ palette: () => openPalette(shell), search: () => shown?.search?.() });
  addEventListener('hashchange', () => show(shell));
  await show(shell);
  document.documentElement.dataset.ready = 'true';
}

main();
