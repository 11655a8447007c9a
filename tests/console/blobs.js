// Blobs: upload in blocks, folders, search, previews, properties, snapshots, leases, copies, sizes and shares.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACCOUNT, equal, hold, ok, send, test, toasted, until } from './support.js';

export const putBlob = (server, container, name, body, type = 'text/plain', more = {}) => send(server, 'blob', 'PUT', `/${container}/${name}`, {
  headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': type, 'content-type': 'application/octet-stream', ...more }, body,
});
export const makeContainer = (server, name) => send(server, 'blob', 'PUT', `/${name}`, { query: { restype: 'container' } });
const more = (page) => page.locator('.toolbar').getByRole('button', { name: 'More' }).first().click();
const jobs = (page) => page.getByRole('region', { name: 'Running operations' });

/** Runs `body` with files in a folder of their own: large ones need not pass through the driver, which takes minutes on a busy machine. */
async function withFiles(files, body) {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-files-'));
  try {
    return await body(Object.entries(files).map(([name, content]) => { writeFileSync(join(folder, name), content); return join(folder, name); }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens the file chooser of a container. */
async function choose(page, item) {
  await page.getByRole('button', { name: 'Upload' }).click();
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('menuitem', { name: item }).click()]);
  return chooser;
}

test('blobs: create a container, upload in blocks, download', { isMain: true }, async ({ page, open }) => {
  await open(`${ACCOUNT}/blobs`);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByLabel('Name').fill('uploads');
  await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'uploads' }).click();
  const big = Buffer.alloc(9 * 1024 * 1024 + 5, 'lazuli ');
  await withFiles({ 'big.bin': big, 'small.txt': 'small' }, async (paths) => {
    await (await choose(page, 'Files')).setFiles(paths);
    await page.getByText('Uploaded 2 files').waitFor();
  });
  await page.getByRole('link', { name: 'big.bin' }).click();
  await page.getByRole('heading', { name: 'big.bin' }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  ok(readFileSync(await download.path()).equals(big), 'the download is what was uploaded');
});

test('blobs: an upload is paused, resumed, and cancelled', async ({ page, server, open }) => {
  await makeContainer(server, 'progress');
  await open(`${ACCOUNT}/blobs/progress`);
  const blocks = await hold(page, /comp=block&/);
  const content = Buffer.alloc(22 * 1024 * 1024, 7);
  await withFiles({ 'large.bin': content, 'given-up.bin': content }, async ([large, givenUp]) => {
    await (await choose(page, 'Files')).setFiles(large);
    await until('three blocks are on their way', () => blocks.seen === 3);
    await jobs(page).getByRole('button', { name: 'Pause' }).click();
    blocks.release();
    await jobs(page).getByText('12.0 MiB of 22.0 MiB').waitFor();
    equal(blocks.seen, 3, 'a paused upload sends nothing');
    await jobs(page).getByRole('button', { name: 'Resume' }).click();
    await toasted(page, 'Uploaded 1 file');
    equal((await send(server, 'blob', 'HEAD', '/progress/large.bin')).headers.get('content-length'), String(22 * 1024 * 1024));
    await page.unroute(/comp=block&/);
    const again = await hold(page, /comp=block&/);
    await (await choose(page, 'Files')).setFiles(givenUp);
    await until('blocks are on their way', () => again.seen > 0);
    await jobs(page).getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Upload 1 file: cancelled').waitFor();
    again.release();
  });
  const listed = await (await send(server, 'blob', 'GET', '/progress', { query: { restype: 'container', comp: 'list' } })).text();
  ok(!listed.includes('given-up'), 'a cancelled upload leaves no blob');
});

test('blobs: upload a folder, download several blobs', async ({ page, server, open }) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-upload-'));
  try {
    mkdirSync(join(folder, 'album', 'inner'), { recursive: true });
    writeFileSync(join(folder, 'album', 'one.txt'), 'one');
    writeFileSync(join(folder, 'album', 'inner', 'two.txt'), 'two');
    await makeContainer(server, 'folders');
    // The browser asks for a folder if it can; here it cannot, and saves file by file.
    await page.addInitScript(() => { delete window.showDirectoryPicker; });
    await open(`${ACCOUNT}/blobs/folders`);
    await (await choose(page, 'A folder')).setFiles(join(folder, 'album'));
    await page.getByText('Uploaded 2 files').waitFor();
    equal(await (await send(server, 'blob', 'GET', '/folders/album/inner/two.txt')).text(), 'two');
    await page.locator('.grid-row', { hasText: 'album/' }).getByRole('checkbox').check();
    const saved = [];
    page.on('download', (download) => saved.push(download.suggestedFilename()));
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText('Downloaded 2 blobs').waitFor();
    await until('both files are saved', () => saved.length === 2);
    equal(saved.sort(), ['one.txt', 'two.txt']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('blobs: a search streams its results and can be stopped', async ({ page, server, open }) => {
  await makeContainer(server, 'endless');
  for (const name of ['a1', 'b2']) await putBlob(server, 'endless', name, name);
  await open(`${ACCOUNT}/blobs/endless`);
  // The listing claims to have another page, which never comes.
  await page.route(/comp=list/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('<NextMarker />', '<NextMarker>more</NextMarker>') });
  });
  const second = await hold(page, /marker=more/);
  await page.getByLabel('Search this folder and below').fill('b');
  await page.keyboard.press('Enter');
  await page.getByText('1 item of 2 searched').waitFor();
  await until('the second page is asked for', () => second.seen === 1);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: 'b2' }).waitFor();
  second.release();
});

