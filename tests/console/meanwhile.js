// What the page does while something else is going on: pending searches, saves, uploads and refreshes, and errors in between.

import { readFileSync } from 'node:fs';
import { ACCOUNT, equal, hold, insertMany, makeTable, ok, send, tabTo, test, toasted, until } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

const more = async (page, item) => {
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).first().click();
  await page.getByRole('menuitem', { name: item }).click();
};
const textOf = async (server, path) => (await send(server, 'blob', 'GET', path)).text();

/** Chooses files for an upload into the container that is shown. */
async function upload(page, files) {
  await page.getByRole('button', { name: 'Upload' }).click();
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('menuitem', { name: 'Files' }).click()]);
  await chooser.setFiles(files.map(([name, text]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })));
}

test('meanwhile: export and deletion cover what a search found, not the whole table', async ({ page, server, open }) => {
  await makeTable(server, 'Partly', ['apple pie', 'plum', 'pineapple'].map((Name, index) => ({ PartitionKey: 'p', RowKey: String(index), Name })));
  await open(`${ACCOUNT}/tables/Partly?find=apple`);
  await page.getByText('2 entities', { exact: true }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), more(page, 'Export as JSON Lines')]);
  equal(readFileSync(await download.path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line).RowKey), ['0', '2']);
  await more(page, 'Delete all matching entities');
  await page.locator('dialog').getByText('2 entities of Partly that contain “apple”').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete 2 entities' }).click();
  await toasted(page, 'Deleted 2 entities');
  await page.getByRole('button', { name: 'Clear the query' }).click();
  await page.locator('.grid-row').getByText('plum').waitFor();
});

test('meanwhile: a page of entities that is on its way is not read twice', async ({ page, server, open }) => {
  await makeTable(server, 'Twice');
  await insertMany(server, 'Twice', Array.from({ length: 2100 }, (_, index) => ({ PartitionKey: 'p', RowKey: String(index).padStart(5, '0') })));
  await open(`${ACCOUNT}/tables/Twice`);
  const pages = await hold(page, /NextPartitionKey/);
  await page.getByRole('button', { name: 'Load more' }).click();
  await until('the second page is asked for', () => pages.seen === 1);
  await page.getByRole('button', { name: 'Load all' }).click();
  await page.getByText('Load Twice').waitFor();
  pages.release();
  await page.getByText('2,100 entities', { exact: true }).waitFor();
  equal(pages.seen, 2);
});

test('meanwhile: rows of an earlier search cannot be used while the next one runs', async ({ page, server, open }) => {
  await makeContainer(server, 'pending');
  for (const name of ['one.txt', 'two.txt']) await putBlob(server, 'pending', name, name);
  await open(`${ACCOUNT}/blobs/pending`);
  await page.getByRole('link', { name: 'two.txt' }).waitFor();
  const listing = await hold(page, /comp=list/);
  await page.getByLabel('Search this folder and below').fill('one');
  await page.keyboard.press('Enter');
  await until('the search is on its way', () => listing.seen === 1);
  equal(await page.getByRole('grid').getAttribute('aria-busy'), 'true');
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+a');
  // A phone has no room for buttons that cannot be used.
  equal(await page.getByRole('button', { name: 'Delete', includeHidden: true }).isDisabled(), true);
  listing.release();
  await page.getByText('1 item of 2 searched').waitFor();
  equal(await page.getByRole('grid').getAttribute('aria-busy'), 'false');
});

test('meanwhile: selected rows stay selected when the list is read again', async ({ page, server, open }) => {
  await makeContainer(server, 'again');
  for (const name of ['one.txt', 'two.txt']) await putBlob(server, 'again', name, name);
  await open(`${ACCOUNT}/blobs/again`);
  await page.locator('.grid-row', { hasText: 'two.txt' }).getByRole('checkbox').check();
  await putBlob(server, 'again', 'three.txt', '3');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('link', { name: 'three.txt' }).waitFor();
  ok(await page.locator('.grid-row', { hasText: 'two.txt' }).getByRole('checkbox').isChecked(), 'still selected');
  await send(server, 'blob', 'DELETE', '/again/two.txt');
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('link', { name: 'two.txt' }).waitFor({ state: 'detached' });
  equal(await page.getByRole('button', { name: 'Delete', includeHidden: true }).isDisabled(), true, 'nothing is selected');
});

