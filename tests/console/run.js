// Runs the console's tests in Chromium against servers of their own:
// node run.js --binary FILE --modules DIR [--chromium FILE] [--only NAME] [--long] [--look NAME]
//
// LAZULI_CONSOLE_SCREENSHOTS=DIR also writes a picture of every page.
// LAZULI_CONSOLE_WEB=crates/console/web takes the page's files from the folder instead of the binary: no rebuild after a change.

import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, tests } from './support.js';
import './tables.js';
import './queues.js';
import './blobs.js';
import './account.js';
import './security.js';
import './meanwhile.js';
import './pages.js';

const flag = (name, usual) => (process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : usual);
const binary = flag('binary', 'target/release/lazuli');
const require = createRequire(join(flag('modules', '.'), 'package.json'));
const only = flag('only', '');
/** Far more than any test needs: a busy machine must not fail one. */
const TEST_MILLISECONDS = 300_000;

const { chromium } = require('playwright-core');
const axe = require('axe-core').source;
// A name of another site that leads to this machine, for the test of DNS rebinding; and one as this machine has for its neighbours.
const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP evil.example 127.0.0.1, MAP workstation 127.0.0.1'];
const browser = await chromium.launch({ executablePath: flag('chromium', '/usr/bin/chromium'), args });
/** How the page is looked at. Every test runs on a desktop; those of the main flows on a phone, too; with `--long`, all of them in all ways. */
const LOOKS = {
  desktop: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true },
  'dark desktop': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  'light phone': { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true },
};
const isLong = process.argv.includes('--long');
let [failures, count, flaky] = [0, 0, 0];

/** Replaces the embedded files by those of a folder, for the console's own pages; a name carries the hash of all files behind `assets`. */
async function serveFrom(context, folder) {
  await context.route(/\/assets\/[0-9a-f]+\//, (route) => {
    if (new URL(route.request().frame().url()).origin !== new URL(route.request().url()).origin) return route.continue();
    const path = join(folder, new URL(route.request().url()).pathname.replace(/^.*\/assets\/[0-9a-f]+\//, ''));
    return existsSync(path) ? route.fulfill({ path }) : route.continue();
  });
}

/**
 * Runs a test, and once more on fresh servers if it failed: on a busy machine, a browser draws late now and then. Both
 * failures count as one; a test that passes the second time is reported as flaky, with the first failure above it.
 */
async function runOne(entry, look, servers) {
  count += 1;
  if (await attempt(entry, look, servers)) return;
  const server = await startServer(binary);
  const readOnly = await startServer(binary, ['--console-read-only']);
  try {
    if (await attempt(entry, look, { server, readOnly })) {
      flaky += 1;
      console.log(`FLAKY   ${entry.name} (${look}): passed the second time`);
    } else failures += 1;
  } finally {
    await Promise.all([server.stop(), readOnly.stop()]);
  }
}

/** Runs something against a server with other flags. */
async function startWith(flags, use) {
  const other = await startServer(binary, flags);
  try {
    await use(other);
  } finally {
    await other.stop();
  }
}

async function attempt({ name, options, body }, look, { server, readOnly }) {
  const context = await browser.newContext({ ...LOOKS[look], acceptDownloads: true, ...options.context });
  context.setDefaultTimeout(90_000);
  if (process.env.LAZULI_CONSOLE_WEB) await serveFrom(context, process.env.LAZULI_CONSOLE_WEB);
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(`page error: ${error.message}`));
  page.on('dialog', (dialog) => { problems.push(`a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
  const own = options.flags ? await startServer(binary, options.flags) : server;
  const open = async (hash, on = own) => {
    // A link that differs behind the # alone would not load the page again.
    await page.goto('about:blank');
    await page.goto(`${on.console}#/${hash}`);
    await page.waitForSelector('html[data-ready]', { state: 'attached' });
  };
  const expire = new Promise((_, reject) => setTimeout(() => reject(new Error('the test took too long')), TEST_MILLISECONDS).unref());
  try {
    await Promise.race([body({ page, context, server: own, readOnly, open, axe, browser, isLong, startWith }), expire]);
    if (problems.length) throw new Error(problems.join('; '));
    console.log(`ok      ${name} (${look})`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${name} (${look})\n        ${String(error.stack ?? error).split('\n').slice(0, 12).join('\n        ')}`);
    const shown = await page.locator('.error, [role=alert]').allInnerTexts().catch(() => []);
    if (shown.length) console.log(`        the page shows: ${shown.join(' | ')}`);
    return false;
  } finally {
    // A request that a test has held may still be on its way through a handler.
    await page.unrouteAll({ behavior: 'ignoreErrors' }).catch(() => {});
    await context.close();
    if (own !== server) await own.stop();
  }
}

/** Runs the tests of one look against servers of their own. */
async function runLook(look) {
  const wanted = tests.filter((entry) => entry.name.includes(only) && (isLong || !entry.options.isLongOnly) && (look === 'desktop' || (!entry.options.context && (isLong || entry.options.isMain))));
  if (wanted.length === 0 || (!isLong && look !== 'desktop' && look !== 'phone')) return;
  const server = await startServer(binary);
  const readOnly = await startServer(binary, ['--console-read-only']);
  try {
    for (const entry of wanted) await runOne(entry, look, { server, readOnly });
  } finally {
    const codes = await Promise.all([server.stop(), readOnly.stop()]);
    if (codes.some((code) => code !== 0)) {
      failures += 1;
      console.log(`FAILED  a server ended with ${codes}`);
    }
  }
}

try {
  const looks = Object.keys(LOOKS).filter((look) => look === flag('look', look));
  await Promise.all(looks.slice(0, 2).map(runLook));
  await Promise.all(looks.slice(2).map(runLook));
} finally {
  await browser.close();
}
console.log(`${count} tests, ${failures} failed, ${flaky} flaky`);
process.exit(failures ? 1 : 0);
