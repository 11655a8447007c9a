// Connecting accounts, the account page, policies, SAS of every resource, health, and the keyboard.

import { ACCOUNT, KEY, equal, insertMany, makeTable, ok, send, tabTo, test, toasted, until } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

test('account: connect by key, by a wrong key, and by a SAS', async ({ page, server, open }) => {
  await open('someone/tables');
  await page.getByText('This link belongs to the account someone').waitFor();
  await page.getByLabel('Account name').fill(ACCOUNT);
  await page.getByLabel('Account key').fill(Buffer.from('wrong').toString('base64'));
  await page.getByRole('button', { name: 'Connect' }).last().click();
  await page.getByRole('alert').getByText('AuthenticationFailed').waitFor();
  await page.getByRole('alert').getByText('Request id').waitFor();
  await page.getByLabel('Account key').fill(KEY);
  await page.getByRole('button', { name: 'Connect' }).last().click();
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
  await send(server, 'queue', 'PUT', '/guests');
  await open(`${ACCOUNT}/queues/guests`);
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Share (SAS)' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByLabel('Link').first().inputValue();
  await page.goto('about:blank');
  await open('+');
  await page.getByLabel('Connection string or SAS URL').fill(link);
  await page.getByRole('button', { name: 'Connect' }).first().click();
  // The link names its resource.
  await page.getByRole('heading', { name: 'guests' }).waitFor();
  ok(page.url().includes(`#/${ACCOUNT}/queues/guests`), page.url());
});

test('account: secrets are neither stored nor part of links', async ({ page, open }) => {
  await open(`${ACCOUNT}/account`);
  await page.getByRole('heading', { name: ACCOUNT }).waitFor();
  const stored = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, (await indexedDB.databases()).length]));
  ok(!stored.includes('Eby8') && stored.endsWith(',0]'), stored);
});

