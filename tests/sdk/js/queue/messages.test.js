// Messages: send, receive, peek, update, delete, clear; visibility, expiry, receipts, limits.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { eventually, queue, rejected } = require("./helper.js");

const DAY = 86_400_000;
const texts = (items) => items.map((item) => item.messageText);
const peek = async (fresh, numberOfMessages = 32) => texts((await fresh.peekMessages({ numberOfMessages })).peekedMessageItems);
const receive = async (fresh, options) => (await fresh.receiveMessages(options)).receivedMessageItems;

test("sendMessage says when and how (QU-01)", async () => {
  const fresh = await queue();
  const sent = await fresh.sendMessage("hello");
  assert.ok(sent.messageId && sent.popReceipt);
  assert.equal(sent.expiresOn - sent.insertedOn, 7 * DAY);
  assert.equal(+sent.nextVisibleOn, +sent.insertedOn);
});

test("a received message is hidden, then back, and counted (QU-01, QU-02, QU-04, QU-05)", async () => {
  const fresh = await queue();
  await fresh.sendMessage("x");
  const [first] = await receive(fresh, { visibilityTimeout: 1 });
  assert.deepEqual([first.messageText, first.dequeueCount], ["x", 1]);
  const second = await eventually(async () => (await receive(fresh, { visibilityTimeout: 600 }))[0]);
  assert.deepEqual([second.messageId, second.dequeueCount], [first.messageId, 2]);
  assert.ok(second.nextVisibleOn - Date.now() > 500_000);
  assert.deepEqual(await receive(fresh), []);
  assert.deepEqual(await peek(fresh), []);
});

test("deleteMessage needs the last receipt (QU-03)", async () => {
  const fresh = await queue();
  await fresh.sendMessage("x");
  const [first] = await receive(fresh, { visibilityTimeout: 1 });
  const second = await eventually(async () => (await receive(fresh))[0]);
  await rejected(fresh.deleteMessage(second.messageId, first.popReceipt), 404, "MessageNotFound");
  await fresh.deleteMessage(second.messageId, second.popReceipt);
  await rejected(fresh.deleteMessage(second.messageId, second.popReceipt), 404, "MessageNotFound");
});

test("updateMessage changes text, time and receipt", async () => {
  const fresh = await queue();
  await fresh.sendMessage("old");
  const [held] = await receive(fresh);
  const updated = await fresh.updateMessage(held.messageId, held.popReceipt, "new", 0);
  assert.notEqual(updated.popReceipt, held.popReceipt);
  assert.deepEqual(await peek(fresh), ["new"]);
  await rejected(fresh.updateMessage(held.messageId, held.popReceipt, "late", 0), 404, "MessageNotFound");
  const again = await fresh.updateMessage(held.messageId, updated.popReceipt, undefined, 600);
  assert.deepEqual(await peek(fresh), []);
  await fresh.updateMessage(held.messageId, again.popReceipt, undefined, 0);
  assert.deepEqual(await peek(fresh), ["new"]);
});

test("messages come in order, up to 32 at once", async () => {
  const fresh = await queue();
  const expected = [...Array(40).keys()].map(String);
  for (const text of expected) {
    await fresh.sendMessage(text);
  }
  assert.deepEqual(await peek(fresh), expected.slice(0, 32));
  assert.deepEqual(texts(await receive(fresh, { numberOfMessages: 32 })), expected.slice(0, 32));
  assert.deepEqual(texts(await receive(fresh, { numberOfMessages: 32 })), expected.slice(32));
  await fresh.clearMessages();
  assert.equal((await fresh.getProperties()).approximateMessagesCount, 0);
});

test("delay and time to live", async () => {
  const fresh = await queue();
  await fresh.sendMessage("later", { visibilityTimeout: 600 });
  assert.deepEqual(await peek(fresh), []);
  const forever = await fresh.sendMessage("forever", { messageTimeToLive: -1 });
  assert.equal(forever.expiresOn.getUTCFullYear(), 9999);
  const long = await fresh.sendMessage("long", { messageTimeToLive: 8 * 86_400 });
  assert.equal(long.expiresOn - long.insertedOn, 8 * DAY);
  await fresh.sendMessage("short", { messageTimeToLive: 1 });
  await eventually(async () => (await peek(fresh)).join() === "forever,long");
});

test("numbers out of range", async () => {
  const fresh = await queue();
  const code = "OutOfRangeQueryParameterValue";
  await rejected(fresh.receiveMessages({ numberOfMessages: 33 }), 400, code);
  await rejected(fresh.peekMessages({ numberOfMessages: 33 }), 400, code);
  await rejected(fresh.receiveMessages({ visibilityTimeout: 0 }), 400, code);
  await rejected(fresh.receiveMessages({ visibilityTimeout: 604_801 }), 400, code);
  await rejected(fresh.sendMessage("x", { visibilityTimeout: 604_801 }), 400, code);
  await rejected(fresh.sendMessage("x", { messageTimeToLive: 30, visibilityTimeout: 30 }), 400, "InvalidQueryParameterValue");
});

const TEXTS = ["", " ", "  x  ", "<a href=\"x\">&amp;</a>", "a\nb", "Grüße, 世界, 😀", '{"a": 1}', "x".repeat(65_536)];
for (const text of TEXTS) {
  test(`the text ${JSON.stringify(text.slice(0, 20))} comes back as it was`, async () => {
    const fresh = await queue();
    await fresh.sendMessage(text);
    assert.deepEqual(await peek(fresh), [text]);
    assert.deepEqual(texts(await receive(fresh)), [text]);
  });
}

test("a text that is too long", async () => {
  const fresh = await queue();
  await rejected(fresh.sendMessage("x".repeat(65_537)), 413, "RequestBodyTooLarge");
});

test("no message has two holders (QU-01)", async () => {
  const fresh = await queue();
  await Promise.all([...Array(100).keys()].map((number) => fresh.sendMessage(`${number}`)));
  const held = await Promise.all([...Array(20).keys()].map(() => receive(fresh, { numberOfMessages: 5, visibilityTimeout: 600 })));
  const ids = held.flat().map((item) => item.messageId);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(ids.length, 100);
});
