// Values of entities with their types: how they are read from JSON, shown, entered and sent.

import { fromBase64 } from './bytes.js';

/** @typedef {'Edm.String' | 'Edm.Int32' | 'Edm.Int64' | 'Edm.Double' | 'Edm.Boolean' | 'Edm.DateTime' | 'Edm.Guid' | 'Edm.Binary'} EdmType */
/** @typedef {{type: EdmType, text: string}} EdmValue */
/** @typedef {{partition: string, row: string, etag: string, timestamp: string, values: Map<string, EdmValue>}} Entity */

/** @type {EdmType[]} */
export const TYPES = ['Edm.String', 'Edm.Int32', 'Edm.Int64', 'Edm.Double', 'Edm.Boolean', 'Edm.DateTime', 'Edm.Guid', 'Edm.Binary'];

/** @param {string} type */
export function shortType(type) {
  return type.replace('Edm.', '');
}

/** What stands for a double while JSON is parsed: JavaScript cannot tell 5.0 from 5. */
const DOUBLE = '\u0000double';
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Parses JSON of the Table service, keeping doubles apart from integers.
 * @param {string} json
 */
export function parseTableJson(json) {
  const marked = json.replace(TOKENS, (token) =>
    token.startsWith('"') || !/[.eE]/.test(token) ? token : `["\\u0000double","${token}"]`,
  );
  return JSON.parse(marked);
}

/**
 * @param {Record<string, unknown>} json
 * @returns {Entity}
 */
export function entityOf(json) {
  /** @type {Map<string, EdmValue>} */
  const values = new Map();
  for (const [name, value] of Object.entries(json)) {
    if (name.startsWith('odata.') || name.includes('@odata.')) continue;
    if (name === 'PartitionKey' || name === 'RowKey' || name === 'Timestamp') continue;
    values.set(name, valueOf(value, json[`${name}@odata.type`]));
  }
  const key = (/** @type {string} */ name) => String(json[name] ?? '');
  return { partition: key('PartitionKey'), row: key('RowKey'), etag: key('odata.etag'), timestamp: key('Timestamp'), values };
}

/**
 * @param {unknown} value
 * @param {unknown} type
 * @returns {EdmValue}
 */
function valueOf(value, type) {
  if (Array.isArray(value) && value[0] === DOUBLE) return { type: 'Edm.Double', text: String(value[1]) };
  const known = TYPES.find((candidate) => candidate === type);
  if (known) return { type: known, text: String(value) };
  if (typeof value === 'boolean') return { type: 'Edm.Boolean', text: String(value) };
  if (typeof value === 'number') return { type: 'Edm.Int32', text: String(value) };
  return { type: 'Edm.String', text: String(value ?? '') };
}

/**
 * What is wrong with a value that a user entered, if anything is.
 * @param {EdmValue} value
 * @returns {string | undefined}
 */
export function problemOf({ type, text }) {
  const integer = (/** @type {bigint} */ min, /** @type {bigint} */ max) => {
    if (!/^-?\d+$/.test(text)) return 'expected a whole number';
    const value = BigInt(text);
    return value < min || value > max ? `expected a number from ${min} to ${max}` : undefined;
  };
  switch (type) {
    case 'Edm.Int32': return integer(-(2n ** 31n), 2n ** 31n - 1n);
    case 'Edm.Int64': return integer(-(2n ** 63n), 2n ** 63n - 1n);
    case 'Edm.Double':
      return text.trim() !== '' && (!Number.isNaN(Number(text)) || /^(NaN|-?Infinity)$/.test(text)) ? undefined : 'expected a number';
    case 'Edm.Boolean': return text === 'true' || text === 'false' ? undefined : 'expected true or false';
    case 'Edm.DateTime':
      return /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,7})?)?)?(Z|[+-]\d\d:\d\d)?$/.test(text) && !Number.isNaN(Date.parse(text.replace(/\.(\d{3})\d*/, '.$1')))
        ? undefined : 'expected a time such as 2026-01-31T12:00:00Z';
    case 'Edm.Guid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? undefined : 'expected a GUID';
    case 'Edm.Binary': return fromBase64(text) ? undefined : 'expected Base64';
    default: return undefined;
  }
}

/**
 * The JSON members of a property, with the type where the service cannot tell it from the value.
 * @param {string} name
 * @param {EdmValue} value
 * @returns {string[]}
 */
function members(name, { type, text }) {
  const key = JSON.stringify(name);
  if (type === 'Edm.Boolean' || type === 'Edm.Int32') return [`${key}:${text}`];
  if (type === 'Edm.String') return [`${key}:${JSON.stringify(text)}`];
  return [`${JSON.stringify(`${name}@odata.type`)}:${JSON.stringify(type)}`, `${key}:${JSON.stringify(utc(type, text))}`];
}

/**
 * @param {EdmType} type
 * @param {string} text
 */
function utc(type, text) {
  if (type !== 'Edm.DateTime' || /Z$/.test(text)) return text;
  return new Date(/[+-]\d\d:\d\d$/.test(text) || !/T|\s/.test(text) ? text : `${text.replace(' ', 'T')}Z`).toISOString();
}

/**
 * An entity as the service takes it.
 * @param {{partition: string, row: string, values: Map<string, EdmValue>}} entity
 */
export function entityJson(entity) {
  const parts = [
    `"PartitionKey":${JSON.stringify(entity.partition)}`,
    `"RowKey":${JSON.stringify(entity.row)}`,
    ...[...entity.values].flatMap(([name, value]) => members(name, value)),
  ];
  return `{${parts.join(',')}}`;
}

/** @param {Entity} entity */
export function entityText(entity) {
  return [entity.partition, entity.row, ...[...entity.values.values()].map((value) => value.text)].join('\u0001').toLowerCase();
}
