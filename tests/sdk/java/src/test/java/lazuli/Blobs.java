package lazuli;

import static lazuli.Suite.denied;
import static lazuli.Suite.rejected;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.storage.blob.*;
import com.azure.storage.blob.batch.*;
import com.azure.storage.blob.models.*;
import com.azure.storage.blob.options.*;
import com.azure.storage.blob.sas.*;
import com.azure.storage.blob.specialized.*;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.common.sas.*;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** com.azure:azure-storage-blob and azure-storage-blob-batch. */
class Blobs {
    static final String FOREIGN_ETAG = "\"0x8D7A00000000000\"";
    static final BinaryData DIGITS = BinaryData.fromString("0123456789");
    BlobServiceClient service;
    BlobContainerClient container;
    BlobClient blob;
    BlockBlobClient block;

    @BeforeEach
    void create() {
        service = new BlobServiceClientBuilder().connectionString(Suite.connectionString("Blob", 10000)).retryOptions(Suite.NO_RETRIES).buildClient();
        container = service.createBlobContainer(Suite.unique("java-"));
        blob = container.getBlobClient("blob");
        block = blob.getBlockBlobClient();
        blob.upload(DIGITS);
    }

    @AfterEach
    void delete() {
        if (container != null) {
            service.deleteBlobContainerIfExists(container.getBlobContainerName());
        }
    }

    static String id(int number) {
        return Base64.getEncoder().encodeToString("%06d".formatted(number).getBytes());
    }

