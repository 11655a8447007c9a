// Every page at desktop and phone width, in both themes: it is drawn, nothing overflows, and axe finds nothing serious.

import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { ACCOUNT, equal, makeTable, ok, once, send, test, until } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

const PAGES = [
  ['tables', 'tables', '.grid-row'], ['table', "tables/Shown?filter=PartitionKey%20eq%20'delft'", '.grid-row'], ['queues', 'queues', '.grid-row'], ['queue', 'queues/shown-poison', '.grid-row'],
  ['containers', 'blobs', '.grid-row'], ['container', 'blobs/shown', '.grid-row'], ['blob', 'blobs/shown/report.csv', '.plain'], ['properties', 'blobs/shown/report.csv?tab=properties', '.facts'],
  ['metadata', 'blobs/shown/report.csv?tab=metadata', 'text="Save tags"'], ['history', 'blobs/shown/report.csv?tab=history', '.plain'], ['absent', 'queues/absent', '.error'],
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

const EMPTY = [['tables', 'tables'], ['queues', 'queues'], ['containers', 'blobs'], ['account', 'account'], ['health', 'health']];

for (const [size, colorScheme] of [['desktop', 'light'], ['phone', 'dark']]) {
  test(`pages: a new server on a ${size}`, { flags: [], context: { viewport: SIZES[size], colorScheme, bypassCSP: true, hasTouch: size === 'phone' } }, async ({ page, open, axe }) => {
    const problems = [];
    for (const [name, path] of EMPTY) {
      await open(`${ACCOUNT}/${path}`);
      await page.locator('h1').waitFor();
      problems.push(...(await violations(page, axe)).map((problem) => `${name}: ${problem}`));
      await picture(page, `empty-${name}-${size}-${colorScheme}`);
    }
    ok(problems.length === 0, problems.join('\n        '));
  });
}

const choose = async (page, item) => {
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).first().click();
  await page.getByRole('menuitem', { name: item }).click();
};

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
  ['create', 'blobs', async (page) => page.getByRole('button', { name: 'Create' }).click()],
  ['import', 'tables/Shown', async (page) => choose(page, 'Import')],
  ['conflict', 'tables/Shown', async (page, server) => {
    await page.locator('.grid-row').first().dblclick();
    await page.locator('dialog').getByLabel('Value').first().fill('mine');
    await send(server, 'table', 'PUT', "/Shown(PartitionKey='delft',RowKey='0001')", { headers: { 'content-type': 'application/json', 'if-match': '*' }, body: '{"Name":"theirs"}' });
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('The entity has changed').waitFor();
  }],
  ['dequeue', 'queues/shown-poison', async (page) => page.getByRole('button', { name: 'Dequeue', exact: true }).click()],
  ['move', 'queues/shown-poison', async (page) => page.getByRole('button', { name: 'Move to shown' }).click()],
  ['clear', 'queues/shown-poison', async (page) => choose(page, 'Clear')],
  ['find', 'queues', async (page) => {
    await page.getByRole('button', { name: 'Find a message' }).click();
    await page.locator('dialog').getByLabel('Text').fill('Elin');
    await page.keyboard.press('Enter');
    await page.locator('dialog').getByRole('link', { name: 'shown-poison' }).waitFor();
  }],
  ['copy', 'blobs/shown/report.csv', async (page) => choose(page, 'Copy to')],
  ['tier', 'blobs/shown/report.csv', async (page) => choose(page, 'Change tier')],
  ['lease', 'blobs/shown/report.csv', async (page) => choose(page, 'Acquire lease')],
  ['retention', 'account', async (page) => page.getByRole('button', { name: 'Soft delete' }).click()],
  ['shortcuts', 'tables', async (page) => page.keyboard.press('?')],
  ['palette', 'tables', async (page) => { await page.keyboard.press('Control+k'); await page.keyboard.type('Shown'); await page.getByRole('option', { name: 'Shown tables' }).waitFor(); }],
];

