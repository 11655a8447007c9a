// Connects an account: by a connection string, by name and key, or by a SAS.

import { fill, field, h } from '../lib/dom.js';
import { Account, parseCredential, viewOfSasUrl } from '../lib/client.js';
import { Key } from '../lib/sign.js';
import { addAccount } from '../lib/state.js';
import { go } from '../lib/router.js';
import { errorBox } from '../ui/feedback.js';

/**
 * @param {{wanted: string | undefined, done: () => unknown}} options `wanted`: the account of the link that was opened
 * @returns {import('../app.js').View}
 */
export function connectPage({ wanted, done }) {
  const isNamed = wanted !== undefined && wanted !== '+';
  const whole = h('textarea', { rows: 4, autocomplete: 'off', spellcheck: 'false', placeholder: 'DefaultEndpointsProtocol=http;AccountName=…;AccountKey=…' });
  const name = h('input', { type: 'text', value: isNamed ? wanted : '', autocomplete: 'off', spellcheck: 'false' });
  const key = h('input', { type: 'password', autocomplete: 'off' });
  const problem = h('div', {});
  /** @param {() => Account} make
   * @param {() => string[]} [view] what it is for */
  const connect = (make, view = () => []) => async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    try {
      const account = make();
      await verify(account);
      addAccount(account);
      if (isNamed && account.name === wanted) await done();
      else go([account.name, ...(view().length ? view() : ['tables'])]);
    } catch (error) {
      fill(problem, errorBox(error));
    }
  };
  const element = h('div', { class: 'page narrow' },
    h('h1', {}, 'Connect an account'),
    isNamed ? h('p', {}, 'This link belongs to the account ', h('strong', {}, wanted), '. Enter a key or a SAS for that account to open it.') : null,
    h('p', { class: 'faint' }, 'What you enter stays in the memory of this page and is gone when you close or reload it. Requests are signed here; the key is never sent.'),
    problem,
    h('form', { class: 'card', onsubmit: connect(() => parseCredential(whole.value), () => viewOfSasUrl(whole.value)) },
      h('h2', {}, 'Connection string or SAS URL'),
      field('Connection string or SAS URL', whole),
      h('button', { class: 'button primary', type: 'submit' }, 'Connect')),
    h('form', { class: 'card', onsubmit: connect(() => new Account(name.value.trim(), { key: new Key(key.value) })) },
      h('h2', {}, 'Account and key'),
      field('Account name', name),
      field('Account key', key),
      h('button', { class: 'button primary', type: 'submit' }, 'Connect')),
  );
  return { title: ['Connect an account'], element };
}

/**
 * Tries the credential where that is possible: a SAS may be for anything.
 * @param {Account} account
 */
async function verify(account) {
  if (!account.name) throw new Error('Enter the name of the account.');
  if (account.key) await account.request('health', 'GET', '');
}
