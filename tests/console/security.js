// Markup in data never runs, other origins and rebound names get nothing, read-only is enforced by the server.

import { createServer, request } from 'node:http';
import { ACCOUNT, equal, insertMany, makeTable, ok, send, test } from './support.js';
import { makeContainer, putBlob } from './blobs.js';

const MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg/onload=window.hacked=1>';

test('security: names, values, metadata and blobs full of markup never execute', async ({ page, server, open }) => {
  await makeTable(server, 'Markup', [{ PartitionKey: '<b onclick=alert(1)>', RowKey: '<script>alert(1)</script>'.replaceAll('/', '|'), Value: MARKUP, Name: 'javascript:alert(1)' }]);
  await send(server, 'queue', 'PUT', '/markup', { headers: { 'x-ms-meta-note': '<img src=x onerror=alert(1)>' } });
  const message = Buffer.from(JSON.stringify({ text: MARKUP })).toString('base64');
  await send(server, 'queue', 'POST', '/markup/messages', { headers: { 'content-type': 'application/xml' }, body: `<QueueMessage><MessageText>${message}</MessageText></QueueMessage>` });
  await makeContainer(server, 'markup');
  const name = '<img src=x onerror=alert(1)>.html';
  await putBlob(server, 'markup', encodeURIComponent(name), `<script>parent.hacked=1;top.hacked=1</script>${MARKUP}`, 'text/html', { 'x-ms-meta-note': '<script>alert(1)</script>' });
  const views = ['tables/Markup', 'queues/markup', 'blobs/markup', `blobs/markup/${encodeURIComponent(name)}`, `blobs/markup/${encodeURIComponent(name)}?tab=metadata`, 'health', `tables/${encodeURIComponent(MARKUP)}`];
  for (const view of views) {
    await open(`${ACCOUNT}/${view}`);
    await page.locator('main *').first().waitFor();
    equal(await page.evaluate(() => [window.hacked ?? null, document.querySelectorAll('main img[src="x"], main script, [onclick], [onerror]').length]), [null, 0], view);
  }
  await open(`${ACCOUNT}/tables/Markup`);
  await page.locator('.grid-row').dblclick();
  await page.locator('dialog textarea').first().waitFor();
  await open(`${ACCOUNT}/queues/markup`);
  await page.locator('.grid-row .opens').click();
  await page.locator('dialog pre').first().waitFor();
  await open(`${ACCOUNT}/blobs/markup/${encodeURIComponent(name)}`);
  await page.getByLabel('Rendered').check();
  await page.locator('.preview iframe').waitFor();
  equal(await page.evaluate(() => window.hacked ?? null), null);
});

