package lazuli;

import static lazuli.Blobs.DIGITS;
import static lazuli.Blobs.id;
import static lazuli.Blobs.source;
import static lazuli.Blobs.tolerate;
import static lazuli.Suite.denied;
import static lazuli.Suite.rejected;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.http.RequestConditions;
import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.storage.blob.*;
import com.azure.storage.blob.batch.*;
import com.azure.storage.blob.models.*;
import com.azure.storage.blob.options.*;
import com.azure.storage.blob.sas.*;
import com.azure.storage.blob.specialized.*;
import com.azure.storage.common.StorageSharedKeyCredential;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
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

/** com.azure:azure-storage-blob: the forms of calls that return a response, keys and scopes of encryption, user delegation, and the check that nothing is left out. */
class BlobForms {
    static final Duration TIMEOUT = Duration.ofSeconds(60);
    static final RequestConditions ANY = new RequestConditions();
    BlobServiceClient service;
    BlobContainerClient container;
    BlobClient blob;

    static BlobServiceClientBuilder builder() {
        return new BlobServiceClientBuilder().connectionString(Suite.connectionString("Blob", 10000)).retryOptions(Suite.NO_RETRIES);
    }

    @BeforeEach
    void create() {
        service = builder().buildClient();
        container = service.createBlobContainerWithResponse(Suite.unique("java-"), Map.of("color", "blue"), null, Context.NONE).getValue();
        blob = container.getBlobClient("blob");
        blob.uploadWithResponse(new BlobParallelUploadOptions(DIGITS), TIMEOUT, Context.NONE);
    }

    @AfterEach
    void delete() {
        if (container != null) {
            service.deleteBlobContainerIfExistsWithResponse(container.getBlobContainerName(), Context.NONE);
        }
    }