test('blobs: 100,000 blobs are listed, sorted, searched and scrolled', async ({ page, server, open }) => {
  await makeContainer(server, 'many');
  const pageOf = (at) => Array.from({ length: 5000 }, (_, index) => {
    const number = at * 5000 + index;
    return `<Blob><Name>file-${String(number).padStart(6, '0')}.txt</Name><Properties><Last-Modified>${new Date(1.7e12 + number * 1000).toUTCString()}</Last-Modified><Content-Length>${number}</Content-Length><Content-Type>text/plain</Content-Type><BlobType>BlockBlob</BlobType></Properties></Blob>`;
  }).join('');
  await page.route(/\/many\?.*comp=list/, (route) => {
    const at = Number(new URL(route.request().url()).searchParams.get('marker') ?? 0);
    const next = at < 19 ? `<NextMarker>${at + 1}</NextMarker>` : '<NextMarker />';
    return route.fulfill({ contentType: 'application/xml', body: `<?xml version="1.0"?><EnumerationResults><Blobs>${pageOf(at)}</Blobs>${next}</EnumerationResults>` });
  });
  await open(`${ACCOUNT}/blobs/many`);
  await page.getByText('100,000 items', { exact: true }).waitFor();
  await page.getByRole('columnheader', { name: 'Modified' }).getByRole('button').click();
  await until('the newest first', async () => (await page.locator('.grid-row a').first().innerText()) === 'file-099999.txt');
  await page.getByRole('grid').focus();
  await page.keyboard.press('End');
  await page.locator('.grid-row').getByText('file-000000.txt').waitFor();
  ok((await page.locator('.grid-row').count()) < 80, 'only rows in view are drawn');
  await page.getByLabel('Search this folder and below').fill('99.txt');
  await page.keyboard.press('Enter');
  await page.getByText('1,000 items of 100,000 searched').waitFor();
});

test('blobs: drop a file into a folder', async ({ page, server, open }) => {
  await makeContainer(server, 'drops');
  await open(`${ACCOUNT}/blobs/drops?prefix=${encodeURIComponent('in/box/')}`);
  const transfer = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['dropped'], 'note.txt', { type: 'text/plain' }));
    return data;
  });
  await page.dispatchEvent('.page', 'drop', { dataTransfer: transfer });
  await page.getByText('Uploaded 1 file').waitFor();
  equal(await (await send(server, 'blob', 'GET', '/drops/in/box/note.txt')).text(), 'dropped');
});