test('meanwhile: a click counts even if the rows are drawn again while the button is down', async ({ page, server, open }) => {
  await send(server, 'queue', 'PUT', '/pressed');
  await open(`${ACCOUNT}/queues?search=pressed`);
  const states = await hold(page, /comp=metadata/);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await until('depths are asked for', () => states.seen > 0);
  await page.getByRole('link', { name: 'pressed', exact: true }).hover();
  await page.mouse.down();
  states.release();
  // Two frames are enough for a redraw.
  await page.waitForLoadState('networkidle');
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.mouse.up();
  await page.getByRole('heading', { name: 'pressed' }).waitFor();
});

test('meanwhile: an upload that ends later leaves the link of another view alone', async ({ page, server, open }) => {
  await makeContainer(server, 'later');
  await open(`${ACCOUNT}/blobs/later`);
  const puts = await hold(page, /later\/slow\.txt/);
  await upload(page, [['slow.txt', 'x']]);
  await until('the upload is on its way', () => puts.seen === 1);
  await page.evaluate(() => { location.hash = '#/devstoreaccount1/queues'; });
  await page.getByRole('heading', { name: 'Queues' }).waitFor();
  puts.release();
  await page.getByText('Uploaded 1 file').waitFor();
  ok(page.url().endsWith('/queues'), page.url());
});

test('meanwhile: uploads and copies replace a blob only after asking', async ({ page, server, open }) => {
  await makeContainer(server, 'guarded');
  for (const name of ['a.txt', 'b.txt']) await putBlob(server, 'guarded', name, 'old');
  await open(`${ACCOUNT}/blobs/guarded`);
  await upload(page, [['a.txt', 'new'], ['c.txt', 'new']]);
  await page.locator('dialog').getByText('1 blob of guarded exists already: a.txt').waitFor();
  equal([await textOf(server, '/guarded/a.txt'), await textOf(server, '/guarded/c.txt')], ['old', 'new']);
  await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'c.txt' }).waitFor();
  equal(await textOf(server, '/guarded/a.txt'), 'old', 'not replaced');
  await toasted(page, 'Uploaded 1 file');
  await upload(page, [['a.txt', 'new']]);
  await page.locator('dialog').getByRole('button', { name: 'Replace 1 blob' }).click();
  await toasted(page, 'Uploaded 1 file');
  equal(await textOf(server, '/guarded/a.txt'), 'new', 'replaced');
  await page.locator('.grid-row', { hasText: 'a.txt' }).getByRole('checkbox').check();
  await more(page, 'Copy to');
  await page.locator('dialog').getByLabel('Name').fill('b.txt');
  await page.locator('dialog').getByRole('button', { name: 'Copy' }).click();
  await page.locator('dialog').getByText('exists already: b.txt').waitFor();
  equal(await textOf(server, '/guarded/b.txt'), 'old', 'not yet replaced');
  await page.locator('dialog').getByRole('button', { name: 'Replace 1 blob' }).click();
  await toasted(page, 'Copied 1 blob');
  equal(await textOf(server, '/guarded/b.txt'), 'new');
  await open(`${ACCOUNT}/blobs/guarded/c.txt`);
  await more(page, 'Rename or move');
  await page.locator('dialog').getByLabel('Name').fill('b.txt');
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await page.locator('dialog').getByText('exists already: b.txt').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Replace 1 blob' }).click();
  await page.getByRole('heading', { name: 'b.txt' }).waitFor();
});

test('meanwhile: snapshots are shown beside folders', async ({ page, server, open }) => {
  await makeContainer(server, 'shots');
  for (const name of ['a/1.txt', 'a/b/2.txt', 'z.txt']) {
    await putBlob(server, 'shots', name, name);
    await send(server, 'blob', 'PUT', `/shots/${name}`, { query: { comp: 'snapshot' } });
  }
  await open(`${ACCOUNT}/blobs/shots`);
  await page.getByLabel('Snapshots').check();
  await page.locator('.grid-row').getByText('snapshot').waitFor();
  equal(await page.locator('.grid-row a').allInnerTexts(), ['a/', 'z.txt', 'z.txt']);
  await page.getByRole('link', { name: 'a/' }).click();
  await page.getByRole('heading', { name: 'a', exact: true }).waitFor();
  await page.getByLabel('Snapshots').check();
  await until('the folder', async () => (await page.locator('.grid-row a').allInnerTexts()).join() === 'b/,1.txt,1.txt');
});

