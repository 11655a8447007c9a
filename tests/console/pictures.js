// Takes the pictures of docs/console: node pictures.js --binary FILE --modules DIR [--chromium FILE] --to DIR
//
// LAZULI_CONSOLE_WEB takes the page's files from the folder, as for the tests.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ACCOUNT, insertMany, makeTable, send, startServer, until } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

const flag = (name, usual) => (process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : usual);
const require = createRequire(join(flag('modules', '.'), 'package.json'));
const { chromium } = require('playwright-core');
const folder = flag('to', 'docs/console');
const web = process.env.LAZULI_CONSOLE_WEB;
const LOOKS = {
  light: { viewport: { width: 1100, height: 640 }, colorScheme: 'light' },
  dark: { viewport: { width: 1100, height: 640 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 760 }, colorScheme: 'dark', hasTouch: true },
};
const FILTER = encodeURIComponent("PartitionKey eq 'nl-delft' and Age gt 60");
/** Where it matters to see the end. */
const HEIGHTS = { share: 740, account: 1000, connect: 700, health: 1460 };
/** Of the health page, one every two seconds. */
const READINGS = 30;
const REPORT = 'blobs/invoices/report.csv';

const share = async (page) => {
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByLabel('Link').first().waitFor();
};
const isCounted = (page) => page.locator('.tile .big').first().getByText(/^[1-9]/).waitFor();
/** Name, link, what must be there, and what to do before the picture is taken. */
const PAGES = [
  ['tables', 'tables', '.grid-row'], ['table', `tables/Customers?filter=${FILTER}`, '.plan'], ['queues', 'queues', '.grid-row'], ['queue', 'queues/orders-poison', '.grid-row'],
  ['containers', 'blobs', '.grid-row'], ['container', 'blobs/invoices', '.grid-row'], ['blob', REPORT, '.plain'], ['properties', `${REPORT}?tab=properties`, '.facts'],
  ['metadata', `${REPORT}?tab=metadata`, 'text="Save tags"'], ['history', `${REPORT}?tab=history`, '.plain'], ['share', REPORT, '.plain', share], ['account', 'account', '.facts'],
  ['connect', '../elsewhere/tables', 'form'], ['health', 'health', '.tile', isCounted],
];

const server = await startServer(flag('binary', 'target/release/lazuli'));
const browser = await chromium.launch({ executablePath: flag('chromium', '/usr/bin/chromium'), args: ['--no-sandbox', '--disable-gpu'] });
const put = (queue, value) => send(server, 'queue', 'POST', `/${queue}/messages`, {
  headers: { 'content-type': 'application/xml' }, body: `<QueueMessage><MessageText>${Buffer.from(JSON.stringify(value)).toString('base64')}</MessageText></QueueMessage>`,
});
const query = (filter) => send(server, 'table', 'GET', '/Customers()', { query: { $filter: filter, $top: '20' }, headers: { accept: 'application/json' } });

async function setScene() {
  const people = ['Anna de Vries', 'Bram Jansen', 'Cor van den Berg', 'Dirk Bakker', 'Elin Visser', 'Fenna Smit', 'Guus Meijer', 'Hanna Mulder'];
  for (const table of ['Customers', 'Orders', 'Sessions', 'Settings']) await makeTable(server, table);
  for (const city of ['nl-delft', 'nl-gouda', 'nl-leiden', 'be-gent']) {
    await insertMany(server, 'Customers', Array.from({ length: 300 }, (_, index) => ({
      PartitionKey: city, RowKey: `c-${101_000 + index * 37}`, Name: people[index % 8], Email: `${people[index % 8].toLowerCase().replaceAll(' ', '.')}@example.org`, Age: 18 + (index % 63), Member: index % 3 === 0,
    })));
  }
  for (const queue of ['emails', 'orders', 'orders-poison', 'thumbnails']) await send(server, 'queue', 'PUT', `/${queue}`);
  for (let index = 0; index < 14; index += 1) await put('orders-poison', { order: 1000 + index, customer: people[index % 8], total: 12.5 * index });
  for (let index = 0; index < 5; index += 1) await put('emails', { to: people[index] });
  for (const container of ['backups', 'invoices', 'photos']) await makeContainer(server, container);
  const rows = people.map((name, index) => `${name},${12 + index * 7},${(index * 311.5).toFixed(2)}`);
  await putBlob(server, 'invoices', 'report.csv', `Customer,Orders,Total\n${rows.slice(0, 5).join('\n')}\n`, 'text/csv', { 'x-ms-meta-department': 'sales' });
  await send(server, 'blob', 'PUT', '/invoices/report.csv', { query: { comp: 'snapshot' } });
  await putBlob(server, 'invoices', 'report.csv', `Customer,Orders,Total\n${rows.join('\n')}\n`, 'text/csv', { 'x-ms-meta-department': 'sales', 'x-ms-tags': 'year=2026&state=final' });
  await putBlob(server, 'invoices', 'logo.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><rect width="60" height="40"/></svg>', 'image/svg+xml');
  for (const name of ['2025/invoice-0001.pdf', '2026/invoice-0002.pdf', 'readme.md', 'settings.json']) await putBlob(server, 'invoices', name, `{"name": "${name}"}`);
  await query("Name eq 'nobody'");
}

