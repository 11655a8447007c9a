// The dialog that makes a SAS, and the one that explains a pasted token.

import { button, checkbox, field, fill, h, select } from '../lib/dom.js';
import { explainSas, makeSas, permissionsOf } from '../lib/sas.js';
import { getPolicies } from '../lib/properties.js';
import { blobPath } from '../lib/client.js';
import { time } from '../lib/format.js';
import { endpointOf } from '../lib/state.js';
import { dialog } from '../ui/dialog.js';
import { codeBlock, copyable, facts, tabs } from '../ui/parts.js';
import { errorBox } from '../ui/feedback.js';
import { shell } from './snippet.js';

/** @typedef {import('../lib/sas.js').Resource} Resource */
/** @typedef {import('../lib/client.js').Account} Account */

const HOURS = /** @type {Array<[string, string]>} */ ([['1', '1 hour'], ['8', '8 hours'], ['24', '1 day'], ['168', '7 days'], ['720', '30 days'], ['', 'until a time of your choice']]);

/** @param {Date} date */
function iso(date) {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** @param {Resource} resource */
function describe(resource) {
  if (resource.service === 'account') return 'the account';
  if (resource.service === 'queue') return `the queue ${resource.queue}`;
  if (resource.service === 'table') return `the table ${resource.table}`;
  if (resource.blob === undefined) return `the container ${resource.container}`;
  return `${resource.snapshot ? 'a snapshot of ' : resource.version ? 'a version of ' : 'the blob '}${resource.blob}`;
}

/**
 * @param {string} account
 * @param {Resource} resource
 */
function urlOf(account, resource) {
  if (resource.service === 'account') return `${endpointOf('blob', account) ?? ''}/`;
  const base = endpointOf(resource.service, account) ?? '';
  if (resource.service === 'queue') return `${base}/${resource.queue}`;
  if (resource.service === 'table') return `${base}/${resource.table}`;
  return resource.blob === undefined ? `${base}/${resource.container}` : `${base}${blobPath(resource.container, resource.blob)}`;
}

/**
 * @param {Account} account
 * @param {Resource} resource
 */
export async function sasDialog(account, resource) {
  const key = account.key;
  if (!key) {
    await dialog('Share (SAS)', () => ({ body: [h('p', {}, 'Only the holder of an account key can make a SAS; this page is connected with a SAS itself.')] }));
    return;
  }
  const policies = await policyNames(account, resource);
  const letters = permissionsOf(resource).map(([letter, words], index) => ({ letter, ...checkbox(words, index === 0) }));
  const hours = select(HOURS, '1');
  const end = h('input', { type: 'datetime-local', disabled: true });
  const start = h('input', { type: 'datetime-local' });
  const ends = field('Ends at', end);
  ends.hidden = true;
  hours.addEventListener('change', () => { end.disabled = hours.value !== ''; ends.hidden = end.disabled; });
  const policy = select([['', 'none'], ...policies.map((id) => /** @type {[string, string]} */ ([id, id]))], '');
  const addresses = h('input', { type: 'text', placeholder: 'any, or 10.0.0.1 or 10.0.0.1-10.0.0.9' });
  const httpsOnly = checkbox('https only', false);
  const services = [['b', 'Blobs'], ['q', 'Queues'], ['t', 'Tables']].map(([letter = '', words = '']) => ({ letter, ...checkbox(words, true) }));
  const types = [['s', 'Service'], ['c', 'Containers, queues, tables'], ['o', 'Blobs, messages, entities']].map(([letter = '', words = '']) => ({ letter, ...checkbox(words, true) }));
  const range = ['From PartitionKey', 'From RowKey', 'To PartitionKey', 'To RowKey'].map((label) => ({ label, input: h('input', { type: 'text' }) }));
  const result = h('div', { class: 'result' });
  const chosen = (/** @type {Array<{letter: string, input: HTMLInputElement}>} */ boxes) => boxes.filter((box) => box.input.checked).map((box) => box.letter).join('');
  const make = async () => {
    const until = hours.value ? new Date(Date.now() + Number(hours.value) * 3_600_000) : new Date(end.value);
    if (Number.isNaN(until.getTime())) throw new Error('Choose when it ends.');
    const hasPolicy = policy.value !== '';
    const from = start.value ? iso(new Date(start.value)) : '';
    const [startPartition = '', startRow = '', endPartition = '', endRow = ''] = range.map((entry) => entry.input.value);
    const options = {
      permissions: hasPolicy ? '' : chosen(letters), start: hasPolicy ? '' : from, end: hasPolicy ? '' : iso(until), policy: policy.value, addresses: addresses.value.trim(), httpsOnly: httpsOnly.input.checked,
      services: chosen(services), resourceTypes: chosen(types), startPartition, startRow, endPartition, endRow,
    };
    if (!hasPolicy && !options.permissions) throw new Error('Choose at least one permission.');
    fill(result, resultOf(account.name, resource, await makeSas(account.name, key, resource, options), hasPolicy ? undefined : until));
  };
  await dialog(`Share ${describe(resource)}`, () => ({
    wide: true,
    body: [
      h('fieldset', {}, h('legend', {}, 'Anyone with the link may'), h('div', { class: 'checks' }, letters.map((box) => box.element))),
      resource.service === 'account' ? [h('fieldset', {}, h('legend', {}, 'In'), h('div', { class: 'checks' }, [...services, ...types].map((box) => box.element)))] : null,
      h('div', { class: 'row wrap align-top' }, field('Valid for', hours), ends, resource.service === 'account' ? null : field('Stored policy', policy, 'A policy sets permissions and times; remove it to revoke the SAS')),
      h('details', {}, h('summary', {}, 'More limits'), h('div', { class: 'row wrap align-top' }, field('Not before', start), field('Client addresses', addresses)), httpsOnly.element,
        resource.service === 'table' ? h('div', { class: 'row wrap' }, range.map((entry) => field(entry.label, entry.input))) : null),
      result,
    ],
    actions: [button({ icon: 'link', label: 'Create link', kind: 'primary', onclick: () => make().catch((error) => fill(result, errorBox(error))) })],
  }));
}

/**
 * @param {Account} account
 * @param {Resource} resource
 */
async function policyNames(account, resource) {
  if (resource.service === 'account') return [];
  const name = resource.service === 'blob' ? resource.container : resource.service === 'queue' ? resource.queue : resource.table;
  try {
    return (await getPolicies(account, resource.service, name)).policies.map((policy) => policy.id);
  } catch {
    return [];
  }
}

/**
 * @param {string} account
 * @param {Resource} resource
 * @param {string} sas
 * @param {Date | undefined} until when it ends, unless a stored policy decides that
 */
function resultOf(account, resource, sas, until) {
  const revision = resource.service === 'blob' ? [['snapshot', resource.snapshot], ['versionid', resource.version]] : [];
  const named = revision.filter((entry) => entry[1]).map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}&`).join('');
  const url = `${urlOf(account, resource)}?${named}${sas}`;
  return [
    copyable('Link', url), h('p', { class: 'hint' }, until ? `It works until ${time(until)}.` : 'It works as long as the stored policy allows.'), reachOf(url),
    tabs('Use it', [
      { key: 'curl', title: 'curl', build: () => codeBlock(curlOf(url, resource), 'curl') },
      { key: 'python', title: 'Python', build: () => codeBlock(pythonOf(url, resource), 'Python') },
      { key: 'javascript', title: 'JavaScript', build: () => codeBlock(javascriptOf(url, resource), 'JavaScript') },
      { key: 'means', title: 'What it means', build: () => explanation(sas) },
    ]).element,
  ];
}

/**
 * Says so if a link leads nowhere on any other machine.
 * @param {string} url
 */
function reachOf(url) {
  const { hostname } = new URL(url);
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  return isLoopback ? h('div', { class: 'note' }, `The link names ${hostname}: it works on this machine only. For others, start the server with --host and --console-host, and open the console by the name or address of this machine.`) : null;
}

/**
 * @param {string} url
 * @param {Resource} resource
 */
function curlOf(url, resource) {
  if (resource.service === 'blob' && resource.blob !== undefined) return `curl -OJ ${shell(url)}`;
  if (resource.service === 'blob') return `curl ${shell(`${url}&restype=container&comp=list`)}`;
  if (resource.service === 'queue') return `curl ${shell(url.replace('?', '/messages?peekonly=true&'))}`;
  if (resource.service === 'table') return `curl -H 'Accept: application/json;odata=nometadata' ${shell(url.replace('?', '()?'))}`;
  return `curl ${shell(`${url}&comp=list`)}`;
}

/**
 * @param {string} url
 * @param {Resource} resource
 */
function pythonOf(url, resource) {
  const value = JSON.stringify(url);
  if (resource.service === 'blob' && resource.blob !== undefined) return `from azure.storage.blob import BlobClient\n\nblob = BlobClient.from_blob_url(${value})\nprint(blob.download_blob().readall())\n`;
  if (resource.service === 'blob') return `from azure.storage.blob import ContainerClient\n\ncontainer = ContainerClient.from_container_url(${value})\nfor blob in container.list_blobs():\n    print(blob.name)\n`;
  if (resource.service === 'queue') return `from azure.storage.queue import QueueClient\n\nqueue = QueueClient.from_queue_url(${value})\nfor message in queue.peek_messages(32):\n    print(message.content)\n`;
  if (resource.service === 'table') return `from azure.data.tables import TableClient\n\ntable = TableClient.from_table_url(${value})\nfor entity in table.list_entities():\n    print(entity)\n`;
  return `from azure.storage.blob import BlobServiceClient\n\nservice = BlobServiceClient(${value})\nfor container in service.list_containers():\n    print(container.name)\n`;
}

/**
 * @param {string} url
 * @param {Resource} resource
 */
function javascriptOf(url, resource) {
  const value = JSON.stringify(url);
  const blob = (/** @type {string} */ name) => `import { ${name} } from "@azure/storage-blob";\n\n`;
  if (resource.service === 'blob' && resource.blob !== undefined) return `${blob('BlobClient')}const blob = new BlobClient(${value});\nconst content = await blob.downloadToBuffer();\nconsole.log(content.toString());\n`;
  if (resource.service === 'blob') return `${blob('ContainerClient')}const container = new ContainerClient(${value});\nfor await (const blob of container.listBlobsFlat()) console.log(blob.name);\n`;
  if (resource.service === 'queue') return `import { QueueClient } from "@azure/storage-queue";\n\nconst queue = new QueueClient(${value});\nconst { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });\nfor (const message of peekedMessageItems) console.log(message.messageText);\n`;
  if (resource.service === 'table') {
    const service = JSON.stringify(url.replace(`/${resource.table}?`, '?'));
    return `import { TableClient } from "@azure/data-tables";\n\nconst table = new TableClient(${service}, ${JSON.stringify(resource.table)}, { allowInsecureConnection: true });\nfor await (const entity of table.listEntities()) console.log(entity);\n`;
  }
  return `${blob('BlobServiceClient')}const service = new BlobServiceClient(${value});\nfor await (const container of service.listContainers()) console.log(container.name);\n`;
}

/** @param {string} sas */
export function explanation(sas) {
  const { facts: known, problems } = explainSas(sas, Date.now());
  return h('div', {}, problems.map((problem) => h('div', { class: 'note' }, problem)), facts(known));
}