test('blobs: drop a folder with folders', async ({ page, context, server, open }) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-drop-'));
  try {
    mkdirSync(join(folder, 'album', 'inner', 'empty'), { recursive: true });
    for (const name of ['one.txt', 'inner/two.txt']) writeFileSync(join(folder, 'album', name), name);
    writeFileSync(join(folder, 'beside.txt'), 'beside');
    await makeContainer(server, 'dropped');
    await open(`${ACCOUNT}/blobs/dropped`);
    const session = await context.newCDPSession(page);
    const data = { items: [], files: [join(folder, 'album'), join(folder, 'beside.txt')], dragOperationsMask: 1 };
    const drop = async (selector) => {
      const { x, y } = await page.locator(selector).boundingBox();
      for (const type of ['dragEnter', 'dragOver', 'drop']) await session.send('Input.dispatchDragEvent', { type, x: x + 10, y: y + 10, data });
    };
    // Files that are dropped beside the list are not opened in place of the page.
    await drop('.top');
    await page.getByText('No blobs here').waitFor();
    await drop('.grid-frame');
    await page.getByText('Uploaded 3 files').waitFor();
    const listed = await (await send(server, 'blob', 'GET', '/dropped', { query: { restype: 'container', comp: 'list' } })).text();
    equal([...listed.matchAll(/<Name>(.*?)<\/Name>/g)].map((found) => found[1]), ['album/inner/two.txt', 'album/one.txt', 'beside.txt']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** The content behind a link that the page makes for what it shows. */
async function shared(page) {
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByLabel('Link').first().inputValue();
  await page.keyboard.press('Escape');
  return (await fetch(link)).text();
}

test('blobs: folders, search in three ways, the newest blob, sizes', { isMain: true }, async ({ page, server, open }) => {
  await makeContainer(server, 'tree');
  for (const name of ['a/one.txt', 'a/b/two.json', 'a/b/three.txt', 'root.md']) await putBlob(server, 'tree', name, name);
  await until('a later second', async () => {
    await putBlob(server, 'tree', 'newest.txt', 'new');
    const listed = await (await send(server, 'blob', 'GET', '/tree', { query: { restype: 'container', comp: 'list' } })).text();
    const times = new Map([...listed.matchAll(/<Name>(.*?)<\/Name>.*?<Last-Modified>(.*?)</g)].map(([, name, time]) => [name, Date.parse(time)]));
    return times.get('newest.txt') > times.get('root.md');
  });
  await open(`${ACCOUNT}/blobs/tree`);
  await page.getByRole('link', { name: 'a/' }).click();
  await page.getByRole('link', { name: 'b/' }).click();
  await page.getByRole('link', { name: 'two.json' }).waitFor();
  await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'tree' }).click();
  await page.getByRole('link', { name: 'root.md' }).waitFor();
  const search = page.getByLabel('Search this folder and below');
  const names = async (count) => {
    await until(`${count} rows`, async () => (await page.locator('.grid-row').count()) === count);
    return page.locator('.grid-row a').allInnerTexts();
  };
  await search.fill('hree');
  await search.press('Enter');
  equal(await names(1), ['a/b/three.txt']);
  await page.getByLabel('Kind of search').selectOption('glob');
  await search.fill('*.txt');
  await search.press('Enter');
  equal(await names(3), ['a/b/three.txt', 'a/one.txt', 'newest.txt']);
  await page.getByLabel('Kind of search').selectOption('prefix');
  await search.fill('a/b');
  await search.press('Enter');
  equal((await names(2)).length, 2);
  await search.fill('');
  await search.press('Enter');
  await names(3);
  await page.getByRole('columnheader', { name: 'Modified' }).getByRole('button').click();
  await until('the newest first', async () => (await page.locator('.grid-row a').first().innerText()) === 'newest.txt');
  // Folders have no date: the newest blob may be inside one of them.
  await page.getByRole('button', { name: 'Sort the blobs inside folders' }).click();
  await until('no folders', async () => (await page.locator('.grid-row a').allInnerTexts()).sort().join() === 'a/b/three.txt,a/b/two.json,a/one.txt,newest.txt,root.md');
  equal(await page.locator('.grid-row a').first().innerText(), 'newest.txt');
  ok(page.url().includes('nested=1') && page.url().includes('sort=-modified'), 'the list has a link');
  await page.getByLabel('Blobs inside folders').uncheck();
  await page.getByRole('link', { name: 'a/', exact: true }).waitFor();
  await more(page);
  await page.getByRole('menuitem', { name: 'Sizes of all folders' }).click();
  await page.locator('.grid-row', { hasText: 'a/' }).getByText('34 B').waitFor();
});

test('blobs: previews of text, JSON, CSV, images, HTML and PDF', async ({ page, server, open }) => {
  await makeContainer(server, 'previews');
  await putBlob(server, 'previews', 'a.txt', 'plain text');
  await putBlob(server, 'previews', 'a.json', '{"a":[1]}', 'application/json');
  await putBlob(server, 'previews', 'a.csv', 'Name,Age\nAnn,"3"\n', 'text/csv');
  await putBlob(server, 'previews', 'a.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><script>window.top.hacked=1</script><rect width="60" height="40"/></svg>', 'image/svg+xml');
  await putBlob(server, 'previews', 'a.html', '<h1>Title</h1><script>parent.hacked=1;alert(1)</script>', 'text/html');
  await putBlob(server, 'previews', 'a.pdf', '%PDF-1.4\n%%EOF\n', 'application/pdf');
  await putBlob(server, 'previews', 'a.bin', Buffer.from([0, 1, 2, 255]), 'application/octet-stream');
  const show = (name) => open(`${ACCOUNT}/blobs/previews/${name}`);
  await show('a.txt');
  await page.locator('.preview pre').getByText('plain text').waitFor();
  await show('a.json');
  await until('indented JSON', async () => (await page.locator('.preview pre').innerText()).includes('  "a": ['));
  await show('a.csv');
  await page.locator('.preview td').first().waitFor();
  equal(await page.locator('.preview td').allInnerTexts(), ['Ann', '3']);
  await show('a.svg');
  await until('the image is loaded', () => page.locator('.preview img').evaluate((image) => image.naturalWidth === 60));
  await show('a.html');
  await page.locator('.preview pre').getByText('<h1>Title</h1>').waitFor();
  await page.getByLabel('Rendered').check();
  equal(await page.locator('.preview iframe').getAttribute('sandbox'), '');
  await page.frameLocator('.preview iframe').getByRole('heading', { name: 'Title' }).waitFor();
  await show('a.pdf');
  await page.locator('.preview iframe[src^="blob:"]').waitFor();
  await show('a.bin');
  await page.locator('.preview').getByText('00 01 02 ff').waitFor();
  equal(await page.evaluate(() => window.hacked ?? null), null);
});

test('blobs: properties, metadata, tags, tier, lease, snapshots', async ({ page, server, open }) => {
  await makeContainer(server, 'details');
  await putBlob(server, 'details', 'doc.txt', 'one');
  await open(`${ACCOUNT}/blobs/details/doc.txt?tab=properties`);
  await page.getByLabel('content-language').fill('de');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Properties saved').waitFor();
  await page.getByRole('tab', { name: 'Metadata and tags' }).click();
  ok(page.url().endsWith('tab=metadata'), 'the tab is part of the link');
  const cards = page.locator('.card');
  for (const [index, label] of [[0, 'Save metadata'], [1, 'Save tags']]) {
    await cards.nth(index).getByRole('button', { name: 'Add' }).click();
    await cards.nth(index).getByLabel('Name').fill('colour');
    await cards.nth(index).getByLabel('Value').fill('blue');
    await cards.nth(index).getByRole('button', { name: label }).click();
    await toasted(page, index ? 'Tags saved' : 'Metadata saved');
  }
  const head = await send(server, 'blob', 'HEAD', '/details/doc.txt');
  equal([head.headers.get('x-ms-meta-colour'), head.headers.get('content-language'), head.headers.get('x-ms-tag-count')], ['blue', 'de', '1']);
  await more(page);
  await page.getByRole('menuitem', { name: 'Create snapshot' }).click();
  await page.getByText('Snapshot created').waitFor();
  await putBlob(server, 'details', 'doc.txt', 'two!');
  await page.getByRole('tab', { name: 'Snapshots and versions' }).click();
  await page.getByRole('link', { name: 'Snapshot' }).click();
  await page.locator('.note').getByText('Snapshot of').waitFor();
  await page.locator('.preview pre').getByText('one').waitFor();
  equal(await shared(page), 'one', 'a link to the snapshot');
  await more(page);
  await page.getByRole('menuitem', { name: 'Restore as the current blob' }).click();
  await page.getByText('Restored as the current blob').waitFor();
  equal(await (await send(server, 'blob', 'GET', '/details/doc.txt')).text(), 'one');
  await more(page);
  await page.getByRole('menuitem', { name: 'Acquire lease' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Acquire' }).click();
  await page.locator('.toolbar').getByText('leased').waitFor();
  await more(page);
  await page.getByRole('menuitem', { name: 'Break lease' }).click();
  await page.getByText('Lease broken').waitFor();
  await more(page);
  await page.getByRole('menuitem', { name: 'Change tier' }).click();
  await page.getByLabel('Tier', { exact: true }).selectOption('Cool');
  await page.locator('dialog').getByRole('button', { name: 'Change' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  equal((await send(server, 'blob', 'HEAD', '/details/doc.txt')).headers.get('x-ms-access-tier'), 'Cool');
});

test('blobs: copy, move, delete, and empty the container', async ({ page, server, open }) => {
  await makeContainer(server, 'moves');
  await makeContainer(server, 'archive');
  for (const name of ['f/1.txt', 'f/2.txt', 'top.txt']) await putBlob(server, 'moves', name, name);
  await open(`${ACCOUNT}/blobs/moves`);
  await page.locator('.grid-row', { hasText: 'f/' }).getByRole('checkbox').check();
  await more(page);
  await page.getByRole('menuitem', { name: 'Copy to' }).click();
  await page.getByLabel('To container').selectOption('archive');
  await page.locator('dialog').getByRole('button', { name: 'Copy' }).click();
  await page.getByText('Copied 2 blobs').waitFor();
  equal(await (await send(server, 'blob', 'GET', '/archive/f/2.txt')).text(), 'f/2.txt');
  await page.locator('.grid-row', { hasText: 'top.txt' }).getByRole('checkbox').check();
  await page.locator('.grid-row', { hasText: 'f/' }).getByRole('checkbox').uncheck();
  await more(page);
  await page.getByRole('menuitem', { name: 'Move to' }).click();
  await page.locator('dialog').getByLabel('Name').fill('moved.txt');
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText('Moved 1 blob').waitFor();
  await page.getByRole('link', { name: 'moved.txt' }).waitFor();
  await page.locator('.grid-row', { hasText: 'moved.txt' }).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').getByText('the blob moved.txt').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete 1 blob' }).click();
  await page.getByText('Deleted 1 blob').waitFor();
  await more(page);
  await page.getByRole('menuitem', { name: 'Empty the container' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete 2 blobs' }).click();
  await page.getByText('No blobs here').waitFor();
});

test('blobs: public access of a container', async ({ page, server, open }) => {
  await makeContainer(server, 'open-door');
  await putBlob(server, 'open-door', 'a.txt', 'public');
  await open(`${ACCOUNT}/blobs/open-door`);
  await more(page);
  await page.getByRole('menuitem', { name: 'Container settings' }).click();
  await page.getByLabel('Public access').selectOption('blob');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Container settings saved').waitFor();
  equal(await (await fetch(`${server.endpoints.blob}/open-door/a.txt`)).text(), 'public');
});

test('blobs: a link for a colleague, for one hour', { isMain: true }, async ({ page, server, open }) => {
  await makeContainer(server, 'shared');
  await putBlob(server, 'shared', 'für%20dich.txt', 'hello colleague');
  await open(`${ACCOUNT}/blobs/shared`);
  await page.getByRole('link', { name: 'für dich.txt' }).click();
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  const link = await page.getByLabel('Link').first().inputValue();
  equal(await (await fetch(link)).text(), 'hello colleague');
  const end = Date.parse(new URL(link).searchParams.get('se'));
  ok(end > Date.now() && end < Date.now() + 3_700_000, 'it is valid for an hour');
  await page.locator('dialog').getByText(/It works until \d{4}-/).waitFor();
  await page.locator('dialog').getByText('it works on this machine only').waitFor();
  await page.getByRole('tab', { name: 'What it means' }).click();
  await page.getByText('One blob').waitFor();
  ok(!(await (await fetch(link.replace('sig=', 'sig=A'))).ok), 'a forged signature is rejected');
});

test('blobs: deleted blobs come back by undo and by hand, and so do deleted containers', { flags: ['--container-retention-days', '7'] }, async ({ page, server, open }) => {
  await makeContainer(server, 'soft');
  await putBlob(server, 'soft', 'a.txt', 'precious');
  await open(`${ACCOUNT}/account`);
  await page.getByRole('button', { name: 'Soft delete' }).click();
  await page.getByLabel('Deleted blobs can be restored').check();
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('.facts').getByText('7 days').waitFor();
  const remove = async () => {
    await page.locator('.grid-row', { hasText: 'a.txt' }).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('dialog').getByText('can be restored for 7 days').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Delete 1 blob' }).click();
    await page.getByText('No blobs here').waitFor();
  };
  await open(`${ACCOUNT}/blobs/soft`);
  await remove();
  await page.getByRole('button', { name: 'Undo' }).click();
  await toasted(page, 'Restored 1 blob');
  await remove();
  await page.getByLabel('Deleted').check();
  await page.locator('.grid-row').getByText('days left').waitFor();
  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByText('Blob restored').waitFor();
  await page.locator('.preview pre').getByText('precious').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.locator('dialog').getByText('a.txt (8 B) with 0 snapshots. It can be restored for 7 days.').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No blobs here').waitFor();
  await page.getByRole('button', { name: 'Undo' }).last().click();
  await page.getByRole('heading', { name: 'a.txt' }).waitFor();
  await page.locator('.preview pre').getByText('precious').waitFor();
  const removeContainer = async () => {
    await page.locator('.grid-row input').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('dialog').getByText('the container soft with 1 blob (8 B)').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Delete 1 container' }).click();
    await page.getByText('No containers yet').waitFor();
  };
  await open(`${ACCOUNT}/blobs`);
  await removeContainer();
  await page.getByRole('button', { name: 'Undo' }).click();
  await toasted(page, 'Restored soft');
  await page.getByRole('link', { name: 'soft' }).waitFor();
  await removeContainer();
  await page.getByLabel('Deleted').check();
  await page.locator('.grid-row.deleted').dblclick();
  await toasted(page, 'Restored soft');
  equal(await (await send(server, 'blob', 'GET', '/soft/a.txt')).text(), 'precious');
});

test('blobs: an earlier version is shown, has a link, and can be restored', { flags: ['--blob-versioning'] }, async ({ page, server, open }) => {
  await makeContainer(server, 'history');
  await putBlob(server, 'history', 'a.txt', 'first');
  await putBlob(server, 'history', 'a.txt', 'second');
  await open(`${ACCOUNT}/blobs/history?show=versions`);
  await until('two rows', async () => (await page.locator('.grid-row').count()) === 2);
  await page.locator('.grid-row', { hasText: 'version' }).getByRole('link').click();
  await page.locator('.note').getByText('Version of').waitFor();
  ok(page.url().includes('version='), 'the version is part of the link');
  await page.locator('.preview pre').getByText('first').waitFor();
  equal(await shared(page), 'first', 'a link to the version');
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Restore as the current blob' }).click();
  await page.getByText('Restored as the current blob').waitFor();
  equal(await (await send(server, 'blob', 'GET', '/history/a.txt')).text(), 'first');
  // Deleting leaves the versions: the blob comes back by undo, and by hand.
  await open(`${ACCOUNT}/blobs/history`);
  const remove = async () => {
    await page.locator('.grid-row', { hasText: 'a.txt' }).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('dialog').getByText('Its versions remain').waitFor();
    await page.locator('dialog').getByRole('button', { name: 'Delete 1 blob' }).click();
    await page.getByText('No blobs here').waitFor();
  };
  await remove();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Restored 1 blob').waitFor();
  equal(await (await send(server, 'blob', 'GET', '/history/a.txt')).text(), 'first');
  await remove();
  await page.getByLabel('Deleted').check();
  await page.locator('.grid-row.deleted').getByText('versions remain').waitFor();
  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.locator('.preview pre').getByText('first').waitFor();
});

test('blobs: a blob is copied and moved from its own page', async ({ page, server, open }) => {
  for (const name of ['here', 'there']) await makeContainer(server, name);
  await putBlob(server, 'here', 'a.txt', 'content');
  await open(`${ACCOUNT}/blobs/here/a.txt`);
  await more(page);
  await page.getByRole('menuitem', { name: 'Copy to' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('alert').getByText('Enter another name').waitFor();
  await page.getByLabel('To container').selectOption('there');
  await page.locator('dialog').getByLabel('Name').fill('b.txt');
  await page.locator('dialog').getByRole('button', { name: 'Copy' }).click();
  await page.getByRole('heading', { name: 'b.txt' }).waitFor();
  await more(page);
  await page.getByRole('menuitem', { name: 'Rename or move' }).click();
  await page.locator('dialog').getByLabel('Name').fill('c.txt');
  await page.locator('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByRole('heading', { name: 'c.txt' }).waitFor();
  const listed = await (await send(server, 'blob', 'GET', '/there', { query: { restype: 'container', comp: 'list' } })).text();
  equal([...listed.matchAll(/<Name>(.*?)<\/Name>/g)].map((found) => found[1]), ['c.txt']);
});
