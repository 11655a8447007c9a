// Tables: browsing, queries with their plans, editing with conflicts, import and export.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { ACCOUNT, equal, hold, insertMany, makeTable, ok, once, send, test, toasted, until } from './support.js';

const more = async (page, item) => {
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  return page.getByRole('menuitem', { name: item });
};

const people = Array.from({ length: 40 }, (_, index) => ({
  PartitionKey: index % 2 ? 'odd' : 'even', RowKey: String(index).padStart(3, '0'), Name: `Person ${index}`, Age: 20 + index, Height: 1.5, Member: index % 3 === 0,
  'Visits@odata.type': 'Edm.Int64', Visits: String(9007199254740993n + BigInt(index)),
}));

const havePeople = (server) => once(server, 'People', () => makeTable(server, 'People', people));

test('tables: create and delete a table', async ({ page, open }) => {
  await open(`${ACCOUNT}/tables`);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByLabel('Name').fill('x');
  await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('alert').getByText('3 to 63 letters').waitFor();
  await page.getByLabel('Name').fill('Made');
  await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Made', exact: true }).waitFor();
  await page.getByLabel('Search tables').fill('Mad');
  await page.locator('.grid-row', { hasText: 'Made' }).locator('input').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').getByText('the table Made with 0 entities').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete 1 table' }).click();
  await page.getByText('Deleted 1 table').waitFor();
});

test('tables: a query shows its rows, its types and its plan, and has a link', { isMain: true }, async ({ page, server, open }) => {
  await havePeople(server);
  await open(`${ACCOUNT}/tables/People`);
  await page.getByText('40 entities').waitFor();
  const filter = page.getByLabel('Filter');
  await filter.fill("Age gt");
  await page.getByText('Expected a value').waitFor();
  await filter.fill('');
  await filter.pressSequentially('Ag');
  await page.getByRole('option', { name: 'Age' }).waitFor();
  await filter.press('ArrowDown');
  await filter.press('Enter');
  equal(await filter.inputValue(), 'Age ');
  await filter.fill("PartitionKey eq 'odd' and RowKey ge '010'");
  await filter.press('Enter');
  await page.getByText('Row range').waitFor();
  await page.getByText('15 returned').waitFor();
  ok(page.url().includes('filter='), 'the query is not part of the link');
  const link = page.url();
  await filter.fill('Age gt 57');
  await filter.press('Enter');
  await page.getByText('Table scan').waitFor();
  await page.getByText('Add PartitionKey').waitFor();
  await page.goto('about:blank');
  await page.goto(link);
  await page.getByText('15 returned').waitFor();
  ok(await page.getByRole('columnheader', { name: 'Visits Int64' }).isVisible(), 'the type of a column');
  await page.getByLabel('Columns').fill('Name,Age');
  await page.getByLabel('Limit').fill('3');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('3 entities').waitFor();
});

test('tables: a newcomer finds a row by a value, by its middle', { isMain: true }, async ({ page, server, open }) => {
  await havePeople(server);
  await open(`${ACCOUNT}/tables/People`);
  await page.getByLabel('Find a value in any property').fill('son 17');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('1 entity').waitFor();
  await page.locator('.grid-row').getByText('Person 17').waitFor();
  await page.getByLabel('Query plan').getByText('40 rows read').waitFor();
});

test('tables: results arrive page by page, and the plan covers all pages', async ({ page, server, open }) => {
  await makeTable(server, 'Pages');
  await insertMany(server, 'Pages', Array.from({ length: 2300 }, (_, index) => ({ PartitionKey: 'p', RowKey: String(index).padStart(5, '0') })));
  await open(`${ACCOUNT}/tables/Pages`);
  await page.getByText('1,000 entities so far').waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await page.getByText('2,000 entities so far').waitFor();
  await page.getByLabel('Query plan').getByText('2,000 returned').waitFor();
  await page.getByRole('grid').focus();
  await page.keyboard.press('End');
  await page.getByText('2,300 entities', { exact: true }).waitFor();
  await page.getByLabel('Limit').fill('1500');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('1,000 entities so far').waitFor();
  await page.getByRole('button', { name: 'Load all' }).click();
  await page.getByText('1,500 entities', { exact: true }).waitFor();
});

