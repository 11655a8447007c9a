// The console: starts, shows the shell, and shows the view that the link names.

import { fill, h } from './lib/dom.js';
import { ServiceError, loadSettings } from './lib/client.js';
import { accountNames, applyTheme, begin, findAccount } from './lib/state.js';
import { currentRoute, go } from './lib/router.js';
import { errorBox, feedbackElements, isCancelled, showError } from './ui/feedback.js';
import { Shell } from './ui/shell.js';
import { openPalette, shortcuts } from './ui/palette.js';
import { connectPage } from './pages/connect.js';
import { tablesPage } from './pages/tables.js';
import { tablePage } from './pages/table.js';
import { queuesPage } from './pages/queues.js';
import { queuePage } from './pages/queue.js';
import { containersPage } from './pages/containers.js';
import { containerPage } from './pages/container.js';
import { blobPage } from './pages/blob.js';
import { accountPage } from './pages/account.js';
import { healthPage } from './pages/health.js';

/** @typedef {{account: import('./lib/client.js').Account, route: import('./lib/router.js').Route, shell: Shell}} Context */
/** @typedef {{title: string[], links?: Array<string | undefined>, element: HTMLElement, leave?: () => void, search?: () => void}} View */
/** @typedef {(context: Context) => View | Promise<View>} PageOf */

/** @type {Record<string, PageOf>} */
const PAGES = {
  tables: (context) => (context.route.path[2] ? tablePage(context, context.route.path[2]) : tablesPage(context)),
  queues: (context) => (context.route.path[2] ? queuePage(context, context.route.path[2]) : queuesPage(context)),
  blobs: (context) => {
    const [, , container, blob] = context.route.path;
    if (!container) return containersPage(context);
    return blob === undefined ? containerPage(context, container) : blobPage(context, container, blob);
  },
  account: accountPage,
  health: healthPage,
};

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
  if (!account) {
    view = connectPage({ wanted: name, done: () => show(shell) });
  } else {
    const page = PAGES[section] ?? tablesPage;
    try {
      view = await page({ account, route, shell });
    } catch (error) {
      view = { title: ['Error'], element: h('div', { class: 'page' }, errorBox(error)) };
    }
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

async function main() {
  applyTheme();
  addEventListener('unhandledrejection', onRejection);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => applyTheme());
  const root = document.getElementById('app');
  if (!root) return;
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