test('security: markup in previews, tags, dialogs, errors, links and health never executes', async ({ page, server, open }) => {
  const clean = async (what) => equal(await page.evaluate(() => [window.hacked ?? null, document.querySelectorAll('img[src="x"], body script, [onclick], [onerror], [onload]').length]), [null, 0], what);
  await makeContainer(server, 'traps');
  for (const [name, type, body] of [['a.csv', 'text/csv', `Name,${MARKUP.replaceAll(',', '')}\n"${MARKUP.replaceAll('"', '""')}",1\n`], ['a.json', 'application/json', JSON.stringify({ [MARKUP]: MARKUP })], ['a.txt', 'text/plain', MARKUP]]) await putBlob(server, 'traps', name, body, type);
  await send(server, 'blob', 'PUT', '/traps/a.txt', { query: { comp: 'tags' }, headers: { 'content-type': 'application/xml' }, body: '<Tags><TagSet><Tag><Key>a=b</Key><Value>x:/y</Value></Tag></TagSet></Tags>' });
  for (const name of ['a.csv', 'a.json', 'a.txt']) {
    await open(`${ACCOUNT}/blobs/traps/${name}`);
    await page.locator('.preview').getByText('window.hacked=1').first().waitFor();
    await clean(name);
  }
  const name = '<img src=x onerror=window.hacked=1>.txt';
  await putBlob(server, 'traps', encodeURIComponent(name), 'x');
  await open(`${ACCOUNT}/blobs/traps/${encodeURIComponent(name)}?tab=history`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').getByText(name).waitFor();
  await clean('the dialog of a deletion');
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Blob deleted').waitFor();
  await makeTable(server, 'Traps');
  await insertMany(server, 'Traps', Array.from({ length: 1000 }, (_, index) => ({ PartitionKey: '<img src=x onerror=window.hacked=1>', RowKey: String(index), N: 1 })));
  await send(server, 'table', 'GET', '/Traps()', { query: { $filter: "N eq 2 or PartitionKey eq '<svg onload=window.hacked=1>'" }, headers: { accept: 'application/json' } });
  await open(`${ACCOUNT}/health`);
  await page.locator('.heat-row').getByText('onerror').first().waitFor();
  await page.getByRole('link', { name: 'onload=window.hacked' }).waitFor();
  await clean('health');
  await open(`${ACCOUNT}/tables/Traps?filter=${encodeURIComponent(`N eq '${MARKUP}'`)}&select=${encodeURIComponent('<img/src=x>')}`);
  await page.locator('.page').waitFor();
  await clean('a query');
  await open(`${ACCOUNT}/account`);
  await page.getByLabel('SAS URL or token').fill(`?sv=${encodeURIComponent(MARKUP)}&sp=<b>&se=2001-01-01&sig=<i>`);
  await page.getByText('It expired at').waitFor();
  await clean('a pasted SAS');
  await open(encodeURIComponent(MARKUP));
  await page.getByText('This link belongs to the account').waitFor();
  await clean('an account');
});

test('security: markup in files, headers, metadata, policies, rules and responses never executes', async ({ page, server, open }) => {
  const image = '<img src=x onerror=window.hacked=1>';
  const escaped = '&lt;img src=x onerror=window.hacked=1&gt;';
  const clean = async (what) => equal(await page.evaluate(() => [window.hacked ?? null, document.querySelectorAll('img[src="x"], body script, [onclick], [onerror], [onload]').length]), [null, 0], what);
  const xml = { 'content-type': 'application/xml' };
  await send(server, 'blob', 'PUT', '/snares', { query: { restype: 'container' }, headers: { 'x-ms-meta-note': image } });
  await open(`${ACCOUNT}/blobs/snares`);
  await page.getByRole('button', { name: 'Upload' }).click();
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('menuitem', { name: 'Files' }).click()]);
  await chooser.setFiles({ name: `${image}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') });
  await page.getByRole('link', { name: `${image}.txt` }).waitFor();
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).first().click();
  await page.getByRole('menuitem', { name: 'Container settings' }).click();
  await page.locator('dialog').getByLabel('Value').waitFor();
  await clean('an uploaded file and the metadata of a container');
  await putBlob(server, 'snares', 'a.bin', 'x', `text/html;${image}`, { 'x-ms-blob-content-language': image, 'x-ms-blob-content-disposition': image });
  await open(`${ACCOUNT}/blobs/snares/a.bin?tab=properties`);
  equal(await page.getByLabel('Content-Language').inputValue(), image);
  await clean('headers of a blob');
  await send(server, 'queue', 'PUT', '/snares', { headers: { 'x-ms-meta-note': image } });
  await send(server, 'queue', 'PUT', '/snares', { query: { comp: 'acl' }, headers: xml, body: `<SignedIdentifiers><SignedIdentifier><Id>${escaped}</Id><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>` });
  await open(`${ACCOUNT}/queues/snares`);
  await page.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Stored access policies' }).click();
  equal(await page.locator('dialog').getByLabel('Name').inputValue(), image);
  await clean('a policy');
  await open(`${ACCOUNT}/account`);
  await page.getByRole('button', { name: 'Find all policies' }).click();
  await page.getByRole('cell', { name: image }).waitFor();
  await clean('all policies');
  // Whatever a service responds, it is text.
  const respond = (pattern, body, contentType = 'application/xml', status = 200) => page.route(pattern, (route) => route.fulfill({ status, contentType, body }));
  await respond(/comp=list/, `<?xml version="1.0"?><EnumerationResults><Containers><Container><Name>${escaped}</Name><Properties/></Container></Containers><NextMarker/></EnumerationResults>`);
  await open(`${ACCOUNT}/blobs`);
  await page.locator('.grid-row').getByText(image).waitFor();
  await clean('a list');
  await respond(/api\/table\/.*Snares/, JSON.stringify({ value: [{ PartitionKey: 'p', RowKey: 'r', [image]: image }] }), 'application/json');
  await open(`${ACCOUNT}/tables/Snares`);
  await page.getByRole('columnheader', { name: image }).waitFor();
  await clean('a column');
  await page.unrouteAll();
  await respond(/api\/queue\/.*snares/, `<?xml version="1.0"?><Error><Code>${escaped}</Code><Message>${escaped}</Message></Error>`, 'application/xml', 400);
  await open(`${ACCOUNT}/queues/snares`);
  await page.getByRole('alert').getByText(image).first().waitFor();
  await clean('an error');
});

test('security: strings cannot become markup or code in the page', async ({ page, open }) => {
  await open(`${ACCOUNT}/tables`);
  const blocked = await page.evaluate(() => {
    const attempt = (work) => { try { work(); return 'allowed'; } catch (error) { return error.name; } };
    return [
      attempt(() => { document.createElement('div').innerHTML = '<b>x</b>'; }),
      attempt(() => { document.createElement('script').text = 'window.hacked=1'; }),
    ];
  });
  equal(blocked, ['TypeError', 'TypeError']);
});

test('security: a blob that is opened as a page of the console gets nothing', async ({ page, server, open }) => {
  await send(server, 'blob', 'PUT', '/hosted', { query: { restype: 'container' }, headers: { 'x-ms-blob-public-access': 'blob' } });
  await putBlob(server, 'hosted', 'evil.html', '<script>document.title="ran"</script>', 'text/html');
  const response = await page.goto(`${server.console}api/blob/${ACCOUNT}/hosted/evil.html`);
  equal(response.status(), 403);
  ok((await page.title()) !== 'ran', 'the script ran');
  await open(`${ACCOUNT}/tables`);
  const through = await page.evaluate(async (path) => {
    const got = await fetch(path, { headers: { 'x-lazuli-console': '1' } });
    return [got.status, got.headers.get('content-security-policy'), got.headers.get('x-content-type-options')];
  }, `api/blob/${ACCOUNT}/hosted/evil.html`);
  equal(through, [200, "default-src 'none'; sandbox; frame-ancestors 'none'", 'nosniff']);
});

test('security: pages of other origins get nothing', async ({ page, server }) => {
  const evil = createServer((_, response) => { response.setHeader('content-type', 'text/html'); response.end('<title>evil</title><body></body>'); });
  await new Promise((resolve) => evil.listen(0, '127.0.0.1', resolve));
  try {
    await page.goto(`http://127.0.0.1:${evil.address().port}/`);
    const seen = await page.evaluate(async (base) => {
      const read = async (options) => { try { const got = await fetch(`${base}api/settings`, options); return got.type === 'opaque' ? 'opaque' : got.status; } catch { return 'blocked'; } };
      const frame = document.createElement('iframe');
      frame.src = base;
      const loaded = new Promise((resolve) => { frame.onload = resolve; });
      document.body.append(frame);
      await loaded;
      let inside = 'blocked';
      try { inside = frame.contentDocument?.title ?? 'blocked'; } catch { /* another origin, as it should be */ }
      const script = document.createElement('script');
      const ran = new Promise((resolve) => { script.onload = () => resolve('ran'); script.onerror = () => resolve('blocked'); });
      script.src = `${base}api/settings`;
      document.body.append(script);
      return [await read({}), await read({ headers: { 'x-lazuli-console': '1' } }), await read({ method: 'POST', mode: 'no-cors' }), inside, await ran];
    }, server.console);
    equal(seen, ['blocked', 'blocked', 'blocked', 'blocked', 'blocked']);
  } finally {
    evil.close();
  }
});

