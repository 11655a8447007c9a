// CSV (RFC 4180) and JSON Lines with types. The header says `Age:Edm.Int64`, as `lazuli export` writes it; files with
// `Age@type` columns, as Azure Storage Explorer writes them, are read as well.

import { TYPES, entityOf, parseTableJson } from './edm.js';

/** @typedef {import('./edm.js').Entity} Entity */
/** @typedef {import('./edm.js').EdmValue} EdmValue */
/** @typedef {import('./edm.js').EdmType} EdmType */
/** @typedef {{partition: string, row: string, values: Map<string, EdmValue>}} Draft */

/** @param {string} value */
function quoted(value) {
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** @param {Entity[]} entities */
export function toCsv(entities) {
  /** @type {Map<string, [string, EdmType]>} */
  const columns = new Map();
  for (const entity of entities) {
    for (const [name, value] of entity.values) columns.set(`${name}:${value.type}`, [name, value.type]);
  }
  const header = ['PartitionKey', 'RowKey', ...columns.keys()].map(quoted).join(',');
  const lines = entities.map((entity) => {
    const cells = [...columns.values()].map(([name, type]) => {
      const value = entity.values.get(name);
      return value?.type === type ? quoted(value.text) : '';
    });
    return [quoted(entity.partition), quoted(entity.row), ...cells].join(',');
  });
  return `${[header, ...lines].join('\r\n')}\r\n`;
}

/** @param {Entity} entity */
export function toJsonLine(entity) {
  /** @type {Record<string, unknown>} */
  const line = { PartitionKey: entity.partition, RowKey: entity.row };
  for (const [name, { type, text }] of entity.values) {
    if (type === 'Edm.Boolean') line[name] = text === 'true';
    else if (type === 'Edm.Int32') line[name] = Number(text);
    else line[name] = text;
    if (type !== 'Edm.Boolean' && type !== 'Edm.Int32' && type !== 'Edm.String') line[`${name}@odata.type`] = type;
  }
  return `${JSON.stringify(line)}\n`;
}

/**
 * The records of a CSV text: cells that were quoted are told apart from empty ones.
 * @param {string} text
 * @returns {Generator<Array<string | undefined>>}
 */
export function* records(text) {
  let record = /** @type {Array<string | undefined>} */ ([]);
  const pattern = /(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r\n|\n|\r|$)/gy;
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) throw new Error(`The CSV text has a misplaced quote near character ${pattern.lastIndex}.`);
    const [, inQuotes, plain = '', end] = found;
    record.push(inQuotes !== undefined ? inQuotes.replaceAll('""', '"') : plain === '' ? undefined : plain);
    if (end === ',') {
      if (pattern.lastIndex === text.length) record.push(undefined);
      else continue;
    }
    if (record.length > 1 || record[0] !== undefined) yield record;
    record = [];
  }
}

/**
 * @param {string} text
 * @returns {Generator<Draft>}
 */
export function* fromCsv(text) {
  const all = records(text.replace(/^\uFEFF/, ''));
  const header = /** @type {Array<string | undefined> | undefined} */ (all.next().value);
  if (!header) throw new Error('The file is empty.');
  const names = header.map((cell) => cell ?? '');
  const position = (/** @type {string} */ name) => names.indexOf(name);
  const [partition, row] = [position('PartitionKey'), position('RowKey')];
  if (partition < 0 || row < 0) throw new Error('The first line must name the columns PartitionKey and RowKey.');
  for (const record of all) {
    /** @type {Map<string, EdmValue>} */
    const values = new Map();
    names.forEach((name, index) => {
      const cell = record[index];
      if (cell === undefined || ['PartitionKey', 'RowKey', 'Timestamp'].includes(name) || name.startsWith('Timestamp:') || name.endsWith('@type')) return;
      const [, bare = name, declared] = /^(.*):(Edm\.\w+)$/.exec(name) ?? [];
      const given = declared ?? record[position(`${bare}@type`)];
      const type = TYPES.find((candidate) => candidate === given || candidate === `Edm.${given}`) ?? 'Edm.String';
      values.set(bare, { type, text: cell });
    });
    yield { partition: record[partition] ?? '', row: record[row] ?? '', values };
  }
}

/**
 * @param {string} text
 * @returns {Generator<Draft>}
 */
export function* fromJsonLines(text) {
  let number = 0;
  for (const line of text.split('\n')) {
    number += 1;
    if (!line.trim()) continue;
    try {
      yield entityOf(parseTableJson(line));
    } catch {
      throw new Error(`Line ${number} is not a JSON object.`);
    }
  }
}