    /** An address of the blob that can be read by anybody who has it. */
    static String source(BlobClientBase of) {
        return of.getBlobUrl() + "?" + of.generateSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobSasPermission.parse("r")));
    }

    @Test
    void containers() {
        String name = container.getBlobContainerName();
        rejected(409, "ContainerAlreadyExists", container::create);
        assertFalse(container.createIfNotExists());
        assertTrue(container.exists());
        container.setMetadata(Map.of("color", "blue"));
        BlobContainerProperties found = container.getProperties();
        assertEquals(Map.of("color", "blue"), found.getMetadata());
        assertEquals(LeaseStateType.AVAILABLE, found.getLeaseState());
        assertEquals(1, service.listBlobContainers(new ListBlobContainersOptions().setPrefix(name), null).stream().count());
        assertTrue(service.listBlobContainers().stream().anyMatch(item -> item.getName().equals(name) && item.getProperties().getETag().replace("\"", "").equals(found.getETag().replace("\"", ""))));
        for (StorageAccountInfo info : List.of(service.getAccountInfo(), container.getAccountInfo(null), blob.getAccountInfo())) {
            assertTrue(info.getSkuName() != null && !info.isHierarchicalNamespaceEnabled());
        }
        container.delete();
        rejected(404, "ContainerNotFound", container::getProperties);
        assertFalse(container.deleteIfExists());
        assertFalse(service.deleteBlobContainerIfExists(name));
        service.createBlobContainerIfNotExists(name);
        service.deleteBlobContainer(name);
        assertTrue(container.getServiceClient().getAccountUrl().equals(container.getAccountUrl()) && container.getBlobContainerUrl().endsWith(name));
    }

    @Test
    void uploadsAndDownloads(@TempDir Path folder) throws Exception {
        byte[] data = new byte[300_000];
        new Random(1).nextBytes(data);
        Path in = Files.write(folder.resolve("in"), data);
        rejected(409, "BlobAlreadyExists", () -> blob.upload(DIGITS));
        blob.upload(new ByteArrayInputStream(data), data.length, true);
        assertArrayEquals(data, blob.downloadContent().toBytes());
        BlobClient file = container.getBlobClient("file");
        file.uploadFromFile(in.toString(), new com.azure.storage.blob.models.ParallelTransferOptions().setBlockSizeLong(65_536L).setMaxSingleUploadSizeLong(65_536L), null, null, null, null, null);
        file.downloadToFile(folder.resolve("out").toString());
        assertArrayEquals(data, Files.readAllBytes(folder.resolve("out")));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        file.downloadStream(bytes);
        assertArrayEquals(data, bytes.toByteArray());
        bytes.reset();
        file.download(bytes);
        assertEquals(data.length, bytes.size());
        try (InputStream input = file.openInputStream()) {
            assertArrayEquals(data, input.readAllBytes());
        }
        try (OutputStream output = container.getBlobClient("stream").getBlockBlobClient().getBlobOutputStream(true)) {
            output.write(data);
        }
        assertArrayEquals(data, container.getBlobClient("stream").downloadContent().toBytes());
        try (SeekableByteChannel channel = container.getBlobClient("channel").getBlockBlobClient()
            .openSeekableByteChannelWrite(new BlockBlobSeekableByteChannelWriteOptions(BlockBlobSeekableByteChannelWriteOptions.WriteMode.OVERWRITE))) {
            channel.write(ByteBuffer.wrap(data));
        }
        try (SeekableByteChannel channel = container.getBlobClient("channel").openSeekableByteChannelRead(null, null).getChannel()) {
            assertEquals(data.length, channel.size());
        }
    }

    @Test
    void ranges() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        blob.downloadStreamWithResponse(bytes, new BlobRange(3, 4L), null, null, false, null, Context.NONE);
        assertEquals("3456", bytes.toString());
        rejected(416, "InvalidRange", () -> blob.downloadStreamWithResponse(bytes, new BlobRange(10, 4L), null, null, false, null, Context.NONE));
        container.getBlobClient("empty").upload(BinaryData.fromString(""));
        assertEquals("", container.getBlobClient("empty").downloadContent().toString());
    }

    @Test
    void blocks() {
        BlockBlobClient fresh = container.getBlobClient("a b/ü").getBlockBlobClient();
        for (int number = 0; number < 3; number++) {
            fresh.stageBlock(id(number), BinaryData.fromString("abc".substring(number, number + 1)));
        }
        assertFalse(fresh.exists());
        assertEquals(3, fresh.listBlocks(BlockListType.ALL).getUncommittedBlocks().size());
        fresh.commitBlockList(List.of(id(2), id(0), id(2)));
        assertEquals("cac", fresh.downloadContent().toString());
        rejected(400, "InvalidBlockList", () -> fresh.commitBlockList(List.of(id(7)), true));
        assertNotEquals(null, block.upload(DIGITS, true).getETag());
    }

    @Test
    void propertiesAndMetadata() {
        String before = blob.getProperties().getETag();
        blob.setHttpHeaders(new BlobHttpHeaders().setContentType("text/html").setCacheControl("no-store"));
        blob.setMetadata(Map.of("first", "1"));
        BlobProperties found = blob.getProperties();
        assertEquals(List.of("text/html", "no-store", "1"), List.of(found.getContentType(), found.getCacheControl(), found.getMetadata().get("first")));
        assertNotEquals(before, found.getETag());
        assertEquals("blob", blob.getBlobName());
        assertEquals(container.getBlobContainerName(), blob.getContainerName());
        assertEquals(blob.getContainerClient().getAccountName(), blob.getAccountName());
        assertTrue(blob.getBlobUrl().startsWith(blob.getAccountUrl()));
    }

    /** BL-02, BL-04 */
    @Test
    void conditions() {
        String etag = blob.getProperties().getETag();
        rejected(412, "ConditionNotMet", () -> blob.setMetadataWithResponse(Map.of(), new BlobRequestConditions().setIfMatch(FOREIGN_ETAG), null, null));
        rejected(412, "ConditionNotMet", () -> blob.deleteWithResponse(null, new BlobRequestConditions().setIfNoneMatch(etag), null, null));
        rejected(304, "ConditionNotMet", () -> blob.getPropertiesWithResponse(new BlobRequestConditions().setIfNoneMatch(etag), null, null));
        blob.setMetadataWithResponse(Map.of(), new BlobRequestConditions().setIfMatch(etag), null, null);
    }

    /** LS-01 to LS-05, LS-07, LS-10 */
    @Test
    void leases() {
        BlobLeaseClient lease = new BlobLeaseClientBuilder().blobClient(blob).buildClient();
        lease.acquireLease(15);
        rejected(409, "LeaseAlreadyPresent", () -> new BlobLeaseClientBuilder().blobClient(blob).buildClient().acquireLease(15));
        rejected(412, "LeaseIdMissing", () -> blob.upload(DIGITS, true));
        assertEquals("0123456789", blob.downloadContent().toString());
        lease.renewLease();
        lease.changeLease(UUID.randomUUID().toString());
        blob.setMetadataWithResponse(Map.of(), new BlobRequestConditions().setLeaseId(lease.getLeaseId()), null, null);
        lease.releaseLease();
        lease.acquireLease(-1);
        assertEquals(0, lease.breakLease());
        blob.upload(DIGITS, true);
        assertTrue(lease.getResourceUrl().contains("blob") && lease.getAccountName().equals(Suite.ACCOUNT));
        BlobLeaseClient whole = new BlobLeaseClientBuilder().containerClient(container).buildClient();
        whole.acquireLease(-1);
        rejected(412, "LeaseIdMissing", container::delete);
        whole.releaseLease();
    }

    @Test
    void snapshotsAndCopies() {
        BlobClientBase snapshot = blob.createSnapshot();
        blob.upload(BinaryData.fromString("changed"), true);
        assertEquals("0123456789", snapshot.downloadContent().toString());
        assertTrue(snapshot.isSnapshot() && blob.getSnapshotClient(snapshot.getSnapshotId()).exists());
        rejected(409, "SnapshotsPresent", blob::delete);
        blob.deleteWithResponse(DeleteSnapshotsOptionType.ONLY, null, null, null);
        BlobClient copy = container.getBlobClient("copy");
        copy.beginCopy(blob.getBlobUrl(), Duration.ofMillis(100)).waitForCompletion();
        BlobClient sync = container.getBlobClient("sync");
        String copyId = sync.copyFromUrl(source(blob));
        rejected(409, "NoPendingCopyOperation", () -> sync.abortCopyFromUrl(copyId));
        BlockBlobClient put = container.getBlobClient("put").getBlockBlobClient();
        put.uploadFromUrl(source(blob));
        BlockBlobClient staged = container.getBlobClient("staged").getBlockBlobClient();
        staged.stageBlockFromUrl(id(1), source(blob), null);
        staged.commitBlockList(List.of(id(1)));
        for (BlobClientBase one : List.of(copy, sync, put, staged)) {
            assertEquals("changed", one.downloadContent().toString());
        }
        assertTrue(blob.deleteIfExists());
        assertFalse(blob.deleteIfExists());
    }

    /** BL-09 */
    @Test
    void listings() {
        for (String name : List.of("a/1", "a/2", "c/d/3")) {
            container.getBlobClient(name).upload(DIGITS);
        }
        assertEquals(List.of("a/1", "a/2", "blob", "c/d/3"), container.listBlobs(new ListBlobsOptions().setMaxResultsPerPage(1), null).stream().map(BlobItem::getName).toList());
        assertEquals(List.of("a/1", "a/2"), container.listBlobs(new ListBlobsOptions().setPrefix("a/"), null).stream().map(BlobItem::getName).toList());
        assertEquals(Set.of("a/", "blob", "c/"), Set.copyOf(container.listBlobsByHierarchy("").stream().map(BlobItem::getName).toList()));
        assertEquals(4, container.listBlobs().stream().count());
    }

    @Test
    void batches() {
        container.getBlobClient("a").upload(DIGITS);
        container.getBlobClient("b").upload(DIGITS);
        BlobBatchClient batches = new BlobBatchClientBuilder(service).buildClient();
        BlobBatch batch = batches.getBlobBatch();
        // By address: by names, this client leaves the account out of the path, which only host style allows.
        com.azure.core.http.rest.Response<Void> gone = batch.deleteBlob(container.getBlobClient("a").getBlobUrl());
        com.azure.core.http.rest.Response<Void> missing = batch.deleteBlob(container.getBlobClient("missing").getBlobUrl());
        batches.submitBatchWithResponse(batch, false, null, Context.NONE);
        assertEquals(202, gone.getStatusCode());
        rejected(404, "BlobNotFound", missing::getStatusCode);
        assertEquals(202, batches.deleteBlobs(List.of(container.getBlobClient("b").getBlobUrl()), DeleteSnapshotsOptionType.INCLUDE).stream().findFirst().orElseThrow().getStatusCode());
        assertEquals(List.of("blob"), container.listBlobs().stream().map(BlobItem::getName).toList());
    }

    @Test
    void policiesAndSignatures() {
        BlobAccessPolicy policy = new BlobAccessPolicy().setStartsOn(Suite.soon().minusHours(2)).setExpiresOn(Suite.soon()).setPermissions("r");
        container.setAccessPolicy(PublicAccessType.BLOB, List.of(new BlobSignedIdentifier().setId("reader").setAccessPolicy(policy)));
        assertEquals("reader", container.getAccessPolicy().getIdentifiers().get(0).getId());
        assertEquals(PublicAccessType.BLOB, container.getAccessPolicy().getBlobAccessType());
        BlobClient anybody = new BlobClientBuilder().endpoint(blob.getBlobUrl()).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals("0123456789", anybody.downloadContent().toString());
        container.setAccessPolicy(null, null);
        BlobClient reader = new BlobClientBuilder().endpoint(source(blob)).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals("0123456789", reader.downloadContent().toString());
        denied(reader::delete);
        String list = container.generateSas(new BlobServiceSasSignatureValues(Suite.soon(), BlobContainerSasPermission.parse("l")));
        BlobContainerClient lister = new BlobContainerClientBuilder().endpoint(container.getBlobContainerUrl()).sasToken(list).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals(1, lister.listBlobs().stream().count());
        String wide = service.generateAccountSas(new AccountSasSignatureValues(Suite.soon(), AccountSasPermission.parse("rl"), AccountSasService.parse("b"), AccountSasResourceType.parse("sco")));
        BlobServiceClient all = new BlobServiceClientBuilder().endpoint(service.getAccountUrl()).sasToken(wide).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals("0123456789", all.getBlobContainerClient(container.getBlobContainerName()).getBlobClient("blob").downloadContent().toString());
    }

    @Test
    void serviceProperties() {
        BlobServiceProperties before = service.getProperties();
        BlobCorsRule rule = new BlobCorsRule().setAllowedOrigins("www.xyz.com").setAllowedMethods("GET").setAllowedHeaders("").setExposedHeaders("").setMaxAgeInSeconds(5);
        service.setProperties(new BlobServiceProperties().setCors(List.of(rule)));
        assertEquals(1, service.getProperties().getCors().size());
        service.setProperties(new BlobServiceProperties().setCors(List.of()).setLogging(before.getLogging()));
        BlobServiceClient secondary = new BlobServiceClientBuilder().endpoint(Suite.endpoint("Blob", 10000) + "-secondary")
            .credential(new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Suite.NO_RETRIES).buildClient();
        assertTrue(secondary.getStatistics().getGeoReplication() != null);
        assertEquals(service.getServiceVersion(), container.getServiceVersion());
        assertEquals(Suite.ACCOUNT, service.getAccountName());
    }

    @Test
    void appendBlobs() throws Exception {
        Suite.later();
        AppendBlobClient log = container.getBlobClient("log").getAppendBlobClient();
        log.createIfNotExists();
        log.appendBlock(BinaryData.fromString("one,").toStream(), 4);
        assertEquals("4", log.appendBlock(BinaryData.fromString("two").toStream(), 3).getBlobAppendOffset());
        log.appendBlockFromUrl(source(blob), new BlobRange(0, 3L));
        assertTrue(log.getMaxAppendBlockBytes() > 0 && log.getMaxBlocks() > 0);
        assertEquals("one,two012", log.downloadContent().toString());
        log.seal();
        rejected(409, "BlobIsSealed", () -> log.appendBlock(BinaryData.fromString("x").toStream(), 1));
        log.create(true);
    }

    @Test
    void pageBlobs() {
        Suite.later();
        PageBlobClient disk = container.getBlobClient("disk").getPageBlobClient();
        disk.create(4096);
        disk.createIfNotExists(4096);
        disk.uploadPages(new PageRange().setStart(512).setEnd(1535), new ByteArrayInputStream(new byte[1024]));
        String snapshot = disk.createSnapshot().getSnapshotId();
        disk.clearPages(new PageRange().setStart(512).setEnd(1023));
        assertEquals(1024, disk.getPageRanges(new BlobRange(0)).getPageRange().get(0).getStart());
        assertEquals(1, disk.listPageRanges(new BlobRange(0)).stream().count());
        assertEquals(1, disk.getPageRangesDiff(new BlobRange(0), snapshot).getClearRange().size());
        assertEquals(1, disk.listPageRangesDiff(new BlobRange(0), snapshot).stream().count());
        disk.uploadPagesFromUrl(new PageRange().setStart(0).setEnd(511), source(disk), 1024L);
        disk.resize(2048);
        disk.updateSequenceNumber(SequenceNumberActionType.UPDATE, 7L);
        for (org.junit.jupiter.api.function.Executable call : List.<org.junit.jupiter.api.function.Executable>of(
            () -> disk.getManagedDiskPageRangesDiff(new BlobRange(0), disk.getBlobUrl() + "?snapshot=" + snapshot), () -> disk.copyIncremental(disk.getBlobUrl(), snapshot))) {
            tolerate(call);
        }
    }

    /** What an account may not offer must fail with a clear error: 4xx or 501. */
    static void tolerate(org.junit.jupiter.api.function.Executable call) {
        try {
            call.execute();
        } catch (com.azure.core.exception.HttpResponseException error) {
            int status = error.getResponse().getStatusCode();
            assertTrue(status < 500 || status == 501, error.toString());
        } catch (Throwable error) {
            throw new AssertionError(error);
        }
    }

    @Test
    void tagsTiersAndSoftDelete() throws Exception {
        Suite.later();
        String mark = Suite.unique("mark");
        blob.setTags(Map.of("mark", mark));
        assertEquals(Map.of("mark", mark), blob.getTags());
        Suite.eventually(() -> container.findBlobsByTags("mark='" + mark + "'").stream().count() == 1);
        assertEquals(1, service.findBlobsByTags("mark='" + mark + "'").stream().count());
        blob.setAccessTier(AccessTier.COOL);
        assertEquals(AccessTier.COOL, blob.getProperties().getAccessTier());
        BlobBatchClient batches = new BlobBatchClientBuilder(service).buildClient();
        batches.setBlobsAccessTier(List.of(blob.getBlobUrl()), AccessTier.HOT).stream().count();
        BlobBatch batch = batches.getBlobBatch();
        batch.setBlobAccessTier(blob.getBlobUrl(), AccessTier.COOL);
        batches.submitBatch(batch);
        service.setProperties(new BlobServiceProperties().setDeleteRetentionPolicy(new BlobRetentionPolicy().setEnabled(true).setDays(2)));
        blob.delete();
        blob.undelete();
        service.setProperties(new BlobServiceProperties().setDeleteRetentionPolicy(new BlobRetentionPolicy().setEnabled(false)));
        assertEquals("0123456789", blob.downloadContent().toString());
        tolerate(() -> blob.setImmutabilityPolicy(new BlobImmutabilityPolicy().setExpiryTime(Suite.soon()).setPolicyMode(BlobImmutabilityPolicyMode.UNLOCKED)));
        tolerate(() -> blob.deleteImmutabilityPolicy());
        tolerate(() -> blob.setLegalHold(false));
        tolerate(() -> blob.query(new ByteArrayOutputStream(), "SELECT * from BlobStorage"));
        tolerate(() -> blob.openQueryInputStream("SELECT * from BlobStorage").close());
        tolerate(() -> service.undeleteBlobContainer(Suite.unique("java-"), "01D6"));
        tolerate(() -> blob.getVersionClient("2020-01-01T00:00:00.0000000Z").exists());
        tolerate(() -> container.getBlobVersionClient("blob", "2020-01-01T00:00:00.0000000Z").exists());
    }
}