test('security: forms, files, frames and windows of other origins get nothing', async ({ page, server }) => {
  await send(server, 'blob', 'PUT', '/lent', { query: { restype: 'container' }, headers: { 'x-ms-blob-public-access': 'blob' } });
  await putBlob(server, 'lent', 'a.txt', 'everybody may read this by itself, nobody through the console');
  const icon = (await (await fetch(server.console)).text()).match(/href="(assets\/[^"]+\/icon\.svg)"/)[1];
  const evil = createServer((_, response) => { response.setHeader('content-type', 'text/html'); response.end('<title>evil</title><body></body>'); });
  await new Promise((resolve) => evil.listen(0, '127.0.0.1', resolve));
  try {
    await page.goto(`http://127.0.0.1:${evil.address().port}/`);
    const statuses = [];
    page.on('response', (response) => { if (response.url().startsWith(server.console)) statuses.push([response.request().method(), response.status()]); });
    const seen = await page.evaluate(async ({ base, icon: file, path }) => {
      const load = (tag, source) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve('loaded');
        element.onerror = () => resolve('blocked');
        element.src = base + source;
        document.body.append(element);
      });
      const submit = (method, action) => new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.name = `target-${method}`;
        document.body.append(frame);
        frame.onload = () => { try { resolve(frame.contentDocument ? 'readable' : 'blocked'); } catch { resolve('blocked'); } };
        const form = document.createElement('form');
        Object.assign(form, { method, action: base + action, target: frame.name });
        document.body.append(form);
        form.submit();
      });
      const opened = window.open(base, 'console');
      const reached = () => { try { return opened?.document?.title ? 'readable' : 'blocked'; } catch { return 'blocked'; } };
      return [await load('img', file), await load('img', `api/blob/${path}`), await load('script', file.replace('icon.svg', 'app.js')), await submit('post', `api/queue/${path}`), await submit('get', `api/blob/${path}`), reached()];
    }, { base: server.console, icon, path: `${ACCOUNT}/lent/a.txt` });
    equal(seen, Array(6).fill('blocked'));
    ok(statuses.filter(([method]) => method === 'POST').every(([, status]) => status === 403), JSON.stringify(statuses));
  } finally {
    evil.closeAllConnections();
    evil.close();
  }
});

