// Every page at desktop and phone width, in both themes: it is drawn, nothing overflows, and axe finds nothing serious.

import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { ACCOUNT, equal, makeTable, ok, once, send, test, until } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

const PAGES = [
  ['tables', 'tables', '.grid-row'], ['table', "tables/Shown?filter=PartitionKey%20eq%20'delft'", '.grid-row'], ['queues', 'queues', '.grid-row'], ['queue', 'queues/shown-poison', '.grid-row'],
  ['containers', 'blobs', '.grid-row'], ['container', 'blobs/shown', '.grid-row'], ['blob', 'blobs/shown/report.csv', '.plain'], ['properties', 'blobs/shown/report.csv?tab=properties', '.facts'],
  ['account', 'account', '.facts'], ['health', 'health', '.tile:nth-child(4) .big:not(:text-is("–"))'], ['connect', '../elsewhere/tables', 'form'],
];
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** What axe finds that keeps people from using the page. */
async function violations(page, axe) {
  await page.evaluate(axe);
  return page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations
    .filter((violation) => ['serious', 'critical'].includes(violation.impact)).map((violation) => `${violation.impact} ${violation.id}: ${violation.nodes[0].html.slice(0, 160)}`));
}

async function picture(page, name) {
  if (process.env.LAZULI_CONSOLE_SCREENSHOTS) await page.screenshot({ path: join(process.env.LAZULI_CONSOLE_SCREENSHOTS, `${name}.png`) });
}

const haveScene = (server) => once(server, 'scene', () => setScene(server));

async function setScene(server) {
  const names = ['Anna', 'Bram', 'Cor', 'Dirk', 'Elin', 'Fenna', 'Guus', 'Hanna', 'Ivo', 'Jet'];
  await makeTable(server, 'Shown', Array.from({ length: 24 }, (_, index) => ({
    PartitionKey: index % 3 ? 'delft' : 'gouda', RowKey: String(index).padStart(4, '0'), Name: names[index % 10], Age: 21 + index, Member: index % 2 === 0, 'Score@odata.type': 'Edm.Double', Score: index / 4,
    'Joined@odata.type': 'Edm.DateTime', Joined: `2026-0${1 + (index % 9)}-11T09:30:00Z`,
  })));
  await send(server, 'queue', 'PUT', '/shown-poison');
  for (let index = 0; index < 6; index += 1) {
    const body = Buffer.from(JSON.stringify({ order: 1000 + index, customer: names[index], total: 12.5 * index })).toString('base64');
    await send(server, 'queue', 'POST', '/shown-poison/messages', { headers: { 'content-type': 'application/xml' }, body: `<QueueMessage><MessageText>${body}</MessageText></QueueMessage>` });
  }
  await makeContainer(server, 'shown');
  await putBlob(server, 'shown', 'report.csv', `City,People,Area\n${names.map((name, index) => `${name}stad,${1000 * (index + 1)},${index + 3}`).join('\n')}\n`, 'text/csv');
  for (const name of ['2026/january/invoice-001.json', 'notes.md', 'logo.svg']) await putBlob(server, 'shown', name, `content of ${name}`);
}

for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ['light', 'dark']) {
    // Both widths and both themes in the short form, all four pairs in the long one.
    const isLongOnly = (size === 'desktop') !== (colorScheme === 'light');
    test(`pages: ${size}, ${colorScheme}`, { isLongOnly, context: { viewport, colorScheme, bypassCSP: true, hasTouch: size === 'phone' } }, async ({ page, server, open, axe }) => {
      await haveScene(server);
      const problems = [];
      for (const [name, path, ready] of PAGES) {
        await open(path.startsWith('../') ? path.slice(3) : `${ACCOUNT}/${path}`);
        await page.locator(ready).first().waitFor();
        problems.push(...(await violations(page, axe)).map((problem) => `${name}: ${problem}`));
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (overflow > 0) problems.push(`${name}: the page is ${overflow} pixels too wide`);
        await picture(page, `${name}-${size}-${colorScheme}`);
      }
      ok(problems.length === 0, problems.join('\n        '));
    });
  }
}

/** Opens each dialog, checks it, and closes it. */
const DIALOGS = [
  ['entity', 'tables/Shown', async (page) => page.getByRole('button', { name: 'Insert' }).click()],
  ['code', 'tables/Shown', async (page) => page.getByRole('button', { name: 'Code' }).click()],
  ['share', 'blobs/shown/report.csv', async (page) => {
    await page.getByRole('button', { name: 'Share' }).click();
    await page.getByRole('button', { name: 'Create link' }).click();
    await page.getByLabel('Link').first().waitFor();
  }],
  ['policies', 'tables/Shown', async (page) => {
    await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Stored access policies' }).click();
    await page.getByRole('button', { name: 'Add policy' }).click();
  }],
  ['put', 'queues/shown-poison', async (page) => page.getByRole('button', { name: 'Put message' }).click()],
  ['message', 'queues/shown-poison', async (page) => page.locator('.grid-row .opens').first().click()],
  ['settings', 'blobs/shown', async (page) => {
    await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Container settings' }).click();
  }],
  ['cors', 'account', async (page) => {
    await page.getByRole('button', { name: 'CORS rules' }).first().click();
    await page.getByRole('button', { name: 'Add rule' }).click();
  }],
  ['logs', 'account', async (page) => page.getByRole('button', { name: 'Logs and metrics' }).first().click()],
  ['delete', 'blobs/shown', async (page) => {
    await page.locator('.grid-row', { hasText: '2026/' }).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Delete' }).click();
  }],
  ['palette', 'tables', async (page) => { await page.keyboard.press('Control+k'); await page.keyboard.type('Shown'); await page.getByRole('option', { name: 'Shown tables' }).waitFor(); }],
];