test('tables: insert, typed editing, conflicts side by side, delete', { isMain: true }, async ({ page, server, open }) => {
  await makeTable(server, 'Edits');
  await open(`${ACCOUNT}/tables/Edits`);
  await page.getByRole('button', { name: 'Insert' }).click();
  const dialog = page.locator('dialog').last();
  await dialog.getByLabel('PartitionKey').fill('p');
  await dialog.getByLabel('RowKey').fill("r'1 ä");
  await dialog.getByLabel('Property name').fill('Count');
  await dialog.getByLabel('Type').selectOption('Edm.Int64');
  await dialog.getByLabel('Value').fill('many');
  await dialog.getByText('expected a whole number').waitFor();
  await dialog.getByLabel('Value').fill('9007199254740993');
  await dialog.getByRole('button', { name: 'Insert' }).click();
  await page.locator('.grid-row').getByText('9007199254740993').waitFor();
  await page.locator('.grid-row').dblclick();
  await page.locator('dialog').getByLabel('Value').fill('2');
  // Somebody else is faster.
  const path = `/Edits(PartitionKey='p',RowKey='${encodeURIComponent("r''1 ä")}')`;
  await send(server, 'table', 'PUT', path, { headers: { 'content-type': 'application/json', 'if-match': '*' }, body: '{"Count":7}' });
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('The entity has changed').waitFor();
  const cells = await page.locator('.conflict .differs td').allInnerTexts();
  equal(cells, ['2 (Int64)', '7 (Int32)']);
  await page.getByRole('button', { name: 'Overwrite with mine' }).click();
  await page.getByText('Entity saved').waitFor();
  await page.locator('.grid-row .cell').getByText('2', { exact: true }).waitFor();
  const remove = async () => {
    await page.locator('.grid-row input').check();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.locator('dialog').getByText('This deletes 1 entity').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Delete 1 entity' }).click();
  };
  // Somebody changes the entity while it is shown: it is not deleted unseen.
  await send(server, 'table', 'PUT', path, { headers: { 'content-type': 'application/json', 'if-match': '*' }, body: '{"Count":8}' });
  await remove();
  await page.locator('dialog').getByText('The entity has changed').waitFor();
  equal(await page.locator('.conflict .differs td').allInnerTexts(), ['2 (Int64)', '8 (Int32)']);
  await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Deleted 0 entities, kept 1 that changed').waitFor();
  await page.locator('.grid-row .cell').getByText('8', { exact: true }).waitFor();
  await send(server, 'table', 'PUT', path, { headers: { 'content-type': 'application/json', 'if-match': '*' }, body: '{"Count":9}' });
  await remove();
  await page.locator('dialog').getByRole('button', { name: 'Delete anyway' }).click();
  await page.getByText('Deleted 1 entity', { exact: true }).waitFor();
  await page.getByText('0 entities', { exact: true }).waitFor();
});

test('tables: import CSV, export JSON Lines and CSV, delete everything', async ({ page, server, open }) => {
  await makeTable(server, 'Moves');
  await open(`${ACCOUNT}/tables/Moves`);
  const rows = Array.from({ length: 250 }, (_, index) => `p${index % 2},${index},${index},"a ""quoted"", text"`);
  await (await more(page, 'Import')).click();
  await page.getByLabel('File').setInputFiles({ name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from(`PartitionKey,RowKey,N:Edm.Int64,Text\r\n${rows.join('\r\n')}\r\n`) });
  await page.getByRole('button', { name: 'Import' }).click();
  await toasted(page, 'Imported 250 entities');
  await page.getByText('250 entities', { exact: true }).waitFor();
  const exported = async (item) => {
    const choice = await more(page, item);
    const [download] = await Promise.all([page.waitForEvent('download'), choice.click()]);
    return readFileSync(await download.path(), 'utf8');
  };
  const lines = (await exported('Export as JSON Lines')).trim().split('\n').map((line) => JSON.parse(line));
  equal([lines.length, lines[0]['N@odata.type'], lines[0].Text], [250, 'Edm.Int64', 'a "quoted", text']);
  const csv = await exported('Export as CSV');
  equal([csv.split('\r\n').length, csv.split('\r\n')[0]], [252, 'PartitionKey,RowKey,N:Edm.Int64,Text:Edm.String']);
  await (await more(page, 'Empty the table')).click();
  await page.getByText('ALL 250 entities of Moves').waitFor();
  await page.getByRole('button', { name: 'Delete 250 entities' }).click();
  await toasted(page, 'Deleted 250 entities');
  await page.getByText('0 entities', { exact: true }).waitFor();
  await (await more(page, 'Import')).click();
  await page.getByLabel('File').setInputFiles({ name: 'rows.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')) });
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByText('250 entities', { exact: true }).waitFor();
});

