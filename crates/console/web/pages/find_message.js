// Looks for a message in all queues of the account, for people who do not know where it went.

import { h } from '../lib/dom.js';
import { MESSAGES_MAX, decoded, listQueues, mentions, peek } from '../lib/queues.js';
import { linkTo } from '../lib/router.js';
import { plural, time } from '../lib/format.js';
import { dialog, prompt } from '../ui/dialog.js';
import { inParallel, run } from '../ui/feedback.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {{queue: string, message: import('../lib/queues.js').Message}} Found */

const AT_A_TIME = 6;
const FOUND_MAX = 200;
const TEXT_MAX = 200;

/** @param {Account} account */
export async function findMessage(account) {
  let wanted = '';
  const isAsked = await prompt('Find a message', {
    label: 'Text', hint: `In the first ${MESSAGES_MAX} visible messages of every queue; Base64 is decoded.`, confirm: 'Find',
    check: (value) => (value ? undefined : 'Enter a part of the message.'), submit: (value) => { wanted = value; },
  });
  if (!isAsked) return;
  const found = await collect(account, wanted);
  if (found) await show(account, wanted, found);
}

/**
 * @param {Account} account
 * @param {string} wanted
 * @returns {Promise<Found[] | undefined>}
 */
function collect(account, wanted) {
  return run('Find a message', async (job) => {
    const queues = await listQueues(account, job.signal);
    /** @type {Found[]} */
    const found = [];
    let searched = 0;
    await inParallel(queues, AT_A_TIME, async (queue) => {
      job.signal.throwIfAborted();
      for (const message of await peek(account, queue)) if (found.length < FOUND_MAX && mentions(message, wanted)) found.push({ queue, message });
      searched += 1;
      job.update(`${searched} of ${plural(queues.length, 'queue')}, ${found.length} found`, searched, queues.length);
    });
    return found;
  });
}

/**
 * @param {Account} account
 * @param {string} wanted
 * @param {Found[]} found
 */
function show(account, wanted, found) {
  const rows = found.map(({ queue, message }) => h('tr', {},
    h('td', {}, h('a', { href: linkTo([account.name, 'queues', queue], { find: wanted }) }, queue)), h('td', { class: 'not-phone' }, time(message.inserted)), h('td', { class: 'num not-phone' }, message.count),
    h('td', { class: 'mono break' }, decoded(message.body).text.replace(/\s+/g, ' ').slice(0, TEXT_MAX))));
  return dialog(`Messages with “${wanted}”`, () => ({
    wide: true,
    body: [found.length === 0
      ? h('p', {}, `No visible message contains it. A message that a client has dequeued is hidden until its time is over; beyond the first ${MESSAGES_MAX} of a queue, nothing can be seen.`)
      : h('div', { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Messages found' }, h('table', { class: 'plain' },
        h('thead', {}, h('tr', {}, [['Queue', ''], ['Inserted', 'not-phone'], ['Dequeued', 'num not-phone'], ['Message', '']].map(([title, kind]) => h('th', { scope: 'col', class: kind }, title)))), h('tbody', {}, rows)))],
  }));
}
