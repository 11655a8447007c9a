package lazuli;

import static lazuli.Blobs.DIGITS;
import static lazuli.Blobs.id;
import static lazuli.Blobs.tolerate;
import static lazuli.Suite.denied;
import static lazuli.Suite.rejected;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.http.RequestConditions;
import com.azure.core.util.BinaryData;
import com.azure.core.util.FluxUtil;
import com.azure.storage.blob.*;
import com.azure.storage.blob.batch.*;
import com.azure.storage.blob.models.*;
import com.azure.storage.blob.options.*;
import com.azure.storage.blob.sas.*;
import com.azure.storage.blob.specialized.*;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.common.sas.*;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Flux;

/** The asynchronous clients of com.azure:azure-storage-blob and azure-storage-blob-batch: every method, and the same behaviour. */
class AsyncBlobs {
    static final String TIME = "2020-01-01T00:00:00.0000000Z";
    BlobServiceAsyncClient service;
    BlobContainerAsyncClient container;
    BlobAsyncClient blob;

    @BeforeEach
    void create() {
        service = BlobForms.builder().buildAsyncClient();
        container = service.createBlobContainer(Suite.unique("java-")).block();
        blob = container.getBlobAsyncClient("blob");
        blob.upload(DIGITS).block();
    }

    @AfterEach
    void delete() {
        if (container != null) {
            service.deleteBlobContainerIfExists(container.getBlobContainerName()).block();
        }
    }

    static Flux<ByteBuffer> digits() {
        return Flux.just(ByteBuffer.wrap(DIGITS.toBytes()));
    }

    static String text(Flux<ByteBuffer> pieces) {
        return new String(FluxUtil.collectBytesInByteBufferStream(pieces).block());
    }