test('tables: import and export show progress and can be cancelled', async ({ page, server, open }) => {
  await makeTable(server, 'Halfway');
  await open(`${ACCOUNT}/tables/Halfway`);
  const rows = Array.from({ length: 2000 }, (_, index) => `p,${String(index).padStart(4, '0')}`);
  const batches = await hold(page, /\/api\/table\/.*batch/, { pass: 1 });
  await (await more(page, 'Import')).click();
  await page.getByLabel('File').setInputFiles({ name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from(`PartitionKey,RowKey\n${rows.join('\n')}\n`) });
  await page.getByRole('button', { name: 'Import' }).click();
  const job = page.getByRole('region', { name: 'Running operations' });
  await job.getByText('100 of 2,000').waitFor();
  await job.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Import into Halfway: cancelled').waitFor();
  batches.release();
  await page.unroute(/\/api\/table\/.*batch/);
  await makeTable(server, 'Long');
  await insertMany(server, 'Long', Array.from({ length: 1200 }, (_, index) => ({ PartitionKey: 'p', RowKey: String(index).padStart(4, '0') })));
  await open(`${ACCOUNT}/tables/Long`);
  const pages = await hold(page, /NextPartitionKey/);
  await (await more(page, 'Export as CSV')).click();
  await job.getByText('1,000 entities').waitFor();
  await job.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Export Long: cancelled').waitFor();
  pages.release();
});

test('tables: a search in all values can be cancelled and keeps what it found', async ({ page, server, open }) => {
  await makeTable(server, 'Deep');
  await insertMany(server, 'Deep', Array.from({ length: 1100 }, (_, index) => ({ PartitionKey: 'p', RowKey: String(index).padStart(4, '0'), Name: index === 7 ? 'needle' : 'hay' })));
  await open(`${ACCOUNT}/tables/Deep`);
  await page.getByText('1,000 entities so far').waitFor();
  const pages = await hold(page, /NextPartitionKey/);
  await page.getByLabel('Find a value in any property').fill('NEEDLE');
  await page.keyboard.press('Enter');
  await page.getByText('1,000 entities searched, 1 found').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('.grid-row').getByText('needle').waitFor();
  pages.release();
});

test('tables: code for the query in five languages', async ({ page, server, open }) => {
  await havePeople(server);
  await open(`${ACCOUNT}/tables/People?filter=${encodeURIComponent("Name eq 'O''Hara'")}&top=7`);
  await page.getByRole('button', { name: 'Code' }).click();
  for (const language of ['Python', 'JavaScript', 'C#', 'Rust', 'curl']) {
    await page.getByRole('tab', { name: language }).click();
    const code = await page.locator('.code pre').innerText();
    ok(code.includes('People') && /O''Hara|O'\\''/.test(code) && /\b7\b/.test(code), `${language}: ${code}`);
  }
});

test('tables: the curl command works as it stands', async ({ page, server, open }) => {
  await havePeople(server);
  await open(`${ACCOUNT}/tables/People?filter=${encodeURIComponent("Name eq 'Person 7' and Age gt 20")}&select=Name`);
  await page.getByRole('button', { name: 'Code' }).click();
  await page.getByRole('tab', { name: 'curl' }).click();
  const code = await page.locator('.code pre').innerText();
  await page.keyboard.press('Escape');
  await (await more(page, 'Share (SAS)')).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  const SAS = new URL(await page.getByLabel('Link').first().inputValue()).search.slice(1);
  const printed = execFileSync('bash', ['-c', code], { env: { ...process.env, SAS }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  equal(JSON.parse(printed).value, [{ Name: 'Person 7' }]);
});

test('tables: a grid of 100,000 rows draws only those that can be seen', async ({ page, open }) => {
  await open(`${ACCOUNT}/tables`);
  const drawn = await page.evaluate(async () => {
    const script = document.querySelector('script[type=module]').src;
    const { Grid } = await import(new URL('ui/grid.js', script).href);
    const grid = new Grid({ label: 'Many', columns: [{ key: 'n', title: 'N', render: (row) => String(row) }] });
    document.querySelector('main').replaceChildren(grid.element);
    grid.element.style.height = '600px';
    grid.setRows(Array.from({ length: 100_000 }, (_, index) => index));
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    await frame();
    const first = grid.body.childElementCount;
    grid.scroll.scrollTop = 1e9;
    await frame();
    return { first, last: grid.body.lastElementChild.textContent, count: grid.body.childElementCount };
  });
  ok(drawn.first > 10 && drawn.first < 60 && drawn.count < 60, JSON.stringify(drawn));
  equal(drawn.last, '99999');
});
