// The frame around every view: navigation, account, breadcrumbs, theme.

import { button, fill, h, icon, select } from '../lib/dom.js';
import { accountNames, currentSettings, setTheme, theme } from '../lib/state.js';
import { go, linkTo } from '../lib/router.js';

/** @typedef {import('../lib/client.js').Account} Account */

const CONNECT = '+';

/** @type {Array<{section: string, label: string, icon: string, service?: import('../lib/sign.js').ServiceName}>} */
export const SECTIONS = [
  { section: 'tables', label: 'Tables', icon: 'table', service: 'table' },
  { section: 'queues', label: 'Queues', icon: 'queue', service: 'queue' },
  { section: 'blobs', label: 'Blobs', icon: 'blob', service: 'blob' },
  { section: 'account', label: 'Account', icon: 'account' },
  { section: 'health', label: 'Health', icon: 'health' },
];

export class Shell {
  #hasShown = false;

  /** @param {{palette: () => void}} actions */
  constructor(actions) {
    const settings = currentSettings();
    this.nav = h('nav', { class: 'nav', 'aria-label': 'Sections' });
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Breadcrumbs' });
    this.account = h('div', { class: 'account' });
    this.main = h('main', { id: 'main', tabIndex: -1 });
    this.side = h('aside', { class: 'side', 'aria-label': 'Navigation' },
      h('a', { class: 'brand', href: '#/' }, logo(), h('span', {}, 'Lazuli'), h('span', { class: 'version' }, settings.version)),
      this.account,
      this.nav,
      h('div', { class: 'grow' }),
      h('p', { class: 'faint small about' }, 'Free software, MIT or Apache 2.0. This page can do only what any signed client can do; your keys stay in its memory.'),
    );
    const themeButton = button({ icon: 'theme', name: 'Change theme', kind: 'quiet', onclick: () => {
      setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    } });
    if (theme() === 'system') themeButton.title = 'Change theme (follows the system)';
    this.element = h('div', { class: 'shell' },
      h('a', { class: 'skip', href: '#main', onclick: (/** @type {MouseEvent} */ event) => { event.preventDefault(); this.main.focus(); } }, 'Skip to content'),
      this.side,
      h('div', { class: 'scrim', onclick: () => this.toggleSide(false) }),
      h('div', { class: 'content' },
        h('header', { class: 'top' },
          h('span', { class: 'only-phone' }, button({ icon: 'menu', name: 'Navigation', kind: 'quiet', onclick: () => this.toggleSide() })),
          this.crumbs,
          settings.readOnly ? h('span', { class: 'badge warn' }, icon('lock'), h('span', {}, 'Read-only')) : null,
          h('button', { type: 'button', class: 'button palette-button', onclick: actions.palette, 'aria-label': 'Command palette', 'aria-keyshortcuts': 'Control+K' }, icon('search'), h('span', { class: 'not-phone' }, 'Go to…'), h('kbd', { class: 'not-phone' }, 'Ctrl K')),
          themeButton,
        ),
        this.main,
      ),
    );
  }

  /** @param {boolean} [open] */
  toggleSide(open) {
    this.element.classList.toggle('side-open', open);
  }

  /**
   * @param {{title: string[], links?: Array<string | undefined>, element: HTMLElement}} view
   * @param {Account | undefined} account
   * @param {string} section
   */
  show(view, account, section) {
    this.toggleSide(false);
    this.#showAccount(account);
    this.#showNav(account, section);
    this.#showCrumbs(view, account, section);
    fill(this.main, view.element);
    // Whatever was activated is gone: the keyboard continues in the new view.
    if (document.activeElement === document.body && this.#hasShown) this.main.focus({ preventScroll: true });
    this.#hasShown = true;
  }

  /** @param {Account | undefined} account */
  #showAccount(account) {
    const names = accountNames();
    const options = /** @type {Array<[string, string]>} */ ([...names.map((name) => [name, name]), [CONNECT, 'Connect an account…']]);
    if (!account) options.unshift(['', 'No account']);
    const picker = select(options, account?.name ?? '', { 'aria-label': 'Account' });
    picker.addEventListener('change', () => go(picker.value === CONNECT ? ['+'] : [picker.value, 'tables']));
    fill(this.account, picker);
  }

  /**
   * @param {Account | undefined} account
   * @param {string} section
   */
  #showNav(account, section) {
    const { endpoints } = currentSettings();
    const served = SECTIONS.filter((entry) => !entry.service || endpoints[entry.service]);
    fill(this.nav, account
      ? served.map((entry) => h('a', { href: linkTo([account.name, entry.section]), 'aria-current': entry.section === section ? 'page' : undefined }, icon(entry.icon), entry.label))
      : null);
  }

  /**
   * @param {{title: string[], links?: Array<string | undefined>}} view
   * @param {Account | undefined} account
   * @param {string} section
   */
  #showCrumbs({ title, links }, account, section) {
    const parts = title.map((part, index) => {
      if (index === title.length - 1 || !account) return h('span', { class: 'crumb', 'aria-current': 'page' }, part);
      return h('a', { class: 'crumb', href: links?.[index] ?? linkTo(index === 0 ? [account.name, section] : [account.name, section, ...title.slice(1, index + 1)]) }, part);
    });
    fill(this.crumbs, parts.flatMap((part, index) => (index ? [h('span', { class: 'slash', 'aria-hidden': 'true' }, '/'), part] : [part])));
    this.crumbs.scrollLeft = this.crumbs.scrollWidth;
  }
}

function logo() {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 32 32');
  svg.setAttribute('class', 'logo');
  svg.setAttribute('aria-hidden', 'true');
  for (const [d, name] of [['M16 2 29 10v12L16 30 3 22V10z', 'a'], ['M16 2 29 10 16 17 3 10z', 'b'], ['M16 17v13L3 22V10z', 'c']]) {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', d ?? '');
    path.setAttribute('class', `logo-${name}`);
    svg.appendChild(path);
  }
  return svg;
}
