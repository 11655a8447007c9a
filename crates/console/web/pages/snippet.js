// Code for the current query, in the languages that people use.

import { h } from '../lib/dom.js';
import { endpointOf } from '../lib/state.js';
import { dialog } from '../ui/dialog.js';
import { codeBlock, tabs } from '../ui/parts.js';

/** @typedef {{account: string, endpoint: string, table: string, filter: string, select: string[], top: string}} Parts */

/** @param {string} text */
const json = (text) => JSON.stringify(text);

/** @type {Record<string, {title: string, code: (parts: Parts) => string}>} */
export const LANGUAGES = {
  python: {
    title: 'Python',
    code: ({ account, endpoint, table, filter, select, top }) => `${top ? `from itertools import islice

` : ''}from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient

credential = AzureNamedKeyCredential(${json(account)}, "ACCOUNT_KEY")
table = TableClient(${json(endpoint)}, ${json(table)}, credential=credential)
entities = table.${filter ? `query_entities(
    ${json(filter)},` : 'list_entities('}${select.length ? `
    select=[${select.map(json).join(', ')}],` : ''}${filter || select.length ? '\n' : ''})
for entity in ${top ? `islice(entities, ${top})` : 'entities'}:
    print(entity)
`,
  },
  javascript: {
    title: 'JavaScript',
    code: ({ account, endpoint, table, filter, select, top }) => `import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";

const credential = new AzureNamedKeyCredential(${json(account)}, "ACCOUNT_KEY");
const table = new TableClient(${json(endpoint)}, ${json(table)}, credential, { allowInsecureConnection: true });
const queryOptions = { ${[filter ? `filter: ${json(filter)}` : '', select.length ? `select: [${select.map(json).join(', ')}]` : ''].filter(Boolean).join(', ')} };
${top ? `let left = ${top};
` : ''}for await (const entity of table.listEntities({ queryOptions })) {
  console.log(entity);
${top ? `  left -= 1;
  if (left === 0) break;
` : ''}}
`,
  },
  csharp: {
    title: 'C#',
    code: ({ account, endpoint, table, filter, select, top }) => `using Azure.Data.Tables;

var credential = new TableSharedKeyCredential(${json(account)}, "ACCOUNT_KEY");
var table = new TableClient(new Uri(${json(endpoint)}), ${json(table)}, credential);
${top ? `var left = ${top};
` : ''}await foreach (var entity in table.QueryAsync<TableEntity>(
    filter: ${filter ? json(filter) : 'null'}${select.length ? `,
    select: new[] { ${select.map(json).join(', ')} }` : ''}))
{
    Console.WriteLine(entity);
${top ? `    left -= 1;
    if (left == 0) break;
` : ''}}
`,
  },
  rust: {
    title: 'Rust',
    code: ({ account, endpoint, table, filter, select, top }) => `use lazuli_client::{Dynamic, Filter, TableService};

let service = TableService::from_connection_string(
    ${json(`AccountName=${account};AccountKey=ACCOUNT_KEY;TableEndpoint=${endpoint}`)},
)?;
let query = service.table(${json(table)})?.query::<Dynamic>()${filter ? `
    .filter(Filter::parse(${json(filter)})?)` : ''}${select.length ? `
    .select([${select.map(json).join(', ')}])` : ''}${top ? `
    .take(${top})` : ''};
for entity in query.collect().await? {
    println!("{entity:?}");
}
`,
  },
  curl: {
    title: 'curl',
    code: ({ endpoint, table, filter, select, top }) => `# SAS is a token for the table: “Share (SAS)…” makes one.
curl -G "${endpoint}/${table}()?$SAS" \\
  -H "Accept: application/json;odata=nometadata"${filter ? ` \\
  --data-urlencode ${shell(`$filter=${filter}`)}` : ''}${select.length ? ` \\
  --data-urlencode ${shell(`$select=${select.join(',')}`)}` : ''}${top ? ` \\
  --data-urlencode '$top=${top}'` : ''}
`,
  },
};

/** @param {string} text */
export function shell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * @param {import('../lib/client.js').Account} account
 * @param {string} table
 * @param {{find: string, filter: string, select: string, top: string}} query
 */
export function showQuerySnippet(account, table, query) {
  const endpoint = endpointOf('table', account.name) ?? '';
  const parts = { account: account.name, endpoint, table, filter: query.filter, select: query.select.split(',').filter(Boolean), top: query.top };
  return dialog('Code for this query', () => ({
    wide: true,
    body: [
      h('p', { class: 'faint' }, 'The key is not part of the code: keep it in a setting of your application.'),
      query.find ? h('p', { class: 'note' }, `The service cannot search inside values, so this page searches the results of the query for “${query.find}”. The code does not include that search.`) : null,
      tabs('Language', Object.entries(LANGUAGES).map(([key, language]) => ({ key, title: language.title, build: () => codeBlock(language.code(parts), language.title) }))).element,
    ],
  }));
}