    static String source(BlobAsyncClientBase of) {
        return of.getBlobUrl() + "?" + of.generateSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobSasPermission.parse("r")));
    }

    @Test
    void containers() {
        String name = container.getBlobContainerName();
        rejected(409, "ContainerAlreadyExists", () -> container.create().block());
        assertFalse(container.createIfNotExists().block());
        assertEquals(409, container.createIfNotExistsWithResponse(null).block().getStatusCode());
        assertTrue(container.exists().block() && container.existsWithResponse().block().getValue());
        container.setMetadata(Map.of("color", "blue")).block();
        assertEquals(200, container.setMetadataWithResponse(Map.of("color", "red"), null).block().getStatusCode());
        assertEquals(Map.of("color", "red"), container.getProperties().block().getMetadata());
        assertEquals(200, container.getPropertiesWithResponse(null).block().getStatusCode());
        assertTrue(service.listBlobContainers().any(item -> item.getName().equals(name)).block());
        assertEquals(1, service.listBlobContainers(new ListBlobContainersOptions().setPrefix(name)).count().block());
        for (StorageAccountInfo info : List.of(service.getAccountInfo().block(), container.getAccountInfo().block(), blob.getAccountInfo().block(),
            service.getAccountInfoWithResponse().block().getValue(), container.getAccountInfoWithResponse().block().getValue(), blob.getAccountInfoWithResponse().block().getValue())) {
            assertFalse(info.isHierarchicalNamespaceEnabled());
        }
        container.delete().block();
        assertFalse(container.deleteIfExists().block());
        assertEquals(404, container.deleteIfExistsWithResponse(null).block().getStatusCode());
        assertEquals(201, container.createWithResponse(Map.of("a", "b"), null).block().getStatusCode());
        assertEquals(202, container.deleteWithResponse(null).block().getStatusCode());
        service.createBlobContainerIfNotExists(name).block();
        service.deleteBlobContainer(name).block();
        assertEquals(201, service.createBlobContainerIfNotExistsWithResponse(name, null).block().getStatusCode());
        assertEquals(202, service.deleteBlobContainerWithResponse(name).block().getStatusCode());
        assertEquals(201, service.createBlobContainerWithResponse(name, null, null).block().getStatusCode());
        assertEquals(202, service.deleteBlobContainerIfExistsWithResponse(name).block().getStatusCode());
        assertEquals(name, service.getBlobContainerAsyncClient(name).getBlobContainerName());
        tolerate(() -> service.undeleteBlobContainer(Suite.unique("java-"), "01D6").block());
        tolerate(() -> service.undeleteBlobContainerWithResponse(new UndeleteBlobContainerOptions(Suite.unique("java-"), "01D6")).block());
    }

    @Test
    void names() {
        assertEquals(service.getAccountUrl(), container.getServiceAsyncClient().getAccountUrl());
        assertTrue(container.getAccountUrl().equals(blob.getAccountUrl()) && container.getBlobContainerUrl().endsWith(container.getBlobContainerName()));
        assertEquals(List.of(Suite.ACCOUNT, Suite.ACCOUNT, Suite.ACCOUNT), List.of(service.getAccountName(), container.getAccountName(), blob.getAccountName()));
        assertEquals(List.of("blob", container.getBlobContainerName()), List.of(blob.getBlobName(), blob.getContainerName()));
        assertEquals(blob.getContainerAsyncClient().getBlobContainerUrl(), container.getBlobContainerUrl());
        assertTrue(service.getServiceVersion() == container.getServiceVersion() && container.getServiceVersion() == blob.getServiceVersion());
        assertTrue(service.getHttpPipeline() != null && container.getHttpPipeline() != null && blob.getHttpPipeline() != null);
        assertTrue(blob.getSnapshotClient(TIME).isSnapshot() && TIME.equals(container.getBlobAsyncClient("blob", TIME).getSnapshotId()));
        assertTrue(TIME.equals(blob.getVersionClient(TIME).getVersionId()) && TIME.equals(container.getBlobVersionAsyncClient("blob", TIME).getVersionId()));
        assertTrue(container.getCustomerProvidedKey() == null && container.getEncryptionScope() == null && blob.getCustomerProvidedKey() == null);
        CustomerProvidedKey key = new CustomerProvidedKey(new byte[32]);
        for (BlobAsyncClientBase one : List.<BlobAsyncClientBase>of(blob.getCustomerProvidedKeyAsyncClient(key), blob.getBlockBlobAsyncClient().getCustomerProvidedKeyAsyncClient(key),
            blob.getAppendBlobAsyncClient().getCustomerProvidedKeyAsyncClient(key), blob.getPageBlobAsyncClient().getCustomerProvidedKeyAsyncClient(key))) {
            assertEquals(key.getKeySha256(), one.getCustomerProvidedKey().getEncryptionKeySha256());
        }
        for (BlobAsyncClientBase one : List.<BlobAsyncClientBase>of(blob.getEncryptionScopeAsyncClient("scope"), blob.getBlockBlobAsyncClient().getEncryptionScopeAsyncClient("scope"),
            blob.getAppendBlobAsyncClient().getEncryptionScopeAsyncClient("scope"), blob.getPageBlobAsyncClient().getEncryptionScopeAsyncClient("scope"))) {
            assertEquals(blob.getBlobUrl(), one.getBlobUrl());
        }
    }

    @Test
    void uploadsAndDownloads(@TempDir Path folder) throws Exception {
        Path in = Files.writeString(folder.resolve("in"), "0123456789");
        assertEquals(201, blob.uploadWithResponse(new BlobParallelUploadOptions(DIGITS)).block().getStatusCode());
        container.getBlobAsyncClient("file").uploadFromFile(in.toString()).block();
        assertEquals(201, container.getBlobAsyncClient("file").uploadFromFileWithResponse(new BlobUploadFromFileOptions(in.toString())).block().getStatusCode());
        assertEquals("0123456789", text(blob.download()));
        assertEquals("0123456789", text(blob.downloadStream()));
        assertEquals("0123456789", blob.downloadContent().block().toString());
        assertEquals("234", text(blob.downloadWithResponse(new BlobRange(2, 3L), null, null, false).block().getValue()));
        assertEquals("345", text(blob.downloadStreamWithResponse(new BlobRange(3, 3L), null, null, false).block().getValue()));
        assertEquals("0123456789", blob.downloadContentWithResponse(null, null).block().getValue().toString());
        blob.downloadToFile(folder.resolve("out").toString()).block();
        assertEquals("0123456789", Files.readString(folder.resolve("out")));
        assertEquals(10, blob.downloadToFileWithResponse(new BlobDownloadToFileOptions(folder.resolve("again").toString())).block().getValue().getBlobSize());
    }

    @Test
    void propertiesSnapshotsAndCopies() {
        assertTrue(blob.exists().block() && blob.existsWithResponse().block().getValue());
        blob.setHttpHeaders(new BlobHttpHeaders().setContentType("text/html")).block();
        assertEquals(200, blob.setHttpHeadersWithResponse(new BlobHttpHeaders().setContentType("text/plain"), null).block().getStatusCode());
        blob.setMetadata(Map.of("a", "b")).block();
        assertEquals(200, blob.setMetadataWithResponse(Map.of("c", "d"), null).block().getStatusCode());
        assertEquals(Map.of("c", "d"), blob.getProperties().block().getMetadata());
        assertEquals("text/plain", blob.getPropertiesWithResponse(null).block().getValue().getContentType());
        assertTrue(blob.createSnapshot().block().isSnapshot() && blob.createSnapshotWithResponse(null, null).block().getStatusCode() == 201);
        BlobAsyncClient copy = container.getBlobAsyncClient("copy");
        copy.beginCopy(blob.getBlobUrl(), Duration.ofMillis(100)).blockLast();
        String copyId = copy.copyFromUrl(source(blob)).block();
        assertEquals(202, copy.copyFromUrlWithResponse(new BlobCopyFromUrlOptions(source(blob))).block().getStatusCode());
        rejected(409, "NoPendingCopyOperation", () -> copy.abortCopyFromUrl(copyId).block());
        rejected(409, "NoPendingCopyOperation", () -> copy.abortCopyFromUrlWithResponse(copyId, null).block());
        assertEquals("0123456789", copy.downloadContent().block().toString());
        copy.delete().block();
        assertFalse(copy.deleteIfExists().block());
        assertEquals(404, copy.deleteIfExistsWithResponse(null, null).block().getStatusCode());
        assertEquals(202, blob.deleteWithResponse(DeleteSnapshotsOptionType.INCLUDE, null).block().getStatusCode());
    }

    @Test
    void blocks() {
        BlockBlobAsyncClient block = container.getBlobAsyncClient("block").getBlockBlobAsyncClient();
        block.upload(digits(), 10).block();
        assertEquals(201, block.uploadWithResponse(new BlockBlobSimpleUploadOptions(DIGITS)).block().getStatusCode());
        block.uploadFromUrl(source(blob), true).block();
        assertEquals(201, block.uploadFromUrlWithResponse(new BlobUploadFromUrlOptions(source(blob))).block().getStatusCode());
        block.stageBlock(id(1), DIGITS).block();
        assertEquals(201, block.stageBlockWithResponse(new BlockBlobStageBlockOptions(id(2), DIGITS)).block().getStatusCode());
        block.stageBlockFromUrl(id(3), source(blob), new BlobRange(0, 1L)).block();
        assertEquals(201, block.stageBlockFromUrlWithResponse(new BlockBlobStageBlockFromUrlOptions(id(4), source(blob))).block().getStatusCode());
        assertEquals(4, block.listBlocks(BlockListType.ALL).block().getUncommittedBlocks().size());
        block.commitBlockList(List.of(id(1), id(3)), true).block();
        assertEquals(2, block.listBlocksWithResponse(BlockListType.ALL, null).block().getValue().getCommittedBlocks().size());
        assertEquals(201, block.commitBlockListWithResponse(new BlockBlobCommitBlockListOptions(List.of(id(3), id(1)))).block().getStatusCode());
        assertEquals("00123456789", block.downloadContent().block().toString());
    }

    @Test
    void appendBlobs() {
        Suite.later();
        AppendBlobAsyncClient log = container.getBlobAsyncClient("log").getAppendBlobAsyncClient();
        log.create().block();
        log.createIfNotExists().block();
        assertEquals(409, log.createIfNotExistsWithResponse(new AppendBlobCreateOptions()).block().getStatusCode());
        log.appendBlock(digits(), 10).block();
        assertEquals("10", log.appendBlockWithResponse(digits(), 10, null, null).block().getValue().getBlobAppendOffset());
        log.appendBlockFromUrl(source(blob), new BlobRange(0)).block();
        assertEquals(4, log.appendBlockFromUrlWithResponse(new AppendBlobAppendBlockFromUrlOptions(source(blob))).block().getValue().getBlobCommittedBlockCount());
        assertTrue(log.getMaxAppendBlockBytes() > 0 && log.getMaxBlocks() > 0);
        log.seal().block();
        assertEquals(200, log.sealWithResponse(new AppendBlobSealOptions()).block().getStatusCode());
        assertEquals(201, log.createWithResponse(new AppendBlobCreateOptions()).block().getStatusCode());
    }

    @Test
    void pageBlobs() {
        Suite.later();
        PageBlobAsyncClient disk = container.getBlobAsyncClient("disk").getPageBlobAsyncClient();
        PageRange first = new PageRange().setStart(0).setEnd(511);
        PageRange second = new PageRange().setStart(512).setEnd(1023);
        Flux<ByteBuffer> page = Flux.defer(() -> Flux.just(ByteBuffer.wrap(new byte[512])));
        BlobRange all = new BlobRange(0);
        disk.create(4096).block();
        disk.createIfNotExists(4096).block();
        assertEquals(409, disk.createIfNotExistsWithResponse(new PageBlobCreateOptions(4096)).block().getStatusCode());
        assertEquals(201, disk.createWithResponse(new PageBlobCreateOptions(4096)).block().getStatusCode());
        disk.uploadPages(first, page).block();
        String snapshot = disk.createSnapshot().block().getSnapshotId();
        assertEquals(201, disk.uploadPagesWithResponse(second, page, null, null).block().getStatusCode());
        disk.uploadPagesFromUrl(new PageRange().setStart(1024).setEnd(1535), source(disk), 0L).block();
        assertEquals(201, disk.uploadPagesFromUrlWithResponse(new PageBlobUploadPagesFromUrlOptions(new PageRange().setStart(1536).setEnd(2047), source(disk))).block().getStatusCode());
        disk.clearPages(first).block();
        assertEquals(201, disk.clearPagesWithResponse(second, null).block().getStatusCode());
        assertEquals(1024, disk.getPageRanges(all).block().getPageRange().get(0).getStart());
        assertEquals(1, disk.getPageRangesWithResponse(all, null).block().getValue().getPageRange().size());
        assertEquals(1, disk.listPageRanges(all).count().block());
        assertEquals(1, disk.getPageRangesDiff(all, snapshot).block().getClearRange().size());
        assertEquals(1, disk.getPageRangesDiffWithResponse(all, snapshot, null).block().getValue().getPageRange().size());
        assertEquals(2, disk.listPageRangesDiff(all, snapshot).count().block());
        tolerate(() -> disk.getManagedDiskPageRangesDiff(all, disk.getBlobUrl() + "?snapshot=" + snapshot).block());
        tolerate(() -> disk.getManagedDiskPageRangesDiffWithResponse(all, disk.getBlobUrl() + "?snapshot=" + snapshot, null).block());
        disk.resize(2048).block();
        assertEquals(200, disk.resizeWithResponse(4096, null).block().getStatusCode());
        disk.updateSequenceNumber(SequenceNumberActionType.UPDATE, 7L).block();
        assertEquals(8L, disk.updateSequenceNumberWithResponse(SequenceNumberActionType.INCREMENT, null, null).block().getValue().getBlobSequenceNumber());
        PageBlobAsyncClient copy = container.getBlobAsyncClient("copy").getPageBlobAsyncClient();
        copy.copyIncremental(disk.getBlobUrl(), snapshot).block();
        String later = disk.createSnapshot().block().getSnapshotId();
        assertEquals(202, copy.copyIncrementalWithResponse(disk.getBlobUrl(), later, null).block().getStatusCode());
    }

    /** BL-09 */
    @Test
    void listings() {
        container.getBlobAsyncClient("a/1").upload(DIGITS).block();
        assertEquals(List.of("a/1", "blob"), container.listBlobs().map(BlobItem::getName).collectList().block());
        assertEquals(2, container.listBlobsByHierarchy("").count().block());
        assertEquals(1, container.listBlobs(new ListBlobsOptions().setPrefix("a/")).count().block());
    }

    @Test
    void tagsTiersAndHolds() throws Exception {
        Suite.later();
        String mark = Suite.unique("mark");
        blob.setTags(Map.of("mark", "other")).block();
        assertEquals(204, blob.setTagsWithResponse(new BlobSetTagsOptions(Map.of("mark", mark))).block().getStatusCode());
        assertEquals(Map.of("mark", mark), blob.getTags().block());
        assertEquals(200, blob.getTagsWithResponse(new BlobGetTagsOptions()).block().getStatusCode());
        assertEquals(1, container.findBlobsByTags("mark='" + mark + "'").count().block());
        assertEquals(1, service.findBlobsByTags("mark='" + mark + "'").count().block());
        blob.setAccessTier(AccessTier.COOL).block();
        assertEquals(200, blob.setAccessTierWithResponse(new BlobSetAccessTierOptions(AccessTier.HOT)).block().getStatusCode());
        assertTrue(blob.setLegalHold(true).block().hasLegalHold());
        assertFalse(blob.setLegalHoldWithResponse(false).block().getValue().hasLegalHold());
        BlobImmutabilityPolicy policy = new BlobImmutabilityPolicy().setExpiryTime(Suite.soon()).setPolicyMode(BlobImmutabilityPolicyMode.UNLOCKED);
        blob.setImmutabilityPolicy(policy).block();
        assertEquals(200, blob.setImmutabilityPolicyWithResponse(policy, null).block().getStatusCode());
        rejected(409, "BlobImmutableDueToPolicy", () -> blob.delete().block());
        blob.deleteImmutabilityPolicy().block();
        assertEquals(200, blob.deleteImmutabilityPolicyWithResponse().block().getStatusCode());
        blob.undelete().block();
        assertEquals(200, blob.undeleteWithResponse().block().getStatusCode());
        tolerate(() -> blob.query("SELECT * from BlobStorage").blockLast());
        tolerate(() -> blob.queryWithResponse(new BlobQueryOptions("SELECT * from BlobStorage")).block());
    }

    /** LS-01 to LS-03 */
    @Test
    void leases() {
        RequestConditions any = new RequestConditions();
        BlobLeaseAsyncClient lease = new BlobLeaseClientBuilder().blobAsyncClient(blob).buildAsyncClient();
        lease.acquireLease(15).block();
        lease.renewLease().block();
        assertEquals(200, lease.renewLeaseWithResponse(any).block().getStatusCode());
        lease.changeLease(UUID.randomUUID().toString()).block();
        assertEquals(200, lease.changeLeaseWithResponse(UUID.randomUUID().toString(), any).block().getStatusCode());
        rejected(412, "LeaseIdMissing", () -> blob.setMetadata(Map.of()).block());
        lease.releaseLease().block();
        assertEquals(201, lease.acquireLeaseWithResponse(-1, any).block().getStatusCode());
        assertEquals(200, lease.releaseLeaseWithResponse(any).block().getStatusCode());
        lease.acquireLease(-1).block();
        assertEquals(0, lease.breakLease().block());
        assertEquals(0, lease.breakLeaseWithResponse(0, any).block().getValue());
        assertTrue(lease.getResourceUrl().endsWith("blob") && lease.getLeaseId() != null && lease.getAccountName().equals(Suite.ACCOUNT));
    }

    @Test
    void batches() {
        BlobBatchAsyncClient batches = new BlobBatchClientBuilder(service).buildAsyncClient();
        BlobBatch batch = batches.getBlobBatch();
        batch.setBlobAccessTier(blob.getBlobUrl(), AccessTier.COOL);
        batches.submitBatch(batch).block();
        BlobBatch second = batches.getBlobBatch();
        second.deleteBlob(container.getBlobAsyncClient("missing").getBlobUrl());
        assertEquals(202, batches.submitBatchWithResponse(second, false).block().getStatusCode());
        assertEquals(1, batches.setBlobsAccessTier(List.of(blob.getBlobUrl()), AccessTier.HOT).count().block());
        assertEquals(1, batches.deleteBlobs(List.of(blob.getBlobUrl()), DeleteSnapshotsOptionType.INCLUDE).count().block());
    }

    @Test
    void policiesAndSignatures() {
        BlobAccessPolicy policy = new BlobAccessPolicy().setExpiresOn(Suite.soon()).setPermissions("r");
        container.setAccessPolicy(null, List.of(new BlobSignedIdentifier().setId("reader").setAccessPolicy(policy))).block();
        assertEquals(1, container.getAccessPolicy().block().getIdentifiers().size());
        assertEquals(200, container.setAccessPolicyWithResponse(PublicAccessType.BLOB, List.of(), null).block().getStatusCode());
        assertEquals(PublicAccessType.BLOB, container.getAccessPolicyWithResponse(null).block().getValue().getBlobAccessType());
        String list = container.generateSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobContainerSasPermission.parse("l")));
        BlobContainerAsyncClient lister = new BlobContainerClientBuilder().endpoint(container.getBlobContainerUrl()).sasToken(list).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertEquals(1, lister.listBlobs().count().block());
        String wide = service.generateAccountSas(new AccountSasSignatureValues(Suite.soon(), AccountSasPermission.parse("rl"), AccountSasService.parse("b"), AccountSasResourceType.parse("sco")));
        BlobServiceAsyncClient all = new BlobServiceClientBuilder().endpoint(service.getAccountUrl()).sasToken(wide).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertTrue(all.listBlobContainers().any(item -> item.getName().equals(container.getBlobContainerName())).block());
        denied(() -> all.getBlobContainerAsyncClient(container.getBlobContainerName()).delete().block());
    }

    @Test
    void serviceProperties() {
        BlobServiceProperties before = service.getProperties().block();
        service.setProperties(new BlobServiceProperties().setLogging(before.getLogging())).block();
        assertEquals(200, service.getPropertiesWithResponse().block().getStatusCode());
        assertEquals(202, service.setPropertiesWithResponse(new BlobServiceProperties().setLogging(before.getLogging())).block().getStatusCode());
        BlobServiceAsyncClient secondary = new BlobServiceClientBuilder().endpoint(Suite.endpoint("Blob", 10000) + "-secondary")
            .credential(new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertTrue(secondary.getStatistics().block().getGeoReplication() != null);
        assertEquals(200, secondary.getStatisticsWithResponse().block().getStatusCode());
    }

    @Test
    void userDelegation() {
        BlobServiceAsyncClient user = BlobForms.builder().httpClient(Suite.withBearer()).buildAsyncClient();
        OffsetDateTime start = OffsetDateTime.now().minusHours(1);
        UserDelegationKey key = user.getUserDelegationKey(start, Suite.soon()).block();
        assertEquals(200, user.getUserDelegationKeyWithResponse(start, Suite.soon()).block().getStatusCode());
        String token = blob.generateUserDelegationSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobSasPermission.parse("r")), key);
        BlobAsyncClient reader = new BlobClientBuilder().endpoint(blob.getBlobUrl()).sasToken(token).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertEquals("0123456789", reader.downloadContent().block().toString());
        String wide = container.generateUserDelegationSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobContainerSasPermission.parse("l")), key);
        BlobContainerAsyncClient lister = new BlobContainerClientBuilder().endpoint(container.getBlobContainerUrl()).sasToken(wide).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertEquals(1, lister.listBlobs().count().block());
    }
}
