// One queue: its depth over time, its first messages, and what can be done with them.

import { button, checkbox, field, h, select } from '../lib/dom.js';
import { COUNTERS, MESSAGES_MAX, clearQueue, decoded, dequeue, encoded, mentions, peek, put, queueCounters, queueState, removeMessage, setQueueMetadata, update } from '../lib/queues.js';
import { number, plural, time } from '../lib/format.js';
import { currentSettings } from '../lib/state.js';
import { relink } from '../lib/router.js';
import { Grid } from '../ui/grid.js';
import { confirm, dialog, form, menu } from '../ui/dialog.js';
import { attempt, toast } from '../ui/feedback.js';
import { codeBlock, facts, pairs, searchBox } from '../ui/parts.js';
import { Rates, Sparkline, poll } from '../ui/live.js';
import { moveAll, moveChosen, removeChosen } from './queue_actions.js';
import { sasDialog } from './sas.js';
import { policiesDialog } from './policies.js';

/** @typedef {import('../lib/queues.js').Message} Message */
/** @typedef {import('../lib/client.js').Account} Account */

const POLL_MILLISECONDS = 2000;
const POISON = '-poison';

/**
 * @param {import('../app.js').Context} context
 * @param {string} name
 * @returns {Promise<import('../app.js').View>}
 */
export async function queuePage({ account, route }, name) {
  const view = new QueueView(account, name, route.query.get('find') ?? '');
  await view.refresh();
  return { title: ['Queues', name], element: view.element, leave: () => view.stop(), search: () => view.search.input.focus() };
}

class QueueView {
  /** Messages that this page has dequeued and holds, by id. @type {Map<string, Message>} */
  #held = new Map();
  /** @type {Message[]} */ #messages = [];