for (const [size, colorScheme] of [['desktop', 'dark'], ['phone', 'light']]) {
  test(`pages: dialogs on a ${size}`, { context: { viewport: SIZES[size], colorScheme, bypassCSP: true } }, async ({ page, server, open, axe }) => {
    await haveScene(server);
    const problems = [];
    for (const [name, path, show] of DIALOGS) {
      await open(`${ACCOUNT}/${path}`);
      await show(page, server);
      await page.locator('dialog[open]').last().waitFor();
      problems.push(...(await violations(page, axe)).map((problem) => `${name}: ${problem}`));
      const overflow = await page.evaluate(() => Math.max(...[...document.querySelectorAll('dialog[open]')].map((body) => body.scrollWidth - body.clientWidth)));
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
  // A finger does not hit the box exactly: its cell counts.
  await page.locator('.grid-row .check-cell').first().tap({ position: { x: 4, y: 16 } });
  await until('one row is selected', async () => (await page.locator('.grid-row.selected').count()) === 1);
});

test('pages: every view has a link that opens it again', { flags: ['--blob-versioning'] }, async ({ page, context, server, open }) => {
  await haveScene(server);
  await putBlob(server, 'shown', 'notes.md', 'the second version');
  /** Opens the link of what is shown now in another tab, where the same must be shown. */
  const opensAgain = async (part, heading, text) => {
    ok(decodeURIComponent(page.url()).replaceAll('+', ' ').includes(part), `${page.url()} has no ${part}`);
    const other = await context.newPage();
    await other.goto(page.url());
    await other.getByRole('heading', { name: heading, exact: true }).first().waitFor();
    await other.locator('main').getByText(text).first().waitFor();
    equal(other.url(), page.url(), 'the link stays');
    await other.close();
  };
  const crumb = (name) => page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name, exact: true }).click();
  await open('');
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
  await page.getByRole('link', { name: 'Shown', exact: true }).click();
  await page.getByLabel('Filter').fill("Name eq 'Fenna'");
  await page.getByLabel('Filter').press('Enter');
  await page.getByText(/^[23] entities$/).waitFor();
  await opensAgain("filter=Name eq 'Fenna'", 'Shown', /^[23] entities$/);
  await open(`${ACCOUNT}/queues`);
  await page.getByRole('link', { name: 'shown-poison' }).click();
  await page.getByRole('heading', { name: 'shown-poison' }).waitFor();
  await opensAgain('/queues/shown-poison', 'shown-poison', '6 messages');
  await open(`${ACCOUNT}/blobs`);
  await page.getByRole('link', { name: 'shown', exact: true }).click();
  await page.getByRole('link', { name: '2026/' }).click();
  await page.getByRole('link', { name: 'january/' }).click();
  await page.getByRole('heading', { name: 'january' }).waitFor();
  await opensAgain('prefix=2026/january/', 'january', 'invoice-001.json');
  await page.getByRole('link', { name: 'invoice-001.json' }).click();
  await page.getByRole('heading', { name: 'invoice-001.json' }).waitFor();
  await page.getByRole('tab', { name: 'Properties' }).click();
  await opensAgain('/blobs/shown/2026/january/invoice-001.json?tab=properties', 'invoice-001.json', 'ETag');
  await crumb('shown');
  await page.getByLabel('Versions').check();
  await page.locator('.grid-row', { hasText: 'version' }).getByRole('link', { name: 'notes.md' }).click();
  await page.locator('.preview pre').getByText('content of notes.md').waitFor();
  await opensAgain('version=', 'notes.md', 'content of notes.md');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByRole('heading', { name: ACCOUNT }).waitFor();
  await opensAgain(`${ACCOUNT}/account`, ACCOUNT, 'Endpoints');
});

test('pages: the console listens where it is told to, and says what it is', async ({ page, server, open, startWith }) => {
  await open(`${ACCOUNT}/tables`);
  if (page.viewportSize().width < 600) await page.getByRole('button', { name: 'Navigation' }).click();
  await page.getByText('Free software').waitFor();
  const statusOf = async (url) => { try { return (await fetch(url)).status; } catch { return 'nobody'; } };
  const elsewhere = (url) => url.replace('127.0.0.1', '127.0.0.2');
  equal([await statusOf(server.console), await statusOf(elsewhere(server.console))], [200, 'nobody'], 'loopback alone, unless told otherwise');
  await startWith(['--console-host', '127.0.0.2'], async (other) => {
    equal([new URL(other.console).hostname, await statusOf(other.console)], ['127.0.0.2', 200], '--console-host');
  });
  await startWith(['--no-console'], async (other) => equal(other.console, '', '--no-console'));
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
