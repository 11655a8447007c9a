// Queues: peek, put, dequeue, update, delete, clear, and moving messages out of a poison queue.

import { ACCOUNT, equal, hold, ok, send, test, toasted, until } from './support.js';

const put = (server, queue, text) => send(server, 'queue', 'POST', `/${queue}/messages`, {
  headers: { 'content-type': 'application/xml' }, body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`,
});

test('queues: create, put, peek with decoding, clear', { isMain: true }, async ({ page, open }) => {
  await open(`${ACCOUNT}/queues`);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByLabel('Name').fill('work');
  await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'work', exact: true }).click();
  await page.getByRole('button', { name: 'Put message' }).click();
  await page.locator('dialog').getByLabel('Message').fill('{"order":1,"note":"<b>"}');
  await page.getByLabel('Encode as Base64').check();
  await page.locator('dialog').getByRole('button', { name: 'Put' }).click();
  await page.locator('.grid-row').getByText('"order": 1').click();
  await page.locator('dialog').getByText('Base64, JSON').waitFor();
  ok((await page.locator('dialog pre').first().innerText()).includes('"note": "<b>"'), 'the message is decoded');
  await page.keyboard.press('Escape');
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Clear' }).click();
  await page.locator('dialog').getByText('about 1 message').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Clear' }).click();
  await page.getByText('Queue cleared').waitFor();
  await page.getByText('No visible messages').waitFor();
});

test('queues: dequeue, update and delete a message', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/held');
  await put(server, 'held', 'first');
  await open(`${ACCOUNT}/queues/held`);
  await page.getByRole('button', { name: 'Dequeue', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Dequeue', exact: true }).click();
  await page.getByText('Holding 1 message').waitFor();
  await page.locator('.grid-row .opens').click();
  await page.locator('dialog').getByLabel('Message').fill('changed');
  await page.locator('dialog').getByRole('button', { name: 'Update' }).click();
  await page.locator('.grid-row').getByText('changed').click();
  await page.locator('dialog').getByRole('button', { name: 'Delete message' }).click();
  await page.locator('dialog').getByText('This deletes the message').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Message deleted').waitFor();
  const state = await send(server, 'queue', 'GET', '/held', { query: { comp: 'metadata' } });
  equal(state.headers.get('x-ms-approximate-messages-count'), '0');
});

test('queues: a lost message is moved from the poison queue back to its queue', { isMain: true }, async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/orders-poison');
  for (let index = 0; index < 40; index += 1) await put(server, 'orders-poison', `order ${index}`);
  await open(`${ACCOUNT}/queues/orders-poison`);
  await page.getByText('40 messages').waitFor();
  const depth = async (queue) => (await send(server, 'queue', 'GET', `/${queue}`, { query: { comp: 'metadata' } })).headers.get('x-ms-approximate-messages-count');
  await page.getByRole('button', { name: 'Move to orders' }).click();
  await page.getByLabel('At most').fill('3');
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await toasted(page, 'Moved 3 messages to orders');
  equal([await depth('orders'), await depth('orders-poison')], ['3', '37'], 'some');
  await page.getByRole('button', { name: 'Move to orders' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText('Moved 37 messages to orders').waitFor();
  equal([await depth('orders'), await depth('orders-poison')], ['40', '0']);
});

test('queues: metadata and live depth', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/live');
  await open(`${ACCOUNT}/queues/live`);
  await page.getByText('0 messages').waitFor();
  await put(server, 'live', 'x');
  await page.getByText('1 message', { exact: true }).waitFor();
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Metadata' }).click();
  await page.getByRole('button', { name: 'Add' }).click();
  await page.locator('dialog').getByLabel('Name').fill('team');
  await page.locator('dialog').getByLabel('Value').fill('blue');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  const state = await send(server, 'queue', 'GET', '/live', { query: { comp: 'metadata' } });
  equal(state.headers.get('x-ms-meta-team'), 'blue');
});

test('queues: rates of messages put, dequeued and deleted', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/rated');
  await open(`${ACCOUNT}/queues/rated`);
  await page.locator('.rates').getByText('put 0/s · dequeued 0/s · deleted 0/s').waitFor();
  for (let index = 0; index < 3; index += 1) await put(server, 'rated', `m ${index}`);
  await page.locator('.rates').getByText(/put [0-9.]*[1-9]\/s · dequeued 0\/s · deleted 0\/s/).waitFor();
  const taken = await (await send(server, 'queue', 'GET', '/rated/messages', { query: { numofmessages: '2' } })).text();
  await page.locator('.rates').getByText(/dequeued [0-9.]*[1-9]\/s · deleted 0\/s/).waitFor();
  const [id, receipt] = [/<MessageId>(.*?)</, /<PopReceipt>(.*?)</].map((part) => part.exec(taken)[1]);
  await send(server, 'queue', 'DELETE', `/rated/messages/${id}`, { query: { popreceipt: receipt } });
  await page.locator('.rates').getByText(/deleted [0-9.]*[1-9]\/s/).waitFor();
  await page.getByText('2 messages', { exact: true }).waitFor();
});

test('queues: without a key of the account, the change of the depth is shown instead of rates', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/scoped');
  await open(`${ACCOUNT}/queues/scoped`);
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Share (SAS)' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.locator('dialog').getByLabel('Link').first().inputValue();
  let healthCalls = 0;
  page.on('request', (sent) => { if (sent.url().includes('/api/health/')) healthCalls += 1; });
  await open('elsewhere/queues');
  await page.getByLabel('Connection string or SAS URL').fill(link);
  await page.getByRole('button', { name: 'Connect' }).first().click();
  await page.getByRole('heading', { name: 'scoped' }).waitFor();
  await page.locator('.rates').getByText('steady').waitFor();
  equal(healthCalls, 0, 'numbers of the server are for holders of a key');
});

test('queues: a move shows its progress and can be cancelled; each message is in one queue', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/slow-poison');
  for (let index = 0; index < 70; index += 1) await put(server, 'slow-poison', `m ${index}`);
  await open(`${ACCOUNT}/queues/slow-poison`);
  const moves = await hold(page, /comp=move/, { pass: 1 });
  await page.getByRole('button', { name: 'Move to slow' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText('32 of 70').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  moves.release();
  await page.getByText('Move messages to slow: cancelled').waitFor();
  const depth = async (queue) => Number((await send(server, 'queue', 'GET', `/${queue}`, { query: { comp: 'metadata' } })).headers.get('x-ms-approximate-messages-count'));
  equal([await depth('slow'), await depth('slow-poison')], [64, 6]);
});

test('queues: selected messages are moved and deleted, the others stay visible', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/picked-poison');
  for (const name of ['anna', 'bram', 'cor', 'dirk']) await put(server, 'picked-poison', name);
  const texts = async (queue) => [...(await (await send(server, 'queue', 'GET', `/${queue}/messages`, { query: { peekonly: 'true', numofmessages: '32' } })).text()).matchAll(/<MessageText>(.*?)</g)].map((found) => found[1]).sort();
  await open(`${ACCOUNT}/queues/picked-poison`);
  await page.locator('.grid-row', { hasText: 'bram' }).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Move to picked' }).click();
  await page.locator('dialog').getByText('1 selected message').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await toasted(page, 'Moved 1 message to picked');
  equal([await texts('picked'), await texts('picked-poison')], [['bram'], ['anna', 'cor', 'dirk']]);
  for (const name of ['anna', 'dirk']) await page.locator('.grid-row', { hasText: name }).getByRole('checkbox').check();
  // One of them is taken by another client in the meantime.
  let isTaken = false;
  await page.route(/messages\?numofmessages=/, async (route) => {
    if (!isTaken) await send(server, 'queue', 'GET', '/picked-poison/messages', { query: { numofmessages: '1' } });
    isTaken = true;
    await route.fallback();
  });
  const first = (await (await send(server, 'queue', 'GET', '/picked-poison/messages', { query: { peekonly: 'true', numofmessages: '1' } })).text()).match(/<MessageText>(.*?)</)[1];
  const expected = first === 'cor' ? 2 : 1;
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').getByText('2 messages of picked-poison').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete 2 messages' }).click();
  await page.getByText(expected === 2 ? 'Deleted 2 messages' : 'Deleted 1 message; 1 not found').waitFor();
  equal(await texts('picked-poison'), first === 'cor' ? [] : ['cor']);
});

test('queues: a message is found in all queues, and in a queue by a part of it', { isMain: true }, async ({ page, server, open }) => {
  for (const queue of ['search-a', 'search-b']) await send(server, 'queue', 'PUT', `/${queue}`);
  await put(server, 'search-a', 'nothing of interest');
  await put(server, 'search-b', 'other');
  await put(server, 'search-b', Buffer.from('{"customer":"Zacharias"}').toString('base64'));
  await open(`${ACCOUNT}/queues`);
  await page.getByRole('button', { name: 'Find a message' }).click();
  await page.locator('dialog').getByLabel('Text').fill('zachar');
  await page.keyboard.press('Enter');
  await page.locator('dialog').getByText('Zacharias').waitFor();
  await page.locator('dialog').getByRole('link', { name: 'search-b' }).click();
  await page.getByRole('heading', { name: 'search-b' }).waitFor();
  await page.locator('.grid-row').getByText('Zacharias').waitFor();
  await until('one row', async () => (await page.locator('.grid-row').count()) === 1);
  ok(page.url().includes('find=zachar'), 'the search is part of the link');
  await page.getByLabel('Find in these messages').fill('');
  await page.locator('.grid-row').getByText('other').waitFor();
});

test('queues: delete queues with their messages', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/unwanted');
  await put(server, 'unwanted', 'x');
  await open(`${ACCOUNT}/queues`);
  await page.getByLabel('Search queues').fill('unwant');
  // The search narrows the grid a moment after the text is entered: until then, other rows are there, too.
  const row = page.locator('.grid-row', { hasText: 'unwanted' });
  await row.getByText('1', { exact: true }).waitFor();
  await row.locator('input').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').getByText('1 queue with about 1 message').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete 1 queue' }).click();
  await page.getByText('Deleted 1 queue').waitFor();
});
