// Shared access signatures of blobs, containers and the account.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const {
  AccountSASPermissions, AnonymousCredential, BlobClient, BlobSASPermissions, BlobServiceClient, BlockBlobClient, ContainerClient, ContainerSASPermissions,
  generateAccountSASQueryParameters, generateBlobSASQueryParameters, newPipeline,
} = require("@azure/storage-blob");
const { ACCOUNT, CREDENTIAL, ENDPOINT, OPTIONS, TOKEN, all, blob, content, grouped, outcome, randomName, rejected, service, soon, withToken } = require("./helper.js");

function holder(containerName, blobName, permissions, options = {}) {
  const kind = blobName ? BlobSASPermissions : ContainerSASPermissions;
  const token = generateBlobSASQueryParameters(
    { containerName, blobName, permissions: permissions && kind.parse(permissions), expiresOn: options.identifier ? undefined : soon(), ...options }, CREDENTIAL);
  const url = `${ENDPOINT}/${containerName}${blobName ? `/${blobName}` : ""}?${token}`;
  return blobName ? new BlockBlobClient(url, new AnonymousCredential(), OPTIONS) : new ContainerClient(url, new AnonymousCredential(), OPTIONS);
}

grouped(["sas"], "each permission of a blob SAS", async () => {
  const { container, blob: client } = await blob();
  const calls = {
    r: (mine) => mine.getProperties(), w: (mine) => mine.setMetadata({}), d: (mine) => mine.delete(),
  };
  for (const letter of "rwd") {
    for (const [needed, call] of Object.entries(calls)) {
      await client.upload("x", 1);
      const found = await outcome(call(holder(container.containerName, "blob", letter)));
      assert.equal(found === "ok", letter === needed, `${letter} ${needed}: ${found}`);
      assert.ok(found === "ok" || found.startsWith("403"), found);
    }
  }
  await client.upload("x", 1);
  await rejected(holder(container.containerName, "blob", "c").upload("y", 1), 403, "UnauthorizedBlobOverwrite");
  await holder(container.containerName, "new", "c").upload("y", 1);
});

grouped(["sas"], "a container SAS", async () => {
  const { container } = await blob();
  assert.equal((await all(holder(container.containerName, undefined, "l").listBlobsFlat())).length, 1);
  assert.equal(await content(holder(container.containerName, undefined, "r").getBlobClient("blob")), "0123456789");
  assert.ok((await outcome(all(holder(container.containerName, undefined, "r").listBlobsFlat()))).startsWith("403"));
  assert.ok((await outcome(holder(container.containerName, undefined, "racwdl").delete())).startsWith("403"));
});

grouped(["sas"], "times, headers in the signature, and snapshots", async () => {
  const { container, blob: client } = await blob();
  const name = container.containerName;
  await rejected(holder(name, "blob", "r", { expiresOn: soon(-1) }).download(), 403, "AuthenticationFailed");
  assert.equal((await holder(name, "blob", "r", { contentType: "text/csv", cacheControl: "no-cache" }).getProperties()).contentType, "text/csv");
  const { snapshot } = await client.createSnapshot();
  const mine = holder(name, "blob", "r", { snapshotTime: snapshot });
  assert.equal(await content(mine.withSnapshot(snapshot)), "0123456789");
  assert.equal(await outcome(mine.withSnapshot("").download()), "403 AuthenticationFailed");
});

grouped(["sas", "acl"], "a stored policy, and its end (BL-07)", async () => {
  const { container } = await blob();
  await container.setAccessPolicy(undefined, [{ id: "reader", accessPolicy: { startsOn: soon(-1), expiresOn: soon(), permissions: "r" } }]);
  const reader = holder(container.containerName, "blob", undefined, { identifier: "reader" });
  assert.equal(await content(reader), "0123456789");
  await container.setAccessPolicy();
  await rejected(reader.download(), 403, "AuthenticationFailed");
});

grouped(["sas"], "addresses that the clients sign", async () => {
  const { container, blob: client } = await blob();
  const read = { permissions: BlobSASPermissions.parse("r"), expiresOn: soon() };
  assert.equal(await content(new BlobClient(await client.generateSasUrl(read), undefined, OPTIONS)), "0123456789");
  assert.ok(client.generateSasStringToSign(read).includes("/blob/"));
  const list = { permissions: ContainerSASPermissions.parse("l"), expiresOn: soon() };
  assert.equal((await all(new ContainerClient(await container.generateSasUrl(list), undefined, OPTIONS).listBlobsFlat())).length, 1);
  assert.ok(container.generateSasStringToSign(list).includes(container.containerName));
  const account = new BlobServiceClient(service.generateAccountSasUrl(soon(), AccountSASPermissions.parse("rwdlac"), "sco"), undefined, OPTIONS);
  assert.equal((await all(account.listContainers({ prefix: container.containerName }))).length, 1);
  assert.ok(service.generateSasStringToSign(soon(), AccountSASPermissions.parse("r"), "s").includes("\n"));
});

grouped(["sas"], "an account SAS, by permission, resource and service", async () => {
  const account = (permissions, resourceTypes, services = "b") => new BlobServiceClient(`${ENDPOINT}?${generateAccountSASQueryParameters(
    { permissions: AccountSASPermissions.parse(permissions), resourceTypes, services, expiresOn: soon() }, CREDENTIAL)}`, new AnonymousCredential(), OPTIONS);
  const name = randomName();
  const everything = account("rwdlac", "sco");
  await everything.createContainer(name);
  await everything.getContainerClient(name).uploadBlockBlob("a", "x", 1);
  assert.equal(await content(everything.getContainerClient(name).getBlobClient("a")), "x");
  await rejected(account("rwdlac", "o").createContainer(randomName()), 403, "AuthorizationResourceTypeMismatch");
  await rejected(account("rwdlac", "sco", "qt").getContainerClient(name).getProperties(), 403, "AuthorizationServiceMismatch");
  assert.ok((await outcome(account("r", "sco").getContainerClient(name).uploadBlockBlob("b", "x", 1))).startsWith("403"));
});

test("a user delegation SAS", { skip: !TOKEN && "LAZULI_TOKEN is not set" }, async () => {
  const { container, blob: client } = await blob();
  const key = await new BlobServiceClient(ENDPOINT, withToken(newPipeline(new AnonymousCredential(), OPTIONS))).getUserDelegationKey(soon(-1), soon(2));
  assert.equal(key.signedService, "b");
  const read = { permissions: BlobSASPermissions.parse("r"), expiresOn: soon() };
  const token = generateBlobSASQueryParameters({ containerName: container.containerName, blobName: "blob", ...read }, key, ACCOUNT);
  for (const address of [`${client.url}?${token}`, await client.generateUserDelegationSasUrl(read, key)]) {
    const reader = new BlockBlobClient(address, new AnonymousCredential(), OPTIONS);
    assert.equal(await content(reader), "0123456789");
    await rejected(reader.delete(), 403, "AuthorizationPermissionMismatch");
  }
  const list = { permissions: ContainerSASPermissions.parse("l"), expiresOn: soon() };
  const lister = new ContainerClient(await container.generateUserDelegationSasUrl(list, key), new AnonymousCredential(), OPTIONS);
  assert.equal((await all(lister.listBlobsFlat())).length, 1);
  assert.ok(client.generateUserDelegationSasStringToSign(read, key).includes(key.signedObjectId));
  assert.ok(container.generateUserDelegationSasStringToSign(list, key).includes(container.containerName));
});
