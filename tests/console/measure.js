// Measures the cost of the console: node measure.js --binary FILE --modules DIR [--chromium FILE] [--loads COUNT]
// [--seconds COUNT]
//
// - how long a page takes until it can be used: from the start of the navigation until its rows or cards are there, once with an empty
//   cache, as after an update, and once with the files in the cache; the median and the worst of `--loads` loads
// - the cost of an idle page for the server: requests and processor time in `--seconds`, next to the same without any
//   page
//
// Run it on a machine that does nothing else. Nothing here passes or fails.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ACCOUNT, makeTable, send, startServer } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

const flag = (name, usual) => (process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : usual);
const require = createRequire(join(flag('modules', '.'), 'package.json'));
const { chromium } = require('playwright-core');
const LOADS = Number(flag('loads', '11'));
const IDLE_SECONDS = Number(flag('seconds', '10'));
const VIEWS = [
  ['tables', '.grid-row'], ['tables/Shown', '.grid-row'], ['queues', '.grid-row'], ['queues/shown', '.grid-row'], ['blobs', '.grid-row'], ['blobs/shown', '.grid-row'],
  ['blobs/shown/a.txt', '.preview pre'], ['account', '.facts'], ['health', '.tile'],
];

const server = await startServer(flag('binary', 'target/release/lazuli'));
const browser = await chromium.launch({ executablePath: flag('chromium', '/usr/bin/chromium'), args: ['--no-sandbox', '--disable-gpu'] });

await makeTable(server, 'Shown', Array.from({ length: 50 }, (_, index) => ({ PartitionKey: 'p', RowKey: String(index), Name: `Person ${index}` })));
await send(server, 'queue', 'PUT', '/shown');
await send(server, 'queue', 'POST', '/shown/messages', { headers: { 'content-type': 'application/xml' }, body: '<QueueMessage><MessageText>message</MessageText></QueueMessage>' });
await makeContainer(server, 'shown');
await putBlob(server, 'shown', 'a.txt', 'text');

/** Milliseconds from the start of a navigation until an element is drawn; the page reads the time by itself. */
async function interactive(page, ready) {
  await page.reload({ waitUntil: 'commit' });
  return page.evaluate((selector) => new Promise((resolve) => {
    const look = () => (document.documentElement.dataset.ready && document.querySelector(selector) ? resolve(performance.now()) : setTimeout(look, 1));
    look();
  }), ready);
}

function summary(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return `${Math.round(sorted[Math.floor(sorted.length / 2)])} ms, at most ${Math.round(sorted.at(-1))} ms`;
}

/** User and system time of the server in milliseconds; a tick of the clock is 10 ms. */
function processorTime() {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));

try {
  for (const [view, ready] of VIEWS) {
    const [first, again] = [[], []];
    const context = await browser.newContext();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    // The first load also starts a process of the browser, which is not the page's doing.
    await page.goto(`${server.console}#/${ACCOUNT}/${view}`);
    await page.locator(ready).first().waitFor();
    for (let load = 0; load < LOADS; load += 1) {
      await session.send('Network.clearBrowserCache');
      first.push(await interactive(page, ready));
      again.push(await interactive(page, ready));
    }
    await context.close();
    console.log(`${view.padEnd(18)} empty cache: ${summary(first)}; cached: ${summary(again)}`);
  }
  const alone = processorTime();
  await pause();
  console.log(`no page            ${processorTime() - alone} ms of processor time in ${IDLE_SECONDS} s`);
  for (const view of ['tables/Shown', 'blobs/shown', 'queues/shown', 'health']) {
    const page = await browser.newPage();
    await page.goto(`${server.console}#/${ACCOUNT}/${view}`);
    await page.waitForLoadState('networkidle');
    let requests = 0;
    page.on('request', () => { requests += 1; });
    const before = processorTime();
    await pause();
    console.log(`${view.padEnd(18)} ${processorTime() - before} ms of processor time and ${requests} requests in ${IDLE_SECONDS} s`);
    await page.close();
  }
} finally {
  await browser.close();
  await server.stop();
}
