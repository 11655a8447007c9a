// Shared access signatures: made here with the key, and explained.

/** @typedef {import('./sign.js').Key} Key */
/** @typedef {{service: 'blob', container: string, blob?: string | undefined, snapshot?: string | undefined, version?: string | undefined} | {service: 'queue', queue: string} | {service: 'table', table: string} | {service: 'account'}} Resource */
/** @typedef {{permissions: string, start: string, end: string, policy: string, addresses: string, httpsOnly: boolean, services: string, resourceTypes: string, startPartition: string, startRow: string, endPartition: string, endRow: string}} SasOptions */

const VERSION = '2021-12-02';

/** What each letter permits, in the order in which letters must stand.
 * @type {Record<'blob' | 'container' | 'queue' | 'table' | 'account', Array<[string, string]>>} */
export const PERMISSIONS = {
  blob: [['r', 'Read content and properties'], ['a', 'Append'], ['c', 'Create, if absent'], ['w', 'Write and overwrite'], ['d', 'Delete'], ['x', 'Delete versions'], ['t', 'Read and write tags']],
  container: [['r', 'Read blobs'], ['a', 'Append'], ['c', 'Create, if absent'], ['w', 'Write and overwrite'], ['d', 'Delete'], ['x', 'Delete versions'], ['l', 'List blobs'], ['t', 'Read and write tags']],
  queue: [['r', 'Read metadata and peek'], ['a', 'Put messages'], ['u', 'Update messages'], ['p', 'Dequeue and delete messages']],
  table: [['r', 'Query'], ['a', 'Insert'], ['u', 'Update'], ['d', 'Delete']],
  account: [['r', 'Read'], ['w', 'Write'], ['d', 'Delete'], ['l', 'List'], ['a', 'Add'], ['c', 'Create'], ['u', 'Update'], ['p', 'Process messages'], ['t', 'Tags']],
};

/** @param {Resource} resource */
export function permissionsOf(resource) {
  if (resource.service === 'blob') return PERMISSIONS[resource.blob === undefined ? 'container' : 'blob'];
  return PERMISSIONS[resource.service];
}

/**
 * The query parameters of a token, signed.
 * @param {string} account
 * @param {Key} key
 * @param {Resource} resource
 * @param {SasOptions} options
 */
export async function makeSas(account, key, resource, options) {
  /** @type {Array<[string, string]>} */
  const parameters = [['sv', VERSION]];
  const add = (/** @type {string} */ name, /** @type {string} */ value) => { if (value) parameters.push([name, value]); };
  const protocol = options.httpsOnly ? 'https' : '';
  const common = [options.permissions, options.start, options.end];
  const rest = [options.addresses, protocol, VERSION];
  let text;
  if (resource.service === 'account') {
    add('ss', options.services);
    add('srt', options.resourceTypes);
    text = [account, options.permissions, options.services, options.resourceTypes, options.start, options.end, ...rest, '', ''].join('\n');
  } else if (resource.service === 'blob') {
    const kind = resource.blob === undefined ? 'c' : resource.snapshot ? 'bs' : resource.version ? 'bv' : 'b';
    const name = `/blob/${account}/${resource.container}${resource.blob === undefined ? '' : `/${resource.blob}`}`;
    add('sr', kind);
    text = [...common, name, options.policy, ...rest, kind, resource.snapshot || resource.version || '', '', '', '', '', '', ''].join('\n');
  } else if (resource.service === 'queue') {
    text = [...common, `/queue/${account}/${resource.queue}`, options.policy, ...rest].join('\n');
  } else {
    add('tn', resource.table);
    for (const [name, value] of [['spk', options.startPartition], ['srk', options.startRow], ['epk', options.endPartition], ['erk', options.endRow]]) add(name ?? '', value ?? '');
    text = [...common, `/table/${account}/${resource.table.toLowerCase()}`, options.policy, ...rest, options.startPartition, options.startRow, options.endPartition, options.endRow].join('\n');
  }
  add('si', options.policy);
  add('sp', options.permissions);
  add('st', options.start);
  add('se', options.end);
  add('sip', options.addresses);
  add('spr', protocol);
  parameters.push(['sig', await key.sign(text)]);
  return parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

/** @type {Record<string, string>} */
const MEANINGS = {
  sv: 'Version of the service', ss: 'Services', srt: 'Kinds of resources', sp: 'Permissions', st: 'Valid from', se: 'Valid until', sip: 'Client addresses', spr: 'Protocols',
  sr: 'Resource', si: 'Stored policy', tn: 'Table', spk: 'From PartitionKey', srk: 'From RowKey', epk: 'To PartitionKey', erk: 'To RowKey', sig: 'Signature', skoid: 'User (object id)', sktid: 'Tenant',
  skt: 'Delegation key from', ske: 'Delegation key until', sks: 'Delegation key for', skv: 'Delegation key version', ses: 'Encryption scope',
};
/** @type {Record<string, Record<string, string>>} */
const WORDS = {
  ss: { b: 'Blobs', q: 'Queues', t: 'Tables', f: 'Files' },
  srt: { s: 'Service', c: 'Containers, queues and tables', o: 'Blobs, messages and entities' },
  sr: { b: 'One blob', c: 'A container', bs: 'One snapshot', bv: 'One version', d: 'A directory' },
};

/**
 * What a pasted token means.
 * @param {string} pasted a URL or a query
 * @param {number} now
 * @returns {{facts: Array<[string, string]>, problems: string[]}}
 */
export function explainSas(pasted, now) {
  const query = new URLSearchParams(pasted.trim().replace(/^[^?]*\?/, ''));
  /** @type {string[]} */
  const problems = [];
  if (!query.has('sig')) problems.push('There is no signature (sig): this is not a SAS.');
  const end = query.get('se');
  const start = query.get('st');
  if (end && Date.parse(end) < now) problems.push(`It expired at ${end}.`);
  if (start && Date.parse(start) > now) problems.push(`It is not valid before ${start}.`);
  if (!end && !query.has('si')) problems.push('It has neither an end (se) nor a stored policy (si).');
  const letters = query.has('tn') ? 'table' : query.has('srt') ? 'account' : query.has('sr') ? (query.get('sr') === 'c' ? 'container' : 'blob') : 'queue';
  /** @type {Array<[string, string]>} */
  const facts = [];
  for (const [name, value] of query) {
    const label = MEANINGS[name];
    if (!label) continue;
    if (name === 'sp') facts.push([label, [...value].map((letter) => PERMISSIONS[letters].find(([known]) => known === letter)?.[1] ?? letter).join(', ')]);
    else if (name === 'sig') facts.push([label, `${value.slice(0, 6)}… (only the server can check it)`]);
    else if (WORDS[name]) facts.push([label, name === 'sr' ? (WORDS[name][value] ?? value) : [...value].map((letter) => WORDS[name]?.[letter] ?? letter).join(', ')]);
    else facts.push([label, value]);
  }
  return { facts, problems };
}