for (const [size, colorScheme] of [['desktop', 'dark'], ['phone', 'light']]) {
  test(`pages: dialogs on a ${size}`, { context: { viewport: SIZES[size], colorScheme, bypassCSP: true } }, async ({ page, server, open, axe }) => {
    await haveScene(server);
    const problems = [];
    for (const [name, path, show] of DIALOGS) {
      await open(`${ACCOUNT}/${path}`);
      await show(page);
      await page.locator('dialog[open]').waitFor();
      problems.push(...(await violations(page, axe)).map((problem) => `${name}: ${problem}`));
      const overflow = await page.evaluate(() => { const body = document.querySelector('dialog[open]'); return body.scrollWidth - body.clientWidth; });
      if (overflow > 0) problems.push(`${name}: the dialog is ${overflow} pixels too wide`);
      await picture(page, `dialog-${name}-${size}-${colorScheme}`);
      await page.keyboard.press('Escape');
    }
    ok(problems.length === 0, problems.join('\n        '));
  });
}

test('pages: the theme follows the system until one is chosen, and is remembered', async ({ page, open }) => {
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await open(`${ACCOUNT}/tables`);
  const first = await theme();
  await page.emulateMedia({ colorScheme: first === 'dark' ? 'light' : 'dark' });
  await until('the theme follows the system', async () => (await theme()) !== first);
  await page.emulateMedia({ colorScheme: first });
  await until('the theme follows the system', async () => (await theme()) === first);
  await page.getByRole('button', { name: 'Change theme' }).click();
  ok((await theme()) !== first, 'the other theme');
  await page.reload();
  await page.locator('h1').waitFor();
  ok((await theme()) !== first, 'still the other theme');
});

test('pages: on a phone the navigation opens and a table can be queried', { context: { viewport: SIZES.phone, hasTouch: true } }, async ({ page, server, open }) => {
  await haveScene(server);
  await open(`${ACCOUNT}/tables`);
  await page.getByRole('button', { name: 'Navigation' }).click();
  await page.getByRole('link', { name: 'Queues' }).click();
  await page.getByRole('heading', { name: 'Queues' }).waitFor();
  await open(`${ACCOUNT}/tables/Shown`);
  await page.getByLabel('Find a value in any property').fill('Fenna');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/^[23] entities$/).waitFor();
});

test('pages: the page is interactive soon after it is opened', async ({ page, server, open }) => {
  await haveScene(server);
  await open(`${ACCOUNT}/tables`);
  await page.reload();
  await page.locator('.grid-row').first().waitFor();
  const millis = await page.evaluate(() => Math.round(performance.now()));
  console.log(`        interactive ${millis} ms after the navigation began (aim: 300 on an idle machine)`);
});

test('pages: the console works below a prefix of a proxy', async ({ page, server }) => {
  await makeTable(server, 'Proxied', [{ PartitionKey: 'p', RowKey: 'r', Name: 'through the proxy' }]);
  const prefix = '/tools/lazuli/';
  const target = new URL(server.console);
  const proxy = createServer((incoming, outgoing) => {
    if (!incoming.url.startsWith(prefix)) return outgoing.writeHead(404).end();
    const forwarded = request({ host: target.hostname, port: target.port, method: incoming.method, path: incoming.url.slice(prefix.length - 1), headers: incoming.headers }, (response) => {
      outgoing.writeHead(response.statusCode, response.headers);
      response.pipe(outgoing);
    });
    return incoming.pipe(forwarded);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    await page.goto(`http://127.0.0.1:${proxy.address().port}${prefix}#/${ACCOUNT}/tables/Proxied`);
    await page.locator('.grid-row').getByText('through the proxy').waitFor();
    await page.getByRole('button', { name: 'Insert' }).click();
    await page.locator('dialog').getByLabel('PartitionKey').fill('q');
    await page.locator('dialog').getByLabel('RowKey').fill('s');
    await page.locator('dialog').getByRole('button', { name: 'Insert' }).click();
    await page.getByText('2 entities').waitFor();
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('pages: an idle page asks the server for nothing', async ({ page, open, server }) => {
  await haveScene(server);
  await send(server, 'queue', 'PUT', '/idle');
  await page.clock.install();
  let asked = 0;
  page.on('request', (sent) => { if (sent.url().includes('/api/')) asked += 1; });
  /** Lets a minute pass. What a timer began is sent after it was signed: it belongs to the minute before. */
  const minute = async () => {
    await page.clock.runFor(60_000);
    await page.evaluate(() => fetch('api/settings', { headers: { 'x-lazuli-console': '1' } }));
    return asked;
  };
  const views = [['tables', 'h1'], ['tables/Shown', '.grid-row'], ['queues', 'h1'], ['blobs', 'h1'], ['blobs/shown', '.grid-row'], ['blobs/shown/report.csv', '.plain'], ['blobs/shown/report.csv?tab=metadata', '.card'], ['account', '.facts']];
  for (const [view, ready] of views) {
    await open(`${ACCOUNT}/${view}`);
    await page.locator(ready).first().waitFor();
    await page.waitForLoadState('networkidle');
    const before = await minute();
    equal((await minute()) - before, 1, view);
  }
  for (const view of ['queues/idle', 'health']) {
    await open(`${ACCOUNT}/${view}`);
    const visible = asked;
    await page.clock.runFor(10_000);
    await until('a page that shows live numbers asks for them', () => asked > visible);
    await page.evaluate(() => { Object.defineProperty(document, 'hidden', { get: () => true }); });
    const before = await minute();
    equal((await minute()) - before, 1, `${view}, hidden`);
  }
});
