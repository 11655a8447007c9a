package sdk

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

// later skips a test of the second part of the blob service if LAZULI_SKIP names `part2`.
func later(t *testing.T) {
	if strings.Contains(setting("LAZULI_SKIP", ""), "part2") {
		t.Skip("left out by LAZULI_SKIP")
	}
}

func TestAppendBlobs(t *testing.T) {
	later(t)
	home, client := freshBlob(t)
	name := must(blob.ParseURL(client.URL()))(t).ContainerName
	log := home.NewAppendBlobClient("log")
	must(log.Create(ctx, nil))(t)
	must(log.AppendBlock(ctx, body("one,"), nil))(t)
	equal(t, *must(log.AppendBlock(ctx, body("two"), nil))(t).BlobAppendOffset, "4")
	_, err := log.AppendBlock(ctx, body("x"), &appendblob.AppendBlockOptions{AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: ptr(int64(1))}})
	rejected(t, err, 412, "AppendPositionConditionNotMet")
	must(log.AppendBlockFromURL(ctx, readable(t, name, "blob"), nil))(t)
	must(log.Seal(ctx, nil))(t)
	equal(t, contents(t, log.BlobClient()), "one,two0123456789")
}

func TestPageBlobs(t *testing.T) {
	later(t)
	home, _ := freshBlob(t)
	disk := home.NewPageBlobClient("disk")
	name := must(blob.ParseURL(disk.URL()))(t).ContainerName
	must(disk.Create(ctx, 4096, nil))(t)
	must(disk.UploadPages(ctx, body(strings.Repeat("a", 1024)), blob.HTTPRange{Offset: 512, Count: 1024}, nil))(t)
	taken := *must(disk.CreateSnapshot(ctx, nil))(t).Snapshot
	must(disk.ClearPages(ctx, blob.HTTPRange{Offset: 512, Count: 512}, nil))(t)
	equal(t, *pages(t, disk.NewGetPageRangesPager(nil))[0].PageRange[0].Start, int64(1024))
	equal(t, len(pages(t, disk.NewGetPageRangesDiffPager(&pageblob.GetPageRangesDiffOptions{PrevSnapshot: &taken}))[0].ClearRange), 1)
	must(disk.UploadPagesFromURL(ctx, readable(t, name, "disk"), 1024, 0, 512, nil))(t)
	must(disk.Resize(ctx, 2048, nil))(t)
	must(disk.UpdateSequenceNumber(ctx, &pageblob.UpdateSequenceNumberOptions{ActionType: to.Ptr(pageblob.SequenceNumberActionTypeUpdate), SequenceNumber: ptr(int64(7))}))(t)
	equal(t, len(contents(t, disk.BlobClient())), 2048)
	_, _ = disk.StartCopyIncremental(ctx, disk.URL(), taken, nil)
}

func TestTagsTiersAndSoftDelete(t *testing.T) {
	later(t)
	home, client := freshBlob(t)
	account, mark := blobClient(t).ServiceClient(), unique("mark")
	must(client.SetTags(ctx, map[string]string{"mark": mark}, nil))(t)
	equal(t, *must(client.GetTags(ctx, nil))(t).BlobTagSet[0].Value, mark)
	eventually(t, func() bool { return len(must(home.FilterBlobs(ctx, "mark='"+mark+"'", nil))(t).Blobs) == 1 })
	equal(t, len(must(account.FilterBlobs(ctx, "mark='"+mark+"'", nil))(t).Blobs), 1)
	must(client.SetTier(ctx, blob.AccessTierCool, nil))(t)
	batch := must(home.NewBatchBuilder())(t)
	ok(t, batch.SetTier("blob", blob.AccessTierHot, nil))
	must(home.SubmitBatch(ctx, batch, nil))(t)
	must(account.SetProperties(ctx, &service.SetPropertiesOptions{DeleteRetentionPolicy: &service.RetentionPolicy{Enabled: ptr(true), Days: ptr(int32(2))}}))(t)
	must(client.Delete(ctx, nil))(t)
	must(client.Undelete(ctx, nil))(t)
	must(account.SetProperties(ctx, &service.SetPropertiesOptions{DeleteRetentionPolicy: &service.RetentionPolicy{Enabled: ptr(false)}}))(t)
	equal(t, contents(t, client.BlobClient()), "0123456789")
}

// What an account may not offer must fail with a clear error, never succeed without effect.
func TestWhatAnAccountMayNotOffer(t *testing.T) {
	later(t)
	home, client := freshBlob(t)
	account := blobClient(t).ServiceClient()
	_, _ = must(client.WithVersionID("2020-01-01T00:00:00.0000000Z"))(t).GetProperties(ctx, nil)
	_, _ = client.SetImmutabilityPolicy(ctx, time.Now().Add(time.Minute), nil)
	_, _ = client.DeleteImmutabilityPolicy(ctx, nil)
	_, _ = client.SetLegalHold(ctx, false, nil)
	_, _ = client.SetExpiry(ctx, blockblob.ExpiryTypeNever{}, nil)
	log := home.NewAppendBlobClient("log")
	must(log.Create(ctx, nil))(t)
	_, _ = log.SetExpiry(ctx, appendblob.ExpiryTypeNever{}, nil)
	_, err := account.RestoreContainer(ctx, unique("go-"), "01D6", nil)
	equal(t, err != nil, true)
	_, err = home.Restore(ctx, "01D6", nil)
	equal(t, err != nil, true)
}