test('meanwhile: moving a snapshot does not delete the blob', async ({ page, server, open }) => {
  await makeContainer(server, 'kept');
  await putBlob(server, 'kept', 'a.txt', 'first');
  await send(server, 'blob', 'PUT', '/kept/a.txt', { query: { comp: 'snapshot' } });
  await putBlob(server, 'kept', 'a.txt', 'second');
  await open(`${ACCOUNT}/blobs/kept?show=snapshots`);
  await page.locator('.grid-row', { hasText: 'snapshot' }).getByRole('checkbox').check();
  await more(page, 'Move to');
  await page.locator('dialog').getByLabel('Name').fill('old.txt');
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText('Moved 1 blob').waitFor();
  equal([await textOf(server, '/kept/old.txt'), await textOf(server, '/kept/a.txt')], ['first', 'second']);
});

test('meanwhile: a tab that is chosen while properties are saved stays, with what was entered', async ({ page, server, open }) => {
  await makeContainer(server, 'tabs');
  await putBlob(server, 'tabs', 'doc.txt', 'text');
  await open(`${ACCOUNT}/blobs/tabs/doc.txt?tab=properties`);
  await page.getByLabel('content-language').fill('nl');
  const heads = await hold(page, /doc\.txt/, { matches: (request) => request.method() === 'HEAD' });
  await page.getByRole('button', { name: 'Save' }).click();
  await until('the properties are read again', () => heads.seen === 1);
  await page.getByRole('tab', { name: 'Metadata and tags' }).click();
  const card = page.locator('.card', { hasText: 'Save metadata' });
  await card.getByRole('button', { name: 'Add' }).click();
  await card.getByLabel('Name').fill('colour');
  heads.release();
  await page.getByText('Properties saved').waitFor();
  equal(await card.getByLabel('Name').inputValue(), 'colour');
});

test('meanwhile: a double click on a key opens the entity once', async ({ page, server, open }) => {
  await makeTable(server, 'Once', [{ PartitionKey: 'p', RowKey: 'r', Name: 'x' }]);
  await open(`${ACCOUNT}/tables/Once`);
  const reads = await hold(page, /RowKey/);
  await page.locator('.grid-row .opens').first().dblclick();
  await until('the entity is asked for', () => reads.seen > 0);
  await page.getByRole('grid').focus();
  await page.keyboard.press('Enter');
  reads.release();
  await page.locator('dialog').first().waitFor();
  await page.waitForLoadState('networkidle');
  equal([reads.seen, await page.locator('dialog').count()], [1, 1]);
});

test('meanwhile: an error of the service is shown wherever it occurs', async ({ page, server, open }) => {
  await makeTable(server, 'Vanishing', [{ PartitionKey: 'p', RowKey: 'r', Name: 'soon gone' }]);
  await open(`${ACCOUNT}/tables/Vanishing`);
  await page.locator('.grid-row').getByText('soon gone').waitFor();
  await send(server, 'table', 'DELETE', "/Vanishing(PartitionKey='p',RowKey='r')", { headers: { 'if-match': '*' } });
  await page.locator('.grid-row .opens').first().click();
  await page.getByRole('alert').getByText('ResourceNotFound').waitFor();
  await page.getByRole('alert').getByText('Request id').waitFor();
});