    @Test
    void responsesOfContainers() {
        String name = container.getBlobContainerName();
        assertTrue(container.existsWithResponse(TIMEOUT, Context.NONE).getValue());
        assertEquals(200, container.getPropertiesWithResponse(null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, container.setMetadataWithResponse(Map.of("color", "red"), null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, container.setAccessPolicyWithResponse(PublicAccessType.BLOB, List.of(), null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(PublicAccessType.BLOB, container.getAccessPolicyWithResponse(null, TIMEOUT, Context.NONE).getValue().getBlobAccessType());
        assertEquals(200, container.getAccountInfoWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, service.getAccountInfoWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(202, container.deleteWithResponse(null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(404, container.deleteIfExistsWithResponse(null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(201, container.createWithResponse(null, null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(409, container.createIfNotExistsWithResponse(null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(202, service.deleteBlobContainerWithResponse(name, Context.NONE).getStatusCode());
        assertEquals(404, service.deleteBlobContainerIfExistsWithResponse(name, Context.NONE).getStatusCode());
        assertEquals(201, service.createBlobContainerIfNotExistsWithResponse(name, new BlobContainerCreateOptions(), Context.NONE).getStatusCode());
        tolerate(() -> service.undeleteBlobContainerWithResponse(new UndeleteBlobContainerOptions(Suite.unique("java-"), "01D6"), TIMEOUT, Context.NONE));
        BlobServiceProperties before = service.getPropertiesWithResponse(TIMEOUT, Context.NONE).getValue();
        assertEquals(202, service.setPropertiesWithResponse(new BlobServiceProperties().setLogging(before.getLogging()), TIMEOUT, Context.NONE).getStatusCode());
        BlobServiceClient secondary = new BlobServiceClientBuilder().endpoint(Suite.endpoint("Blob", 10000) + "-secondary")
            .credential(new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals(200, secondary.getStatisticsWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertTrue(service.getHttpPipeline() != null && container.getHttpPipeline() != null && blob.getHttpPipeline() != null);
    }

    @Test
    void responsesOfBlobs(@TempDir Path folder) throws Exception {
        assertTrue(blob.existsWithResponse(TIMEOUT, Context.NONE).getValue());
        assertEquals(200, blob.setHttpHeadersWithResponse(new BlobHttpHeaders().setContentType("text/plain"), null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, blob.getAccountInfoWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        blob.downloadWithResponse(bytes, new BlobRange(2, 3L), null, null, false, TIMEOUT, Context.NONE);
        assertEquals("234", bytes.toString());
        assertEquals("0123456789", blob.downloadContentWithResponse(null, null, TIMEOUT, Context.NONE).getValue().toString());
        Path out = folder.resolve("out");
        assertEquals(10, blob.downloadToFileWithResponse(new BlobDownloadToFileOptions(out.toString()), TIMEOUT, Context.NONE).getValue().getBlobSize());
        assertEquals("0123456789", Files.readString(out));
        assertEquals(201, container.getBlobClient("file").uploadFromFileWithResponse(new BlobUploadFromFileOptions(out.toString()), TIMEOUT, Context.NONE).getStatusCode());
        BlobClientBase snapshot = blob.createSnapshotWithResponse(Map.of("a", "b"), null, TIMEOUT, Context.NONE).getValue();
        assertEquals(Map.of("a", "b"), snapshot.getProperties().getMetadata());
        String copyId = container.getBlobClient("copy").copyFromUrlWithResponse(new BlobCopyFromUrlOptions(source(blob)), TIMEOUT, Context.NONE).getValue();
        rejected(409, "NoPendingCopyOperation", () -> container.getBlobClient("copy").abortCopyFromUrlWithResponse(copyId, null, TIMEOUT, Context.NONE));
        assertEquals(202, blob.deleteIfExistsWithResponse(DeleteSnapshotsOptionType.INCLUDE, null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(404, blob.deleteIfExistsWithResponse(null, null, TIMEOUT, Context.NONE).getStatusCode());
    }

    @Test
    void responsesOfBlocks() {
        BlockBlobClient block = container.getBlobClient("block").getBlockBlobClient();
        assertEquals(201, block.uploadWithResponse(new BlockBlobSimpleUploadOptions(DIGITS).setTags(Map.of("a", "b")), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(201, block.uploadFromUrlWithResponse(new BlobUploadFromUrlOptions(source(blob)), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(201, block.stageBlockWithResponse(new BlockBlobStageBlockOptions(id(1), DIGITS), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(201, block.stageBlockFromUrlWithResponse(new BlockBlobStageBlockFromUrlOptions(id(2), source(blob)), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(2, block.listBlocksWithResponse(BlockListType.ALL, null, TIMEOUT, Context.NONE).getValue().getUncommittedBlocks().size());
        assertEquals(201, block.commitBlockListWithResponse(new BlockBlobCommitBlockListOptions(List.of(id(2), id(1))), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(20, block.getProperties().getBlobSize());
    }

    @Test
    void responsesOfAppendBlobs() throws Exception {
        Suite.later();
        AppendBlobClient stream = container.getBlobClient("stream").getAppendBlobClient();
        stream.create();
        try (OutputStream output = stream.getBlobOutputStream()) {
            output.write(DIGITS.toBytes());
        }
        assertEquals("0123456789", stream.downloadContent().toString());
        AppendBlobClient log = container.getBlobClient("log").getAppendBlobClient();
        assertEquals(201, log.createWithResponse(new AppendBlobCreateOptions(), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(409, log.createIfNotExistsWithResponse(new AppendBlobCreateOptions(), TIMEOUT, Context.NONE).getStatusCode());
        AppendBlobRequestConditions start = new AppendBlobRequestConditions().setAppendPosition(0L);
        assertEquals("0", log.appendBlockWithResponse(DIGITS.toStream(), 10, null, start, TIMEOUT, Context.NONE).getValue().getBlobAppendOffset());
        rejected(412, "AppendPositionConditionNotMet", () -> log.appendBlockWithResponse(DIGITS.toStream(), 10, null, start, TIMEOUT, Context.NONE));
        AppendBlobRequestConditions small = new AppendBlobRequestConditions().setMaxSize(15L);
        rejected(412, "MaxBlobSizeConditionNotMet", () -> log.appendBlockWithResponse(DIGITS.toStream(), 10, null, small, TIMEOUT, Context.NONE));
        assertEquals(2, log.appendBlockFromUrlWithResponse(new AppendBlobAppendBlockFromUrlOptions(source(blob)), TIMEOUT, Context.NONE).getValue().getBlobCommittedBlockCount());
        assertEquals(200, log.sealWithResponse(new AppendBlobSealOptions(), TIMEOUT, Context.NONE).getStatusCode());
        assertTrue(log.getProperties().isSealed());
    }

    @Test
    void responsesOfPageBlobs() throws Exception {
        Suite.later();
        PageBlobClient disk = container.getBlobClient("disk").getPageBlobClient();
        PageRange first = new PageRange().setStart(0).setEnd(511);
        assertEquals(201, disk.createWithResponse(new PageBlobCreateOptions(4096).setSequenceNumber(5L), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(409, disk.createIfNotExistsWithResponse(new PageBlobCreateOptions(4096), TIMEOUT, Context.NONE).getStatusCode());
        byte[] page = new byte[512];
        page[7] = 7;
        assertEquals(201, disk.uploadPagesWithResponse(first, new ByteArrayInputStream(page), null, null, TIMEOUT, Context.NONE).getStatusCode());
        PageBlobRequestConditions early = new PageBlobRequestConditions().setIfSequenceNumberLessThan(5L);
        rejected(412, "SequenceNumberConditionNotMet", () -> disk.uploadPagesWithResponse(first, new ByteArrayInputStream(page), null, early, TIMEOUT, Context.NONE));
        String snapshot = disk.createSnapshot().getSnapshotId();
        PageRange second = new PageRange().setStart(512).setEnd(1023);
        assertEquals(201, disk.uploadPagesFromUrlWithResponse(new PageBlobUploadPagesFromUrlOptions(second, source(disk)), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(201, disk.clearPagesWithResponse(first, null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(512, disk.getPageRangesWithResponse(new BlobRange(0), null, TIMEOUT, Context.NONE).getValue().getPageRange().get(0).getStart());
        assertEquals(1, disk.getPageRangesDiffWithResponse(new BlobRange(0), snapshot, null, TIMEOUT, Context.NONE).getValue().getClearRange().size());
        assertEquals(200, disk.resizeWithResponse(2048, null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(6L, disk.updateSequenceNumberWithResponse(SequenceNumberActionType.INCREMENT, null, null, TIMEOUT, Context.NONE).getValue().getBlobSequenceNumber());
        tolerate(() -> disk.getManagedDiskPageRangesDiffWithResponse(new BlobRange(0), disk.getBlobUrl() + "?snapshot=" + snapshot, null, TIMEOUT, Context.NONE));
        try (OutputStream output = disk.getBlobOutputStream(first)) {
            output.write(page);
        }
        assertEquals(0, disk.getPageRanges(new BlobRange(0)).getPageRange().get(0).getStart());
        PageBlobClient copy = container.getBlobClient("copy").getPageBlobClient();
        assertEquals(202, copy.copyIncrementalWithResponse(disk.getBlobUrl(), snapshot, null, TIMEOUT, Context.NONE).getStatusCode());
        assertTrue(copy.getProperties().isIncrementalCopy());
    }

    @Test
    void responsesOfTagsTiersAndHolds() {
        Suite.later();
        assertEquals(204, blob.setTagsWithResponse(new BlobSetTagsOptions(Map.of("a", "b")), TIMEOUT, Context.NONE).getStatusCode());
        BlobGetTagsOptions other = new BlobGetTagsOptions().setRequestConditions(new BlobRequestConditions().setTagsConditions("\"a\" = 'c'"));
        rejected(412, "ConditionNotMet", () -> blob.getTagsWithResponse(other, TIMEOUT, Context.NONE));
        assertEquals(Map.of("a", "b"), blob.getTagsWithResponse(new BlobGetTagsOptions(), TIMEOUT, Context.NONE).getValue());
        assertEquals(200, blob.setAccessTierWithResponse(new BlobSetAccessTierOptions(AccessTier.ARCHIVE), TIMEOUT, Context.NONE).getStatusCode());
        rejected(409, "BlobArchived", () -> blob.downloadContent());
        assertEquals(202, blob.setAccessTierWithResponse(new BlobSetAccessTierOptions(AccessTier.HOT).setPriority(RehydratePriority.HIGH), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, blob.setLegalHoldWithResponse(true, TIMEOUT, Context.NONE).getStatusCode());
        rejected(409, "BlobImmutableDueToLegalHold", blob::delete);
        assertFalse(blob.setLegalHoldWithResponse(false, TIMEOUT, Context.NONE).getValue().hasLegalHold());
        BlobImmutabilityPolicy policy = new BlobImmutabilityPolicy().setExpiryTime(Suite.soon()).setPolicyMode(BlobImmutabilityPolicyMode.UNLOCKED);
        assertEquals(200, blob.setImmutabilityPolicyWithResponse(policy, null, TIMEOUT, Context.NONE).getStatusCode());
        rejected(409, "BlobImmutableDueToPolicy", blob::delete);
        assertEquals(200, blob.deleteImmutabilityPolicyWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, blob.undeleteWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        tolerate(() -> blob.queryWithResponse(new BlobQueryOptions("SELECT * from BlobStorage", new ByteArrayOutputStream()), TIMEOUT, Context.NONE));
        tolerate(() -> blob.openQueryInputStreamWithResponse(new BlobQueryOptions("SELECT * from BlobStorage")).getValue().close());
    }

    /** LS-01 to LS-03 */
    @Test
    void responsesOfLeases() {
        BlobLeaseClient lease = new BlobLeaseClientBuilder().blobClient(blob).leaseId(UUID.randomUUID().toString()).buildClient();
        assertEquals(201, lease.acquireLeaseWithResponse(new BlobAcquireLeaseOptions(15), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, lease.renewLeaseWithResponse(ANY, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, lease.changeLeaseWithResponse(UUID.randomUUID().toString(), ANY, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, lease.releaseLeaseWithResponse(ANY, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(201, lease.acquireLeaseWithResponse(-1, ANY, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(0, lease.breakLeaseWithResponse(0, ANY, TIMEOUT, Context.NONE).getValue());
    }

    /** A key of the customer needs https; a scope is stored and returned. */
    @Test
    void keysAndScopesOfEncryption() {
        Suite.later();
        CustomerProvidedKey key = new CustomerProvidedKey(new byte[32]);
        BlobClient secret = container.getBlobClient("secret").getCustomerProvidedKeyClient(key);
        // Over http the client itself does not send a key; tests/sdk/own sends keys over https.
        assertThrows(IllegalArgumentException.class, () -> secret.upload(DIGITS));
        assertEquals(key.getKeySha256(), secret.getCustomerProvidedKey().getEncryptionKeySha256());
        for (BlobClientBase one : List.<BlobClientBase>of(blob.getBlockBlobClient().getCustomerProvidedKeyClient(key), blob.getAppendBlobClient().getCustomerProvidedKeyClient(key),
            blob.getPageBlobClient().getCustomerProvidedKeyClient(key))) {
            assertEquals(key.getKeySha256(), one.getCustomerProvidedKey().getEncryptionKeySha256());
        }
        BlobClient scoped = container.getBlobClient("scoped").getEncryptionScopeClient("scope");
        scoped.upload(DIGITS);
        assertEquals("scope", scoped.getProperties().getEncryptionScope());
        assertEquals(service.getServiceVersion(), scoped.getServiceVersion());
        assertEquals("scope", scoped.getEncryptionScope());
        for (BlobClientBase one : List.<BlobClientBase>of(blob.getBlockBlobClient().getEncryptionScopeClient("scope"), blob.getAppendBlobClient().getEncryptionScopeClient("scope"),
            blob.getPageBlobClient().getEncryptionScopeClient("scope"))) {
            assertTrue(one.getBlobUrl().equals(blob.getBlobUrl()) && one.getVersionId() == null);
        }
        BlobContainerClient same = new BlobContainerClientBuilder().connectionString(Suite.connectionString("Blob", 10000)).containerName(container.getBlobContainerName())
            .encryptionScope("scope").buildClient();
        assertEquals("scope", same.getEncryptionScope());
        assertEquals(null, container.getCustomerProvidedKey());
    }

    /** By addresses: by names, this client leaves the account out of the path, which only host style allows. */
    @Test
    void responsesOfBatches() {
        BlobBatchClient batches = new BlobBatchClientBuilder(container).buildClient();
        BlobBatch batch = batches.getBlobBatch();
        com.azure.core.http.rest.Response<Void> tier = batch.setBlobAccessTier(blob.getBlobUrl(), AccessTier.COOL);
        assertEquals(202, batches.submitBatchWithResponse(batch, true, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(200, tier.getStatusCode());
    }

    @Test
    void userDelegation() {
        BlobServiceClient user = builder().httpClient(Suite.withBearer()).buildClient();
        OffsetDateTime start = OffsetDateTime.now().minusHours(1);
        UserDelegationKey key = user.getUserDelegationKey(start, Suite.soon());
        assertEquals(200, user.getUserDelegationKeyWithResponse(new BlobGetUserDelegationKeyOptions(Suite.soon()).setStartsOn(start), TIMEOUT, Context.NONE).getStatusCode());
        String token = blob.generateUserDelegationSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobSasPermission.parse("r")), key);
        BlobClient reader = new BlobClientBuilder().endpoint(blob.getBlobUrl()).sasToken(token).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals("0123456789", reader.downloadContent().toString());
        denied(reader::delete);
        String wide = container.generateUserDelegationSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobContainerSasPermission.parse("l")), key);
        BlobContainerClient lister = new BlobContainerClientBuilder().endpoint(container.getBlobContainerUrl()).sasToken(wide).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals(1, lister.listBlobs().stream().count());
    }

    @Test
    void everyPublicMethodIsCalled() throws Exception {
        assertEquals(List.of(), Suite.uncalled(name -> name, BlobServiceClient.class, BlobContainerClient.class, BlobClient.class, BlockBlobClient.class,
            AppendBlobClient.class, PageBlobClient.class, BlobLeaseClient.class, BlobBatchClient.class, BlobBatch.class,
            BlobServiceAsyncClient.class, BlobContainerAsyncClient.class, BlobAsyncClient.class, BlockBlobAsyncClient.class,
            AppendBlobAsyncClient.class, PageBlobAsyncClient.class, BlobLeaseAsyncClient.class, BlobBatchAsyncClient.class));
    }
}
