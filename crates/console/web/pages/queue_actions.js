// Moving and deleting messages of a queue: all of them, or those that are selected.

import { field, h } from '../lib/dom.js';
import { MESSAGES_MAX, createQueue, dequeue, moveMessages, put, queueState, removeMessage, update } from '../lib/queues.js';
import { ServiceError } from '../lib/client.js';
import { number, plural } from '../lib/format.js';
import { confirm, form } from '../ui/dialog.js';
import { run, toast } from '../ui/feedback.js';

/** @typedef {import('../lib/queues.js').Message} Message */
/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../ui/feedback.js').Job} Job */

/** How long messages are hidden while the selected ones are looked for among them. */
const HOLD_SECONDS = 60;
/** Requests for the selected messages: they were among the first, so more would only hide messages of others. */
const DEQUEUES_MAX = 4;

/**
 * Moves all messages of a queue, or the first ones. The server does it, each message exactly once.
 * @param {Account} account
 * @param {string} name
 * @param {string} suggested
 */
export async function moveAll(account, name, suggested) {
  const { depth } = await queueState(account, name);
  const target = targetInput(suggested);
  const limit = h('input', { type: 'number', min: 1, value: String(Math.max(1, depth)), class: 'short' });
  const isConfirmed = await form('Move messages', {
    label: 'Move', body: [
      h('p', {}, `About ${plural(depth, 'message')} in ${name}, whether shown here or not. To move only some of those that are shown, select them first.`),
      field('To queue', target), field('At most', limit)],
    submit: () => checkTarget(target.value, name),
  });
  if (!isConfirmed) return;
  const to = target.value.trim();
  await run(`Move messages to ${to}`, async (job) => {
    await ensureQueue(account, to);
    const total = Number(limit.value);
    let moved = 0;
    while (moved < total) {
      job.signal.throwIfAborted();
      // Do not abort: the server finishes a request that it has begun.
      const count = await moveMessages(account, name, to, Math.min(MESSAGES_MAX, total - moved));
      if (count === 0) break;
      moved += count;
      job.update(`${number(moved)} of ${number(total)}`, moved, total);
    }
    toast(`Moved ${plural(moved, 'message')} to ${to}`);
  });
}

/**
 * Moves the selected messages: each is put into the other queue before it is deleted here, so none is lost.
 * @param {Account} account
 * @param {string} name
 * @param {Message[]} chosen
 * @param {string} suggested
 * @param {(id: string) => void} ondone
 */
export async function moveChosen(account, name, chosen, suggested, ondone) {
  const target = targetInput(suggested);
  const what = plural(chosen.length, 'selected message');
  const isConfirmed = await form('Move messages', {
    label: 'Move', body: [
      h('p', {}, `Moves ${what}. A message is deleted here after it is in the other queue; if the move is interrupted, a message may be in both. The dequeue count of other messages at the front of ${name} increases by one.`),
      field('To queue', target)],
    submit: () => checkTarget(target.value, name),
  });
  if (!isConfirmed) return;
  const to = target.value.trim();
  await run(`Move messages to ${to}`, async (job) => {
    await ensureQueue(account, to);
    const moved = await eachOf(account, name, chosen, job, async (message) => {
      await put(account, to, message.body, { signal: job.signal });
      await removeMessage(account, name, message);
      ondone(message.id);
    });
    toast(`Moved ${plural(moved, 'message')} to ${to}${missing(chosen.length - moved)}`);
  });
}

/**
 * @param {Account} account
 * @param {string} name
 * @param {Message[]} chosen
 * @param {(id: string) => void} ondone
 */
export async function removeChosen(account, name, chosen, ondone) {
  const what = plural(chosen.length, 'message');
  if (!(await confirm('Delete messages', `This deletes ${what} of ${name}. Messages cannot be restored. The dequeue count of other messages at the front of the queue increases by one.`, `Delete ${what}`))) return;
  await run(`Delete messages of ${name}`, async (job) => {
    const removed = await eachOf(account, name, chosen, job, async (message) => {
      await removeMessage(account, name, message);
      ondone(message.id);
    });
    toast(`Deleted ${plural(removed, 'message')}${missing(chosen.length - removed)}`);
  });
}

/**
 * Hands the wanted messages to `act`, with receipts. Only dequeuing yields a receipt: others that come along become visible again.
 * @param {Account} account
 * @param {string} name
 * @param {Message[]} wanted those with a receipt are held already
 * @param {Job} job
 * @param {(message: Message) => Promise<void>} act
 * @returns {Promise<number>} how many were found
 */
async function eachOf(account, name, wanted, job, act) {
  const left = new Set(wanted.map((message) => message.id));
  /** @type {Set<Message>} */
  const hidden = new Set();
  const handle = async (/** @type {Message} */ message) => {
    job.signal.throwIfAborted();
    await act(message);
    hidden.delete(message);
    left.delete(message.id);
    job.update(`${number(wanted.length - left.size)} of ${number(wanted.length)}`, wanted.length - left.size, wanted.length);
  };
  try {
    for (const message of wanted) if (message.receipt) await handle(message);
    for (let round = 0; round < DEQUEUES_MAX && left.size > 0; round += 1) {
      const messages = await dequeue(account, name, MESSAGES_MAX, HOLD_SECONDS, job.signal);
      if (messages.length === 0) break;
      for (const message of messages) hidden.add(message);
      for (const message of messages) if (left.has(message.id)) await handle(message);
    }
  } finally {
    // One after the other: they keep their order.
    for (const message of hidden) await update(account, name, message, message.body, 0).catch(() => {});
  }
  return wanted.length - left.size;
}

/** @param {number} count */
function missing(count) {
  return count ? `; ${number(count)} not found: other clients have taken or deleted them` : '';
}

/** @param {string} suggested */
function targetInput(suggested) {
  return h('input', { type: 'text', value: suggested, spellcheck: 'false' });
}

/**
 * @param {string} target
 * @param {string} name
 */
function checkTarget(target, name) {
  if (!target.trim() || target.trim() === name) throw new Error('Name another queue.');
}

/**
 * @param {Account} account
 * @param {string} name
 */
async function ensureQueue(account, name) {
  try {
    await queueState(account, name);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 404) throw error;
    await createQueue(account, name);
  }
}