/** Clients at work, for the numbers of a live page. */
async function work(signal) {
  while (!signal.aborted) {
    await query("PartitionKey eq 'nl-delft' and Age gt 60");
    await query(`PartitionKey eq 'nl-gouda' and RowKey eq 'c-101037'`);
    await put('emails', { to: 'Anna de Vries' });
    await putBlob(server, 'backups', 'latest.bin', 'x'.repeat(4000));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

async function newPage(look) {
  const context = await browser.newContext(LOOKS[look]);
  if (web) {
    await context.route(/\/assets\/[0-9a-f]+\//, (route) => {
      const path = join(web, new URL(route.request().url()).pathname.replace(/^.*\/assets\/[0-9a-f]+\//, ''));
      return existsSync(path) ? route.fulfill({ path }) : route.continue();
    });
  }
  return context.newPage();
}

async function show(page, [, path, ready, act]) {
  await page.goto('about:blank');
  await page.goto(`${server.console}#/${path.startsWith('../') ? path.slice(3) : `${ACCOUNT}/${path}`}`);
  await page.locator(ready).first().waitFor();
  await act?.(page);
  // Depths of queues and the like arrive after the rows.
  await page.waitForLoadState('networkidle');
}

/** A picture with several phones beside each other. */
async function phones() {
  const page = await newPage('phone');
  const shots = [];
  for (const name of ['table', 'queue', 'container', 'share', 'health']) {
    await show(page, PAGES.find((entry) => entry[0] === name));
    shots.push((await page.screenshot()).toString('base64'));
  }
  const sheet = await browser.newPage({ viewport: { width: 5 * 300 + 6 * 12, height: 585 + 24 } });
  await sheet.setContent(`<body style="margin:12px;display:flex;gap:12px;background:#888">${shots.map((shot) => `<img style="width:300px;height:585px;border-radius:14px" src="data:image/png;base64,${shot}">`).join('')}</body>`);
  await sheet.screenshot({ path: join(folder, 'phone.png') });
}

const stop = new AbortController();
try {
  await setScene();
  const working = work(stop.signal);
  const page = await newPage('light');
  for (const entry of PAGES) {
    await show(page, entry);
    await page.setViewportSize({ ...LOOKS.light.viewport, height: HEIGHTS[entry[0]] ?? LOOKS.light.viewport.height });
    if (entry[0] === 'health') {
      let readings = 0;
      page.on('response', (response) => { if (response.url().includes('/api/health')) readings += 1; });
      await until('the charts are filled', () => readings >= READINGS);
    }
    await page.screenshot({ path: join(folder, `${entry[0]}.png`) });
  }
  const dark = await newPage('dark');
  await show(dark, PAGES.find(([name]) => name === 'table'));
  await dark.screenshot({ path: join(folder, 'table-dark.png') });
  await phones();
  stop.abort();
  await working;
} finally {
  stop.abort();
  await browser.close();
  await server.stop();
}