test('security: whatever is asked for under a foreign name is rejected', async ({ server }) => {
  const base = new URL(server.console);
  const asset = (await (await fetch(server.console)).text()).match(/href="(assets\/[^"]+\/app\.js)"/)[1];
  const status = (path, host, method = 'GET') => new Promise((resolve, reject) => {
    const sent = request({ host: base.hostname, port: base.port, path, method, headers: { host, 'x-lazuli-console': '1' } }, (response) => { response.resume(); resolve(response.statusCode); });
    sent.on('error', reject);
    sent.end();
  });
  const paths = ['/', `/${asset}`, '/api/settings', `/api/health/${ACCOUNT}`, `/api/blob/${ACCOUNT}?comp=list`, `/api/queue/${ACCOUNT}?comp=list`, `/api/table/${ACCOUNT}/Tables`];
  for (const host of ['evil.example', `evil.example:${base.port}`, '127.0.0.1.evil.example', 'localhost.evil.example', 'example.org.']) {
    for (const path of paths) equal(await status(path, host), 421, `${path} for “${host}”`);
    equal(await status(`/api/queue/${ACCOUNT}/q`, host, 'PUT'), 421, `PUT for “${host}”`);
  }
  for (const host of [base.host, `localhost:${base.port}`]) equal(await status('/api/settings', host), 200, host);
});

test('security: a name that was rebound to this machine gets nothing', async ({ page, server }) => {
  const port = new URL(server.console).port;
  const response = await page.goto(`http://evil.example:${port}/`);
  equal(response.status(), 421);
  const api = await page.evaluate(async () => { try { return (await fetch('/api/settings', { headers: { 'x-lazuli-console': '1' } })).status; } catch { return 'blocked'; } });
  equal(api, 'blocked');
});