  /**
   * @param {Account} account
   * @param {string} name
   * @param {string} find
   */
  constructor(account, name, find) {
    this.account = account;
    this.name = name;
    const isReadOnly = currentSettings().readOnly;
    this.depth = h('strong', {});
    this.rate = h('span', { class: 'faint rates' });
    this.rates = new Rates();
    this.spark = new Sparkline('Messages over the last minutes');
    this.search = searchBox('Find in these messages', () => { relink([account.name, 'queues', name], { find: this.search.input.value.trim() }); this.#draw(); }, find);
    /** @type {Grid<Message>} */
    this.grid = new Grid({
      label: `Messages of ${name}`, keyOf: (message) => message.id, selectable: !isReadOnly,
      columns: [
        { key: 'state', title: '', width: 90, narrow: 72, render: (message) => (this.#held.has(message.id) ? h('span', { class: 'badge' }, 'held') : h('span', { class: 'faint small' }, 'waiting')) },
        { key: 'inserted', title: 'Inserted', width: 160, narrow: 0, sort: (message) => Date.parse(message.inserted), render: (message) => time(message.inserted) },
        { key: 'count', title: 'Dequeued', width: 110, narrow: 0, align: 'right', sort: (message) => message.count, render: (message) => number(message.count) },
        { key: 'body', title: 'Message', width: 360, narrow: 260, render: (message) => h('span', { class: 'value opens' }, decoded(message.body).text.replace(/\s+/g, ' ').slice(0, 300)) },
      ],
      onopen: (message) => this.open(message),
      onselect: (rows) => { this.remove.disabled = rows.length === 0; },
    });
    this.remove = button({ icon: 'trash', label: 'Delete', kind: 'danger', disabled: true, onclick: () => this.#removeSelected() });
    const more = button({ icon: 'more', name: 'More', onclick: () => menu(more, this.#menuItems()) });
    const target = name.endsWith(POISON) ? name.slice(0, -POISON.length) : '';
    this.element = h('div', { class: 'page fill' },
      h('div', { class: 'toolbar' }, h('h1', {}, name), h('span', { class: 'grow' }),
        button({ icon: 'refresh', name: 'Refresh', onclick: () => attempt(() => this.refresh()) }),
        isReadOnly ? null : [
          target ? button({ icon: 'undo', label: `Move to ${target}`, onclick: () => this.move(target) }) : null,
          this.remove,
          button({ icon: 'download', label: 'Dequeue', onclick: () => this.dequeue() }),
          button({ icon: 'plus', label: 'Put message', kind: 'primary', onclick: () => this.put() }),
        ], more),
      h('div', { class: 'row wrap live' }, this.depth, this.rate, this.spark.element, h('span', { class: 'grow' }), this.search.element),
      this.grid.element,
      h('div', { class: 'statusbar faint small' }, `The first ${MESSAGES_MAX} messages, without hiding them from others.`));
    this.stop = poll(POLL_MILLISECONDS, (signal) => this.#measure(signal), (error) => this.#showOutage(error));
  }

  #menuItems() {
    return [
      { label: 'Metadata…', run: () => this.metadata() },
      { label: 'Share (SAS)…', run: () => sasDialog(this.account, { service: 'queue', queue: this.name }) },
      { label: 'Stored access policies…', run: () => attempt(() => policiesDialog(this.account, { service: 'queue', name: this.name })) },
      ...(currentSettings().readOnly ? [] : [
        { label: 'Move messages to another queue…', run: () => this.move('') },
        { label: 'Clear…', danger: true, run: () => this.clear() },
      ]),
    ];
  }

  /** @param {AbortSignal} [signal] */
  async #measure(signal) {
    const { depth } = await queueState(this.account, this.name, signal);
    // The server counts a queue from its first use on, which this may have been.
    this.#showDepth(depth, await queueCounters(this.account, this.name, signal));
  }

  /** @param {unknown} error */
  #showOutage(error) {
    this.rate.classList.toggle('bad', error !== undefined);
    if (error !== undefined) this.rate.textContent = `not up to date: ${error instanceof Error ? error.message : error}`;
  }

  /**
   * Shows how many messages there are, and how many are put, dequeued and deleted; without counters, the change of their number.
   * @param {number} depth
   * @param {number[] | undefined} counters
   */
  #showDepth(depth, counters) {
    const change = this.spark.add(depth);
    this.depth.textContent = plural(depth, 'message');
    const perSecond = (/** @type {number} */ rate) => `${number(Math.abs(rate) < 1 ? rate : Math.round(rate * 10) / 10)}/s`;
    if (counters) {
      const rates = this.rates.add(counters);
      this.rate.title = 'Messages per second over the last ten seconds, by all clients of this server';
      this.rate.textContent = COUNTERS.map((counter, index) => `${counter} ${rates ? perSecond(rates[index] ?? 0) : '–'}`).join(' · ');
    } else {
      this.rate.title = 'The change of the number of messages. Messages put, dequeued and deleted are shown to holders of an account key, for the first 100 queues in use.';
      this.rate.textContent = change === 0 ? 'steady' : `${change > 0 ? '+' : ''}${perSecond(change)}`;
    }
  }

  async refresh() {
    const [messages] = await Promise.all([peek(this.account, this.name), this.#measure()]);
    const now = Date.now();
    for (const [id, message] of this.#held) if (Date.parse(message.visible) < now) this.#held.delete(id);
    this.#messages = [...this.#held.values(), ...messages.filter((message) => !this.#held.has(message.id))];
    this.#draw();
  }

  #draw() {
    const wanted = this.search.input.value.trim();
    this.grid.options.empty = wanted && this.#messages.length
      ? `None of ${plural(this.#messages.length, 'message')} shown here contains “${wanted}”.`
      : 'No visible messages. Messages that a client has dequeued stay hidden until their visibility timeout ends.';
    this.grid.setRows(this.#messages.filter((message) => mentions(message, wanted)));
  }

  async put() {
    const body = h('textarea', { rows: 6, spellcheck: 'false' });
    const base64 = checkbox('Encode as Base64, as many SDKs and Azure Functions expect', false);
    const delay = h('input', { type: 'number', min: 0, max: 604800, value: '0', class: 'short' });
    const life = select([['604800', '7 days'], ['86400', '1 day'], ['3600', '1 hour'], ['60', '1 minute'], ['-1', 'never expires']], '604800');
    await form('Put message', {
      label: 'Put', body: [field('Message', body), base64.element, h('div', { class: 'row wrap' }, field('Delay in seconds', delay), field('Expires after', life))],
      submit: async () => {
        await put(this.account, this.name, base64.input.checked ? encoded(body.value) : body.value, { delay: Number(delay.value) || undefined, life: Number(life.value) });
        toast('Message put');
      },
    });
    await this.refresh();
  }

  async dequeue() {
    const count = h('input', { type: 'number', min: 1, max: MESSAGES_MAX, value: '1', class: 'short' });
    const seconds = h('input', { type: 'number', min: 1, max: 604800, value: '60', class: 'short' });
    await form('Dequeue messages', {
      label: 'Dequeue', body: [
        h('p', {}, 'Dequeued messages are hidden from others for a while. Open one to change or delete it; otherwise it comes back.'),
        h('div', { class: 'row wrap' }, field('Messages', count), field('Hidden for seconds', seconds))],
      submit: async () => {
        const messages = await dequeue(this.account, this.name, Number(count.value), Number(seconds.value));
        for (const message of messages) this.#held.set(message.id, message);
        toast(messages.length ? `Holding ${plural(messages.length, 'message')}` : 'There was no visible message');
      },
    });
    await this.refresh();
  }

  /** @param {Message} message */
  async open(message) {
    const held = this.#held.get(message.id);
    const view = decoded(message.body);
    if (held) return this.#edit(held);
    return dialog('Message', () => ({
      wide: true,
      body: [facts([['Id', message.id], ['Inserted', time(message.inserted)], ['Expires', time(message.expires)], ['Dequeued', plural(message.count, 'time')], ['Encoding', `${view.encoding}${view.isJson ? ', JSON' : ''}`]]),
        codeBlock(view.text, 'Message'),
        view.encoding === 'Base64' ? h('details', {}, h('summary', {}, 'As stored'), codeBlock(message.body, 'Stored message')) : null],
    }));
  }

  /** @param {Message} held */
  async #edit(held) {
    const view = decoded(held.body);
    const body = h('textarea', { rows: 8, value: view.text, spellcheck: 'false' });
    const base64 = checkbox('Encode as Base64', view.encoding === 'Base64');
    const seconds = h('input', { type: 'number', min: 0, max: 604800, value: '60', class: 'short' });
    await form('Held message', {
      wide: true, label: 'Update',
      body: [
        facts([['Id', held.id], ['Held until', time(held.visible)], ['Dequeued', plural(held.count, 'time')]]),
        field('Message', body), base64.element, field('Hidden for seconds (0 makes it visible again)', seconds),
        button({ icon: 'trash', label: 'Delete message', kind: 'danger', onclick: async (event) => {
          if (!(await confirm('Delete message', `This deletes the message ${held.id} from ${this.name}. Messages cannot be restored.`, 'Delete'))) return;
          await attempt(async () => {
            await removeMessage(this.account, this.name, held);
            this.#held.delete(held.id);
            toast('Message deleted');
            /** @type {HTMLElement} */ (event.target).closest('dialog')?.close();
          });
        } })],
      submit: async () => {
        const changed = await update(this.account, this.name, held, base64.input.checked ? encoded(body.value) : body.value, Number(seconds.value));
        if (Number(seconds.value) === 0) this.#held.delete(held.id);
        else this.#held.set(held.id, changed);
        toast('Message updated');
      },
    });
    await this.refresh();
  }

  async clear() {
    const { depth } = await queueState(this.account, this.name);
    if (!(await confirm('Clear the queue', `This deletes about ${plural(depth, 'message')} of ${this.name}, also hidden ones. Messages cannot be restored.`, 'Clear'))) return;
    await attempt(async () => {
      await clearQueue(this.account, this.name);
      this.#held.clear();
      toast('Queue cleared');
    });
    await this.refresh();
  }

  async metadata() {
    const state = await queueState(this.account, this.name);
    if (currentSettings().readOnly) return dialog('Metadata', () => ({ body: [facts(Object.entries(state.metadata))] }));
    const editor = pairs(state.metadata);
    return form('Metadata', { label: 'Save', body: [editor.element], submit: () => setQueueMetadata(this.account, this.name, editor.read()) });
  }

  /**
   * Moves the selected messages, or all.
   * @param {string} suggested
   */
  async move(suggested) {
    const chosen = this.grid.selected;
    const release = (/** @type {string} */ id) => { this.#held.delete(id); };
    await (chosen.length ? moveChosen(this.account, this.name, chosen, suggested, release) : moveAll(this.account, this.name, suggested));
    await this.refresh();
  }

  async #removeSelected() {
    await removeChosen(this.account, this.name, this.grid.selected, (id) => { this.#held.delete(id); });
    await this.refresh();
  }
}
