// Export and import of entities, with progress and a way to cancel.

import { h, select, field } from '../lib/dom.js';
import { batch, batches, queryPages } from '../lib/tables.js';
import { fromCsv, fromJsonLines, toCsv, toJsonLine } from '../lib/csv.js';
import { problemOf } from '../lib/edm.js';
import { number, plural } from '../lib/format.js';
import { form } from '../ui/dialog.js';
import { inParallel, run, saveFile, toast } from '../ui/feedback.js';

/** @typedef {import('../lib/client.js').Account} Account */
/** @typedef {import('../lib/edm.js').Entity} Entity */

const BATCHES_AT_A_TIME = 4;

/**
 * @param {Account} account
 * @param {string} table
 * @param {import('../lib/tables.js').Query} query
 * @param {'csv' | 'jsonl'} format
 */
export function exportEntities(account, table, query, format) {
  return run(`Export ${table}`, async (job) => {
    /** @type {Entity[]} */
    const kept = [];
    // Blobs, unlike strings, may be moved to disk by the browser.
    /** @type {Blob[]} */
    const lines = [];
    let count = 0;
    for await (const page of queryPages(account, table, query, job.signal)) {
      if (format === 'csv') kept.push(...page.entities);
      else lines.push(new Blob([page.entities.map(toJsonLine).join('')]));
      count += page.entities.length;
      job.update(plural(count, 'entity', 'entities'));
    }
    const content = format === 'csv' ? [toCsv(kept)] : lines;
    saveFile(`${table}.${format}`, new Blob(content, { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' }));
    toast(`Exported ${plural(count, 'entity', 'entities')}`);
  });
}

/**
 * @param {Account} account
 * @param {string} table
 * @param {() => unknown} done
 */
export async function importEntities(account, table, done) {
  const file = h('input', { type: 'file', accept: '.csv,.jsonl,.ndjson,.json,text/csv' });
  const format = select([['', 'By the name of the file'], ['csv', 'CSV'], ['jsonl', 'JSON Lines']]);
  /** @type {File | undefined} */
  let chosen;
  const isConfirmed = await form('Import entities', {
    label: 'Import',
    body: [
      h('p', { class: 'faint' }, 'CSV needs the columns PartitionKey and RowKey; a column such as Age:Edm.Int64 has a type, others hold strings. Existing entities are replaced.'),
      field('File', file), field('Format', format),
    ],
    submit: () => {
      chosen = file.files?.[0];
      if (!chosen) throw new Error('Choose a file.');
    },
  });
  if (!isConfirmed || !chosen) return;
  const source = chosen;
  await run(`Import into ${table}`, async (job) => {
    const text = await source.text();
    const isCsv = format.value ? format.value === 'csv' : source.name.toLowerCase().endsWith('.csv');
    const drafts = [...(isCsv ? fromCsv(text) : fromJsonLines(text))];
    drafts.forEach((draft, index) => {
      for (const [name, value] of draft.values) {
        const wrong = problemOf(value);
        if (wrong) throw new Error(`Record ${index + 1}, ${name}: ${wrong}. Nothing was imported.`);
      }
    });
    let count = 0;
    await inParallel(batches(drafts.map((entity) => ({ kind: 'upsert', entity }))), BATCHES_AT_A_TIME, async (group) => {
      job.signal.throwIfAborted();
      await batch(account, table, group, job.signal);
      count += group.length;
      job.update(`${number(count)} of ${number(drafts.length)}`, count, drafts.length);
    });
    toast(`Imported ${plural(count, 'entity', 'entities')}`);
  });
  await done();
}