test('security: read-only is enforced by the server, whatever the page does', async ({ page, server, readOnly, open }) => {
  await makeTable(readOnly, 'Fixed', [{ PartitionKey: 'p', RowKey: 'r', Name: 'kept' }]);
  await send(readOnly, 'queue', 'PUT', '/fixed');
  await send(readOnly, 'queue', 'POST', '/fixed/messages', { headers: { 'content-type': 'application/xml' }, body: '<QueueMessage><MessageText>kept</MessageText></QueueMessage>' });
  await open(`${ACCOUNT}/tables/Fixed`, readOnly);
  await page.locator('.grid-row').getByText('kept').waitFor();
  equal(await page.getByRole('button', { name: 'Insert' }).count(), 0);
  await page.getByText('Read-only').waitFor();
  await makeContainer(readOnly, 'fixed');
  await putBlob(readOnly, 'fixed', 'a.txt', 'kept');
  for (const [view, ready] of [['tables', '.grid-row'], ['tables/Fixed', '.grid-row'], ['queues', '.grid-row'], ['blobs', '.grid-row'], ['blobs/fixed', '.grid-row'], ['blobs/fixed/a.txt', '.preview'], ['blobs/fixed/a.txt?tab=properties', '.facts'], ['blobs/fixed/a.txt?tab=metadata', '.card'], ['account', '.facts']]) {
    await open(`${ACCOUNT}/${view}`, readOnly);
    await page.locator(ready).first().waitFor();
    equal(await page.getByRole('button', { name: /^(Create|Insert|Delete|Upload|Put message|Dequeue|Save|CORS|Soft delete|Logs)/ }).count(), 0, view);
  }
  await open(`${ACCOUNT}/queues/fixed`, readOnly);
  await page.locator('.grid-row').getByText('kept').waitFor();
  equal(await page.getByRole('button', { name: /^(Put message|Dequeue$|Move)/ }).count(), 0, 'a queue');
  const rejected = await page.evaluate(async () => {
    const script = document.querySelector('script[type=module]').src;
    const { developmentAccount } = await import(new URL('lib/client.js', script).href);
    const account = developmentAccount();
    const attempt = async (...call) => { try { await account.request(...call); return 'allowed'; } catch (error) { return error.code; } };
    return [
      await attempt('table', 'DELETE', "/Tables('Fixed')"), await attempt('queue', 'GET', '/fixed/messages'), await attempt('queue', 'DELETE', '/fixed/messages'),
      await attempt('blob', 'PUT', '/made', { query: { restype: 'container' } }), await attempt('table', 'POST', '/$batch', { body: 'x' }),
    ];
  });
  equal(rejected, Array(5).fill('ConsoleReadOnly'));
  const state = await send(readOnly, 'queue', 'GET', '/fixed', { query: { comp: 'metadata' } });
  equal(state.headers.get('x-ms-approximate-messages-count'), '1');
  ok(server.console !== readOnly.console, 'two servers run beside each other');
});