test('account: endpoints, CORS rules, soft delete, a pasted SAS', async ({ page, server, open }) => {
  await open(`${ACCOUNT}/account`);
  equal(await page.getByLabel('Tables', { exact: true }).inputValue(), server.endpoints.table);
  ok((await page.getByLabel('Connection string').first().inputValue()).includes(`TableEndpoint=${server.endpoints.table}`), 'the connection string');
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Tables' }) });
  await card.getByRole('button', { name: 'CORS rules' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Add rule' }).click();
  await page.locator('dialog').getByLabel('Origins').fill('https://app.example');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await card.getByText('from https://app.example').waitFor();
  const properties = await (await send(server, 'table', 'GET', '/', { query: { restype: 'service', comp: 'properties' } })).text();
  ok(properties.includes('https://app.example'), properties);
  await page.getByLabel('SAS URL or token').fill('https://x/?sv=2021-12-02&ss=bt&srt=o&sp=rl&se=2001-01-01T00:00:00Z&sig=abc%3D');
  await page.getByText('It expired at').waitFor();
  await page.getByText('Blobs, Tables').waitFor();
});

test('account: request logs and metrics of a service', async ({ page, server, open }) => {
  await open(`${ACCOUNT}/account`);
  const card = page.locator('section.card', { has: page.getByRole('heading', { name: 'Queues' }) });
  await card.getByRole('button', { name: 'Logs and metrics' }).click();
  await page.getByLabel('Log write requests').check();
  await page.getByLabel('Days kept').fill('3');
  await page.getByLabel('Metrics per hour').check();
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await card.getByText('write, kept for 3 days').waitFor();
  const properties = await (await send(server, 'queue', 'GET', '/', { query: { restype: 'service', comp: 'properties' } })).text();
  ok(/<Write>true<\/Write>.*<Days>3<\/Days>.*<HourMetrics>.*<Enabled>true<\/Enabled>/s.test(properties), properties);
});

test('account: all stored policies are found in one place', async ({ page, server, open }) => {
  const body = '<SignedIdentifiers><SignedIdentifier><Id>auditors</Id><AccessPolicy><Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
  await send(server, 'queue', 'PUT', '/with-policy');
  await send(server, 'queue', 'PUT', '/with-policy', { query: { comp: 'acl' }, headers: { 'content-type': 'application/xml' }, body });
  await open(`${ACCOUNT}/account`);
  await page.getByRole('button', { name: 'Find all policies' }).click();
  const row = page.getByRole('row', { name: 'auditors' });
  await row.getByText('queue with-policy').waitFor();
  await row.getByRole('button', { name: 'Edit policies of with-policy' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Remove policy' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await row.waitFor({ state: 'detached' });
});

test('account: a SAS of a table with key ranges and a start', async ({ page, server, open }) => {
  await makeTable(server, 'Ranges', ['a', 'b', 'c'].map((key) => ({ PartitionKey: key, RowKey: '1' })));
  await open(`${ACCOUNT}/tables/Ranges`);
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Share (SAS)' }).click();
  await page.getByText('More limits').click();
  await page.getByLabel('From PartitionKey').fill('b');
  await page.getByLabel('To PartitionKey').fill('b');
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = async () => (await page.getByLabel('Link').first().inputValue()).replace('?', '()?');
  const read = async () => fetch(await link(), { headers: { accept: 'application/json;odata=nometadata', 'x-ms-version': '2021-12-02' } });
  equal((await (await read()).json()).value.map((entity) => entity.PartitionKey), ['b']);
  for (const [language, mark] of [['curl', 'curl -H'], ['Python', 'TableClient.from_table_url'], ['JavaScript', 'new TableClient(']]) {
    await page.getByRole('tab', { name: language }).click();
    await page.locator('dialog pre').getByText(mark).waitFor();
  }
  await page.getByLabel('Not before').fill('2090-01-01T00:00');
  await page.getByLabel('Valid for').selectOption({ label: 'until a time of your choice' });
  await page.getByLabel('Ends at').fill('2090-02-01T00:00');
  await page.getByRole('button', { name: 'Create link' }).click();
  await until('the link has a start', async () => (await link()).includes('st=2089-12-31') || (await link()).includes('st=2090-01-01'));
  equal((await read()).status, 403);
  await page.getByRole('tab', { name: 'What it means' }).click();
  await page.getByText('It is not valid before').waitFor();
});

test('account: a stored policy is made, used by a SAS, and revoked', async ({ page, server, open }) => {
  await makeTable(server, 'Policies', [{ PartitionKey: 'p', RowKey: 'r' }]);
  await open(`${ACCOUNT}/tables/Policies`);
  const more = (item) => page.locator('.toolbar').getByRole('button', { name: 'More' }).click().then(() => page.getByRole('menuitem', { name: item }).click());
  await more('Stored access policies');
  await page.locator('dialog').getByRole('button', { name: 'Add policy' }).click();
  await page.locator('dialog').getByLabel('Name').fill('readers');
  await page.locator('dialog').getByLabel('End').fill('2099-01-01T00:00:00Z');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await toasted(page, 'Policies saved');
  await more('Share (SAS)');
  await page.getByLabel('Stored policy').selectOption('readers');
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = (await page.getByLabel('Link').first().inputValue()).replace('?', '()?');
  const status = async () => (await fetch(link, { headers: { accept: 'application/json', 'x-ms-version': '2021-12-02' } })).status;
  equal(await status(), 200);
  await page.keyboard.press('Escape');
  await more('Stored access policies');
  await page.locator('dialog').getByRole('button', { name: 'Remove policy' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await toasted(page, 'Policies saved');
  equal(await status(), 403);
});

test('account: a link for some addresses, for https, and with a policy of a container', async ({ page, server, open }) => {
  await makeContainer(server, 'limited');
  await putBlob(server, 'limited', 'a.txt', 'for some');
  const body = '<SignedIdentifiers><SignedIdentifier><Id>visitors</Id><AccessPolicy><Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
  await send(server, 'blob', 'PUT', '/limited', { query: { restype: 'container', comp: 'acl' }, headers: { 'content-type': 'application/xml' }, body });
  await open(`${ACCOUNT}/blobs/limited/a.txt`);
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByText('More limits').click();
  const status = async () => {
    await page.getByRole('button', { name: 'Create link' }).click();
    return (await fetch(await page.getByLabel('Link').first().inputValue())).status;
  };
  await page.getByLabel('Client addresses').fill('127.0.0.1-127.0.0.9');
  equal(await status(), 200, 'from here');
  await page.getByLabel('Client addresses').fill('192.0.2.7');
  await until('a link for others', async () => (await status()) === 403);
  await page.getByRole('tab', { name: 'What it means' }).click();
  await page.locator('dialog').getByText('192.0.2.7').last().waitFor();
  await page.getByLabel('Client addresses').fill('');
  await page.getByLabel('https only').check();
  await until('a link for https', async () => (await status()) === 403 && (await page.getByLabel('Link').first().inputValue()).includes('spr=https'));
  await page.getByLabel('https only').uncheck();
  await page.getByLabel('Stored policy').selectOption('visitors');
  await until('a link with a policy', async () => (await status()) === 200 && (await page.getByLabel('Link').first().inputValue()).includes('si=visitors'));
  await page.getByText('as long as the stored policy allows').waitFor();
});

test('account: SAS of an account and of a container', async ({ page, server, open }) => {
  await send(server, 'blob', 'PUT', '/sas-box', { query: { restype: 'container' } });
  await open(`${ACCOUNT}/account`);
  await page.getByRole('button', { name: 'Share the account' }).click();
  await page.getByLabel('List', { exact: true }).check();
  await page.getByRole('button', { name: 'Create link' }).click();
  const whole = await page.getByLabel('Link').first().inputValue();
  ok((await (await fetch(`${whole}&comp=list`)).text()).includes('sas-box'), 'the account SAS lists containers');
  await open(`${ACCOUNT}/blobs/sas-box`);
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Share (SAS)' }).click();
  await page.getByLabel('List blobs').check();
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByLabel('Link').first().inputValue();
  equal((await fetch(`${link}&restype=container&comp=list`)).status, 200);
});

test('health: operations, the store, hot partitions and slow queries with their plans', async ({ page, server, open }) => {
  await makeTable(server, 'Slow');
  await insertMany(server, 'Slow', Array.from({ length: 1000 }, (_, index) => ({ PartitionKey: 'hot', RowKey: String(index), N: 1 })));
  await send(server, 'table', 'GET', '/Slow()', { query: { $filter: 'N eq 2' }, headers: { accept: 'application/json' } });
  await open(`${ACCOUNT}/health`);
  await page.getByRole('cell', { name: 'QueryEntities' }).waitFor();
  await page.getByText('Takes writes').waitFor();
  const hot = page.locator('.heat-row', { hasText: 'Slow / hot' });
  // Other tests may have used other partitions more: a colour of any level will do.
  await until('the partition is hot', async () => {
    await send(server, 'table', 'GET', '/Slow()', { query: { $filter: "PartitionKey eq 'hot'" }, headers: { accept: 'application/json' } });
    return (await hot.locator('i:not(.heat-0)').count()) > 0;
  });
  for (const heading of ['Server', 'Size', 'Caches', 'Commit groups']) await page.getByRole('heading', { name: heading, exact: true }).waitFor();
  await page.getByText('Blob content, dead').waitFor();
  const query = page.getByRole('link', { name: '$filter=N eq 2' });
  await query.waitFor();
  await until('rates appear', async () => (await page.locator('.tile .big').first().innerText()) !== '–');
  await query.click();
  await page.getByText('1,000 rows read').waitFor();
});

test('keyboard: palette, search, grid and dialog without a mouse', async ({ page, server, open }) => {
  await makeTable(server, 'Keys', [{ PartitionKey: 'a', RowKey: '1', Name: 'first' }, { PartitionKey: 'a', RowKey: '2', Name: 'second' }]);
  await open(`${ACCOUNT}/tables`);
  await page.keyboard.press('Control+k');
  await page.getByLabel('Command', { exact: true }).waitFor();
  await page.keyboard.type('Keys');
  await page.getByRole('option', { name: 'Keys tables' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('2 entities').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('second');
  await page.keyboard.press('Enter');
  await page.getByText('1 entity').waitFor();
  await page.getByRole('grid').focus();
  await page.keyboard.press('Enter');
  const value = page.locator('dialog').getByLabel('Value');
  await value.waitFor();
  await value.focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('third');
  await tabTo(page, 'Save');
  await page.keyboard.press('Enter');
  await page.getByText('Entity saved').waitFor();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('g');
  await page.keyboard.press('q');
  await page.getByRole('heading', { name: 'Queues' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
});

test('keyboard: columns are sorted without a mouse', async ({ page, server, open }) => {
  await makeTable(server, 'Sorted', [{ PartitionKey: 'a', RowKey: '1', Age: 30 }, { PartitionKey: 'a', RowKey: '2', Age: 20 }]);
  await open(`${ACCOUNT}/tables/Sorted`);
  await page.locator('.grid-row').first().waitFor();
  await tabTo(page, 'PartitionKey');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await until('ascending', async () => (await page.locator('.grid-row').first().innerText()).includes('20'));
  await page.keyboard.press('Enter');
  await until('descending', async () => (await page.locator('.grid-row').first().innerText()).includes('30'));
});

test('keyboard: a message is put, read and cleared without a mouse', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/typed');
  await open(`${ACCOUNT}/queues`);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('typed');
  await page.getByRole('option', { name: 'typed queues' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'typed' }).waitFor();
  await tabTo(page, 'Put message');
  await page.keyboard.press('Enter');
  await page.locator('dialog').getByLabel('Message').waitFor();
  await page.keyboard.type('by hand');
  await tabTo(page, 'Put');
  await page.keyboard.press('Enter');
  await page.locator('.grid-row').getByText('by hand').waitFor();
  await tabTo(page, 'Messages of typed');
  await page.keyboard.press('Enter');
  await page.locator('dialog').getByText('by hand').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Shift+Tab');
  for (let presses = 0; presses < 40 && (await page.evaluate(() => document.activeElement.getAttribute('aria-label'))) !== 'More'; presses += 1) await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Clear' }).waitFor();
  for (let presses = 0; presses < 10 && (await page.evaluate(() => document.activeElement.textContent)) !== 'Clear…'; presses += 1) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('dialog').getByText('about 1 message').waitFor();
  await tabTo(page, 'Clear');
  await page.keyboard.press('Enter');
  await page.getByText('Queue cleared').waitFor();
});

test('keyboard: a blob is opened, shared and deleted without a mouse', async ({ page, server, open }) => {
  await send(server, 'blob', 'PUT', '/typed', { query: { restype: 'container' } });
  for (const name of ['one.txt', 'two.txt']) await send(server, 'blob', 'PUT', `/typed/${name}`, { headers: { 'x-ms-blob-type': 'BlockBlob', 'content-type': 'text/plain' }, body: name });
  await open(`${ACCOUNT}/blobs/typed`);
  await page.getByRole('link', { name: 'two.txt' }).waitFor();
  await tabTo(page, 'Blobs of typed');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'two.txt' }).waitFor();
  await tabTo(page, 'Share');
  await page.keyboard.press('Enter');
  await page.getByLabel('Valid for').waitFor();
  await tabTo(page, 'Create link');
  await page.keyboard.press('Enter');
  equal(await (await fetch(await page.getByLabel('Link').first().inputValue())).text(), 'two.txt');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.goBack();
  await page.getByRole('heading', { name: 'typed' }).waitFor();
  await tabTo(page, 'Blobs of typed');
  await page.keyboard.press('Space');
  await until('a row is selected', async () => (await page.locator('.grid-row.selected').count()) === 1);
  await page.keyboard.press('Shift+Tab');
  for (let presses = 0; presses < 40 && (await page.evaluate(() => document.activeElement.textContent)) !== 'Delete'; presses += 1) await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.locator('dialog').getByText('one.txt').waitFor();
  await tabTo(page, 'Delete 1 blob');
  await page.keyboard.press('Enter');
  await page.getByText('Deleted 1 blob').waitFor();
});