test('meanwhile: numbers that cannot be refreshed are marked, and links in them keep the focus', async ({ page, server, open }) => {
  await makeTable(server, 'Busy');
  await insertMany(server, 'Busy', Array.from({ length: 1000 }, (_, index) => ({ PartitionKey: 'focus', RowKey: String(index), N: 1 })));
  await send(server, 'table', 'GET', '/Busy()', { query: { $filter: 'N eq 77' }, headers: { accept: 'application/json' } });
  await open(`${ACCOUNT}/health`);
  await page.getByRole('link', { name: 'N eq 77' }).waitFor();
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.getByRole('link', { name: 'N eq 77' }).focus();
  let readings = 0;
  page.on('response', (response) => { if (response.url().includes('/api/health')) readings += 1; });
  await until('two more readings', () => readings >= 2);
  ok((await focused()).includes('N eq 77'), await focused());
  await page.route(/\/api\/health/, (route) => route.abort());
  await page.getByRole('alert').getByText('NoConnection').waitFor();
  await page.getByText('from the last successful update').waitFor();
  await page.unroute(/\/api\/health/);
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test('meanwhile: every list has a link with its search and its order', async ({ page, server, open }) => {
  const [first, second] = ['linked-a', 'linked-b'];
  await makeTable(server, 'LinkedA', [{ PartitionKey: 'p', RowKey: '1', Age: 3 }, { PartitionKey: 'p', RowKey: '2', Age: 5 }]);
  await makeTable(server, 'LinkedB');
  for (const name of [first, second]) {
    await send(server, 'queue', 'PUT', `/${name}`);
    await makeContainer(server, name);
    await putBlob(server, first, `${name}.txt`, name);
  }
  const rows = () => page.locator('.grid-row').allInnerTexts();
  const lists = [['tables', 'Search tables', 'Table', 'LinkedB'], ['queues', 'Search queues', 'Queue', second], ['blobs', 'Search containers', 'Container', second]];
  for (const [section, label, column, top] of lists) {
    await open(`${ACCOUNT}/${section}`);
    await page.getByLabel(label).fill('linked');
    const sort = page.getByRole('columnheader', { name: column }).getByRole('button');
    await sort.click();
    await sort.click();
    await until('the last name is the first', async () => (await rows())[0]?.includes(top));
    const shown = (await rows()).length;
    await page.reload();
    await page.locator('.grid-row').first().waitFor();
    ok((await rows())[0].includes(top), `${section}: the order`);
    equal((await rows()).length, shown, `${section}: the search`);
  }
  for (const [view, column, top] of [['tables/LinkedA', 'Age', '5'], [`blobs/${first}`, 'Name', `${second}.txt`]]) {
    await open(`${ACCOUNT}/${view}`);
    const header = page.getByRole('columnheader', { name: column });
    // The rows follow in the next frame: only the header says at once which order was chosen.
    await until('the descending order', async () => {
      await header.getByRole('button').click();
      return (await header.getAttribute('aria-sort')) === 'descending';
    });
    await until('the order', async () => (await rows())[0]?.includes(top));
    await page.reload();
    await page.locator('.grid-row').first().waitFor();
    ok((await rows())[0].includes(top), `${view}: the order`);
  }
});

test('meanwhile: from another machine, links name the host of the address bar', async ({ page, server }) => {
  const port = new URL(server.console).port;
  await makeContainer(server, 'abroad');
  await putBlob(server, 'abroad', 'a.txt', 'seen from afar');
  // Without https and loopback, there is no WebCrypto: the page signs by itself.
  await page.goto(`http://workstation:${port}/#/${ACCOUNT}/blobs/abroad/a.txt`);
  await page.locator('.preview pre').getByText('seen from afar').waitFor();
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = new URL(await page.getByLabel('Link').first().inputValue());
  equal(link.hostname, 'workstation');
  link.hostname = '127.0.0.1';
  equal(await (await fetch(link)).text(), 'seen from afar');
  await page.keyboard.press('Escape');
  await more(page, 'Copy to');
  await page.locator('dialog').getByLabel('Name').fill('b.txt');
  await page.locator('dialog').getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('heading', { name: 'b.txt' }).waitFor();
});

test('meanwhile: the palette keeps its choice when more names arrive', async ({ page, server, open }) => {
  await makeTable(server, 'arriving');
  await send(server, 'queue', 'PUT', '/arriving');
  await open(`${ACCOUNT}/account`);
  const tables = await hold(page, /\/api\/table\/.*Tables/);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('arriving');
  await page.getByRole('option', { name: 'arriving queues', selected: true }).waitFor();
  tables.release();
  await page.getByRole('option', { name: 'arriving tables' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'arriving' }).waitFor();
  ok(page.url().includes('/queues/arriving'), page.url());
  await tabTo(page, 'Put message');
});