test('security: in read-only mode, no request of any service changes anything', async ({ page, readOnly, open }) => {
  await makeTable(readOnly, 'Still', [{ PartitionKey: 'p', RowKey: 'r', Name: 'kept' }]);
  await send(readOnly, 'queue', 'PUT', '/still');
  await send(readOnly, 'queue', 'POST', '/still/messages', { headers: { 'content-type': 'application/xml' }, body: '<QueueMessage><MessageText>kept</MessageText></QueueMessage>' });
  await makeContainer(readOnly, 'still');
  await putBlob(readOnly, 'still', 'a.txt', 'kept');
  await open(`${ACCOUNT}/tables`, readOnly);
  const entity = "/Still(PartitionKey='p',RowKey='r')";
  const [container, service] = [{ restype: 'container' }, { restype: 'service', comp: 'properties' }];
  const changes = [
    ['table', 'POST', '/Tables'], ['table', 'DELETE', "/Tables('Still')"], ['table', 'POST', '/Still'], ['table', 'PUT', entity], ['table', 'MERGE', entity], ['table', 'PATCH', entity], ['table', 'DELETE', entity],
    ['table', 'POST', entity, {}, { 'x-http-method': 'MERGE' }], ['table', 'POST', '/$batch'], ['table', 'PUT', '/Still', { comp: 'acl' }], ['table', 'PUT', '/', service],
    ['queue', 'PUT', '/made'], ['queue', 'DELETE', '/still'], ['queue', 'POST', '/still/messages'], ['queue', 'DELETE', '/still/messages'], ['queue', 'PUT', '/still/messages/id', { popreceipt: 'r' }],
    ['queue', 'GET', '/still/messages'], ['queue', 'GET', '/still/messages/'], ['queue', 'GET', '/still/%6dessages'], ['queue', 'GET', '/still/messages', { peekonly: 'false' }], ['queue', 'GET', '/still/messages', { numofmessages: '1', visibilitytimeout: '1' }],
    ['queue', 'PUT', '/still', { comp: 'metadata' }], ['queue', 'PUT', '/still', { comp: 'acl' }], ['queue', 'POST', '/still/messages', { comp: 'move' }], ['queue', 'PUT', '/', service],
    ['blob', 'PUT', '/made', container], ['blob', 'DELETE', '/still', container], ['blob', 'PUT', '/still', { ...container, comp: 'metadata' }], ['blob', 'PUT', '/still', { ...container, comp: 'acl' }], ['blob', 'PUT', '/still', { ...container, comp: 'lease' }],
    ['blob', 'PUT', '/still/a.txt'], ['blob', 'DELETE', '/still/a.txt'], ...['block', 'blocklist', 'snapshot', 'lease', 'tier', 'tags', 'metadata', 'properties', 'undelete'].map((comp) => ['blob', 'PUT', '/still/a.txt', { comp }]),
    ['blob', 'PUT', '/still/copy.txt', {}, { 'x-ms-copy-source': `${readOnly.endpoints.blob}/still/a.txt` }], ['blob', 'POST', '/', { comp: 'batch' }], ['blob', 'PUT', '/', service],
  ];
  const responses = await page.evaluate(async (list) => {
    const script = document.querySelector('script[type=module]').src;
    const { developmentAccount } = await import(new URL('lib/client.js', script).href);
    const found = [];
    for (const [service, method, path, query, headers] of list) {
      const given = { query: query ?? {}, headers: headers ?? {}, ...(method === 'GET' ? {} : { body: 'x' }) };
      try { await developmentAccount().request(service, method, path, given); found.push('allowed'); } catch (error) { found.push(error.code); }
    }
    return found;
  }, changes);
  changes.forEach((change, index) => equal(responses[index], 'ConsoleReadOnly', change.slice(0, 3).join(' ')));
  const peeked = await (await send(readOnly, 'queue', 'GET', '/still/messages', { query: { peekonly: 'true' } })).text();
  ok(peeked.includes('<MessageText>kept</MessageText>') && peeked.includes('<DequeueCount>0</DequeueCount>'), peeked);
  equal(await (await send(readOnly, 'blob', 'GET', '/still/a.txt')).text(), 'kept');
  equal((await (await send(readOnly, 'table', 'GET', entity, { headers: { accept: 'application/json' } })).json()).Name, 'kept');
});

test('security: signing without WebCrypto gives the same signatures', async ({ page, open }) => {
  await open(`${ACCOUNT}/tables`);
  const same = await page.evaluate(async () => {
    const script = document.querySelector('script[type=module]').src;
    const { hmac } = await import(new URL('lib/sha256.js', script).href);
    for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]) {
      const key = crypto.getRandomValues(new Uint8Array(length % 2 ? 64 : 100));
      const message = crypto.getRandomValues(new Uint8Array(length));
      const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
      const expected = new Uint8Array(await crypto.subtle.sign('HMAC', imported, message));
      if (hmac(key, message).join() !== expected.join()) return length;
    }
    return 'same';
  });
  equal(same, 'same');
});
