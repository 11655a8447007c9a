package sdk

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

const foreignETag = azcore.ETag(`"0x8D7A00000000000"`)

func blobOptions() *azblob.ClientOptions { return &azblob.ClientOptions{ClientOptions: options} }

func blobCredential(t *testing.T) *azblob.SharedKeyCredential {
	return must(azblob.NewSharedKeyCredential(account, key))(t)
}

func blobClient(t *testing.T) *azblob.Client {
	return must(azblob.NewClientWithSharedKeyCredential(endpoint(t, "BLOB", 10000), blobCredential(t), blobOptions()))(t)
}

func freshContainer(t *testing.T) (*service.Client, *container.Client, string) {
	account, name := blobClient(t).ServiceClient(), unique("go-")
	must(account.CreateContainer(ctx, name, nil))(t)
	t.Cleanup(func() { _, _ = account.DeleteContainer(ctx, name, nil) })
	return account, account.NewContainerClient(name), name
}

// freshBlob is a blob of ten bytes in a container of its own.
func freshBlob(t *testing.T) (*container.Client, *blockblob.Client) {
	_, home, _ := freshContainer(t)
	client := home.NewBlockBlobClient("blob")
	must(client.Upload(ctx, body("0123456789"), &blockblob.UploadOptions{Metadata: map[string]*string{"Color": ptr("blue")}}))(t)
	return home, client
}

func text(t *testing.T, response blob.DownloadStreamResponse) string {
	t.Helper()
	defer response.Body.Close()
	return string(must(io.ReadAll(response.Body))(t))
}

func contents(t *testing.T, client *blob.Client) string {
	t.Helper()
	return text(t, must(client.DownloadStream(ctx, nil))(t))
}

// readable is an address of the blob that can be read by anybody who has it.
func readable(t *testing.T, containerName, blobName string) string {
	t.Helper()
	values := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "r", ContainerName: containerName, BlobName: blobName}
	token := must(values.SignWithSharedKey(blobCredential(t)))(t)
	return endpoint(t, "BLOB", 10000) + "/" + containerName + "/" + blobName + "?" + token.Encode()
}

func TestContainers(t *testing.T) {
	account, home, name := freshContainer(t)
	_, err := home.Create(ctx, nil)
	rejected(t, err, 409, "ContainerAlreadyExists")
	must(home.SetMetadata(ctx, &container.SetMetadataOptions{Metadata: map[string]*string{"Color": ptr("blue")}}))(t)
	found := must(home.GetProperties(ctx, nil))(t)
	equal(t, found.Metadata["Color"], ptr("blue"))
	equal(t, *found.LeaseState, lease.StateTypeAvailable)
	listed := pages(t, account.NewListContainersPager(&service.ListContainersOptions{Prefix: &name, Include: service.ListContainersInclude{Metadata: true}}))
	equal(t, *listed[0].ContainerItems[0].Name, name)
	equal(t, *listed[0].ContainerItems[0].Properties.ETag, *found.ETag)
	must(home.SetAccessPolicy(ctx, &container.SetAccessPolicyOptions{Access: to.Ptr(container.PublicAccessTypeBlob), ContainerACL: []*container.SignedIdentifier{
		{ID: ptr("reader"), AccessPolicy: &container.AccessPolicy{Start: ptr(soon()), Expiry: ptr(soon()), Permission: ptr("r")}}}}))(t)
	policy := must(home.GetAccessPolicy(ctx, nil))(t)
	equal(t, *policy.BlobPublicAccess, container.PublicAccessTypeBlob)
	equal(t, *policy.SignedIdentifiers[0].ID, "reader")
	levels := []*bool{
		must(account.GetAccountInfo(ctx, nil))(t).IsHierarchicalNamespaceEnabled, must(home.GetAccountInfo(ctx, nil))(t).IsHierarchicalNamespaceEnabled,
		must(home.NewBlobClient("x").GetAccountInfo(ctx, nil))(t).IsHierarchicalNamespaceEnabled,
	}
	for _, enabled := range levels {
		equal(t, enabled, ptr(false))
	}
	equal(t, strings.HasPrefix(home.URL(), account.URL()), true)
	must(home.Delete(ctx, nil))(t)
	_, err = home.GetProperties(ctx, nil)
	rejected(t, err, 404, "ContainerNotFound")
}

func TestUploadsAndDownloads(t *testing.T) {
	client := blobClient(t)
	_, _, name := freshContainer(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	folder := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(folder, "in"), data, 0o600))
	file := must(os.Open(filepath.Join(folder, "in")))(t)
	defer file.Close()
	must(client.UploadBuffer(ctx, name, "buffer", data, &azblob.UploadBufferOptions{BlockSize: 65536, Concurrency: 3}))(t)
	must(client.UploadFile(ctx, name, "file", file, &azblob.UploadFileOptions{BlockSize: 65536}))(t)
	must(client.UploadStream(ctx, name, "stream", bytes.NewReader(data), &azblob.UploadStreamOptions{BlockSize: 65536, Concurrency: 2}))(t)
	for _, blobName := range []string{"buffer", "file", "stream"} {
		equal(t, text(t, must(client.DownloadStream(ctx, name, blobName, nil))(t)) == string(data), true)
		target := make([]byte, len(data))
		must(client.DownloadBuffer(ctx, name, blobName, target, &azblob.DownloadBufferOptions{BlockSize: 65536, Concurrency: 3}))(t)
		equal(t, bytes.Equal(target, data), true)
		out := must(os.Create(filepath.Join(folder, "out")))(t)
		must(client.DownloadFile(ctx, name, blobName, out, nil))(t)
		ok(t, out.Close())
		equal(t, bytes.Equal(must(os.ReadFile(out.Name()))(t), data), true)
	}
	one := client.ServiceClient().NewContainerClient(name).NewBlockBlobClient("one")
	must(one.UploadStream(ctx, bytes.NewReader(data), &blockblob.UploadStreamOptions{BlockSize: 65536}))(t)
	must(file.Seek(0, io.SeekStart))(t)
	must(one.UploadFile(ctx, file, nil))(t)
	target := make([]byte, len(data))
	must(one.DownloadBuffer(ctx, target, nil))(t)
	equal(t, bytes.Equal(target, data), true)
	out := must(os.Create(filepath.Join(folder, "one")))(t)
	defer out.Close()
	equal(t, must(one.DownloadFile(ctx, out, nil))(t), int64(len(data)))
	must(one.Delete(ctx, nil))(t)
	var names []string
	for _, page := range pages(t, client.NewListBlobsFlatPager(name, &azblob.ListBlobsFlatOptions{MaxResults: ptr(int32(2))})) {
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
		}
	}
	equal(t, names, []string{"buffer", "file", "stream"})
	must(client.DeleteBlob(ctx, name, "file", nil))(t)
	other := unique("go-")
	must(client.CreateContainer(ctx, other, nil))(t)
	equal(t, len(pages(t, client.NewListContainersPager(&azblob.ListContainersOptions{Prefix: &other}))[0].ContainerItems), 1)
	must(client.DeleteContainer(ctx, other, nil))(t)
	equal(t, strings.HasPrefix(client.URL(), "http"), true)
}

func TestRanges(t *testing.T) {
	home, client := freshBlob(t)
	response := must(client.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 3, Count: 4}}))(t)
	equal(t, *response.ContentRange, "bytes 3-6/10")
	equal(t, text(t, response), "3456")
	_, err := client.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 10, Count: 4}})
	rejected(t, err, 416, "InvalidRange")
	empty := home.NewBlockBlobClient("empty")
	must(empty.Upload(ctx, body(""), nil))(t)
	equal(t, contents(t, empty.BlobClient()), "")
}

func TestBlocks(t *testing.T) {
	_, home, _ := freshContainer(t)
	client := home.NewBlockBlobClient("a b/ü")
	id := func(number int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%06d", number)) }
	for number, piece := range []string{"aa", "bb", "cc"} {
		must(client.StageBlock(ctx, id(number), body(piece), nil))(t)
	}
	_, err := client.GetProperties(ctx, nil)
	rejected(t, err, 404, "BlobNotFound")
	equal(t, len(must(client.GetBlockList(ctx, blockblob.BlockListTypeAll, nil))(t).UncommittedBlocks), 3)
	must(client.CommitBlockList(ctx, []string{id(2), id(0)}, nil))(t)
	equal(t, contents(t, client.BlobClient()), "ccaa")
	_, err = client.CommitBlockList(ctx, []string{id(9)}, nil)
	rejected(t, err, 400, "InvalidBlockList")
}

func TestPropertiesOfBlobs(t *testing.T) {
	_, client := freshBlob(t)
	before := must(client.GetProperties(ctx, nil))(t)
	equal(t, *before.Metadata["Color"], "blue")
	must(client.SetHTTPHeaders(ctx, blob.HTTPHeaders{BlobContentType: ptr("text/html"), BlobCacheControl: ptr("no-store")}, nil))(t)
	must(client.SetMetadata(ctx, map[string]*string{"First": ptr("1")}, nil))(t)
	after := must(client.GetProperties(ctx, nil))(t)
	equal(t, []string{*after.ContentType, *after.CacheControl, *after.Metadata["First"]}, []string{"text/html", "no-store", "1"})
	equal(t, *after.ETag != *before.ETag, true)
	equal(t, strings.HasSuffix(client.URL(), "/blob"), true)
}

// BL-02, BL-04
func TestConditions(t *testing.T) {
	_, client := freshBlob(t)
	etag := *must(client.GetProperties(ctx, nil))(t).ETag
	only := func(conditions blob.ModifiedAccessConditions) *blob.AccessConditions {
		return &blob.AccessConditions{ModifiedAccessConditions: &conditions}
	}
	_, err := client.Upload(ctx, body("x"), &blockblob.UploadOptions{AccessConditions: only(blob.ModifiedAccessConditions{IfMatch: to.Ptr(foreignETag)})})
	rejected(t, err, 412, "ConditionNotMet")
	_, err = client.Upload(ctx, body("x"), &blockblob.UploadOptions{AccessConditions: only(blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)})})
	rejected(t, err, 409, "BlobAlreadyExists")
	_, err = client.GetProperties(ctx, &blob.GetPropertiesOptions{AccessConditions: only(blob.ModifiedAccessConditions{IfNoneMatch: &etag})})
	rejected(t, err, 304, "ConditionNotMet")
	must(client.Upload(ctx, body("x"), &blockblob.UploadOptions{AccessConditions: only(blob.ModifiedAccessConditions{IfMatch: &etag})}))(t)
}

// LS-01 to LS-05, LS-07, LS-10
func TestLeases(t *testing.T) {
	home, client := freshBlob(t)
	held := must(lease.NewBlobClient(client, nil))(t)
	must(held.AcquireLease(ctx, 15, nil))(t)
	_, err := must(lease.NewBlobClient(client, nil))(t).AcquireLease(ctx, 15, nil)
	rejected(t, err, 409, "LeaseAlreadyPresent")
	_, err = client.Upload(ctx, body("x"), nil)
	rejected(t, err, 412, "LeaseIdMissing")
	equal(t, contents(t, client.BlobClient()), "0123456789")
	must(held.RenewLease(ctx, nil))(t)
	must(held.ChangeLease(ctx, "a0b1c2d3-0000-4000-8000-000000000000", nil))(t)
	conditions := &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: held.LeaseID()}}
	must(client.Upload(ctx, body("x"), &blockblob.UploadOptions{AccessConditions: conditions}))(t)
	must(held.ReleaseLease(ctx, nil))(t)
	must(held.AcquireLease(ctx, -1, nil))(t)
	must(held.BreakLease(ctx, &lease.BlobBreakOptions{BreakPeriod: ptr(int32(0))}))(t)
	must(client.Upload(ctx, body("y"), nil))(t)
	whole := must(lease.NewContainerClient(home, nil))(t)
	must(whole.AcquireLease(ctx, -1, nil))(t)
	_, err = home.Delete(ctx, nil)
	rejected(t, err, 412, "LeaseIdMissing")
	must(whole.RenewLease(ctx, nil))(t)
	must(whole.ChangeLease(ctx, "a0b1c2d3-0000-4000-8000-000000000001", nil))(t)
	equal(t, *whole.LeaseID(), "a0b1c2d3-0000-4000-8000-000000000001")
	must(whole.ReleaseLease(ctx, nil))(t)
	must(whole.AcquireLease(ctx, 15, nil))(t)
	must(whole.BreakLease(ctx, &lease.ContainerBreakOptions{BreakPeriod: ptr(int32(0))}))(t)
}

func TestSnapshotsAndCopies(t *testing.T) {
	home, client := freshBlob(t)
	name := must(blob.ParseURL(client.URL()))(t).ContainerName
	taken := *must(client.CreateSnapshot(ctx, nil))(t).Snapshot
	must(client.Upload(ctx, body("changed"), nil))(t)
	equal(t, contents(t, must(client.BlobClient().WithSnapshot(taken))(t)), "0123456789")
	_, err := client.Delete(ctx, nil)
	rejected(t, err, 409, "SnapshotsPresent")
	must(client.Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeOnly)}))(t)
	for index, copyTo := range []func(target *blockblob.Client) error{
		func(target *blockblob.Client) error {
			_, err := target.StartCopyFromURL(ctx, client.URL(), nil)
			return err
		},
		func(target *blockblob.Client) error {
			_, err := target.CopyFromURL(ctx, readable(t, name, "blob"), nil)
			return err
		},
		func(target *blockblob.Client) error {
			_, err := target.UploadBlobFromURL(ctx, readable(t, name, "blob"), nil)
			return err
		},
		func(target *blockblob.Client) error {
			if _, err := target.StageBlockFromURL(ctx, "AAAA", readable(t, name, "blob"), nil); err != nil {
				return err
			}
			_, err := target.CommitBlockList(ctx, []string{"AAAA"}, nil)
			return err
		},
	} {
		target := home.NewBlockBlobClient(fmt.Sprint("copy", index))
		ok(t, copyTo(target))
		equal(t, contents(t, target.BlobClient()), "changed")
	}
	_, err = home.NewBlobClient("copy0").AbortCopyFromURL(ctx, "a0b1c2d3-0000-4000-8000-000000000000", nil)
	rejected(t, err, 409, "NoPendingCopyOperation")
}

// BL-09
func TestListings(t *testing.T) {
	_, home, _ := freshContainer(t)
	for _, name := range []string{"a/1", "a/2", "b", "c/d/3"} {
		must(home.NewBlockBlobClient(name).Upload(ctx, body("x"), &blockblob.UploadOptions{Metadata: map[string]*string{"m": ptr("1")}}))(t)
	}
	var names []string
	for _, page := range pages(t, home.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: ptr(int32(1)), Include: container.ListBlobsInclude{Metadata: true, Snapshots: true}})) {
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
			equal(t, *item.Metadata["m"], "1")
		}
	}
	equal(t, names, []string{"a/1", "a/2", "b", "c/d/3"})
	var prefixes []string
	for _, page := range pages(t, home.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{MaxResults: ptr(int32(1))})) {
		for _, item := range page.Segment.BlobPrefixes {
			prefixes = append(prefixes, *item.Name)
		}
	}
	equal(t, prefixes, []string{"a/", "c/"})
}

func TestBatches(t *testing.T) {
	account, home, name := freshContainer(t)
	for _, blobName := range []string{"a", "b", "c"} {
		must(home.NewBlockBlobClient(blobName).Upload(ctx, body("x"), nil))(t)
	}
	batch := must(home.NewBatchBuilder())(t)
	ok(t, batch.Delete("a", nil))
	ok(t, batch.Delete("missing", nil))
	response := must(home.SubmitBatch(ctx, batch, nil))(t)
	equal(t, len(response.Responses), 2)
	rejected(t, response.Responses[1].Error, 404, "BlobNotFound")
	wide := must(account.NewBatchBuilder())(t)
	ok(t, wide.Delete(name, "b", nil))
	must(account.SubmitBatch(ctx, wide, nil))(t)
	equal(t, len(pages(t, home.NewListBlobsFlatPager(nil))[0].Segment.BlobItems), 1)
}

func TestBlobSignatures(t *testing.T) {
	home, client := freshBlob(t)
	name := must(blob.ParseURL(client.URL()))(t).ContainerName
	reader := must(blob.NewClientWithNoCredential(readable(t, name, "blob"), &blob.ClientOptions{ClientOptions: options}))(t)
	equal(t, contents(t, reader), "0123456789")
	_, err := reader.Delete(ctx, nil)
	denied(t, err)
	values := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "l", ContainerName: name}
	token := must(values.SignWithSharedKey(blobCredential(t)))(t)
	lister := must(container.NewClientWithNoCredential(home.URL()+"?"+token.Encode(), &container.ClientOptions{ClientOptions: options}))(t)
	equal(t, len(pages(t, lister.NewListBlobsFlatPager(nil))[0].Segment.BlobItems), 1)
	wide := sas.AccountSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "rl", ResourceTypes: "sco"}
	token = must(wide.SignWithSharedKey(blobCredential(t)))(t)
	all := must(azblob.NewClientWithNoCredential(endpoint(t, "BLOB", 10000)+"?"+token.Encode(), blobOptions()))(t)
	equal(t, text(t, must(all.DownloadStream(ctx, name, "blob", nil))(t)), "0123456789")
	address := must(client.GetSASURL(sas.BlobPermissions{Read: true}, soon(), nil))(t)
	equal(t, strings.Contains(address, "sig="), true)
	_ = must(home.GetSASURL(sas.ContainerPermissions{List: true}, soon(), nil))(t)
	_ = must(blobClient(t).ServiceClient().GetSASURL(sas.AccountResourceTypes{Service: true}, sas.AccountPermissions{List: true}, soon(), nil))(t)
	byString := must(azblob.NewClientFromConnectionString(connectionString("Blob", endpoint(t, "BLOB", 10000)), blobOptions()))(t)
	equal(t, text(t, must(byString.DownloadStream(ctx, name, "blob", nil))(t)), "0123456789")
}

func TestBlobServiceProperties(t *testing.T) {
	account := blobClient(t).ServiceClient()
	rule := service.CORSRule{AllowedOrigins: ptr("www.xyz.com"), AllowedMethods: ptr("GET"), AllowedHeaders: ptr(""), ExposedHeaders: ptr(""), MaxAgeInSeconds: ptr(int32(5))}
	must(account.SetProperties(ctx, &service.SetPropertiesOptions{CORS: []*service.CORSRule{&rule}}))(t)
	equal(t, len(must(account.GetProperties(ctx, nil))(t).CORS), 1)
	must(account.SetProperties(ctx, &service.SetPropertiesOptions{CORS: []*service.CORSRule{}}))(t)
	other := must(azblob.NewClientWithSharedKeyCredential(secondary(endpoint(t, "BLOB", 10000)), blobCredential(t), blobOptions()))(t)
	equal(t, must(other.ServiceClient().GetStatistics(ctx, nil))(t).GeoReplication != nil, true)
}

// The SDK takes the account from the host name, so this test needs a host-style address.
func TestUserDelegation(t *testing.T) {
	_, home, name := freshContainer(t)
	must(home.NewBlockBlobClient("blob").UploadBuffer(ctx, []byte("here"), nil))(t)
	address := hostStyle(endpoint(t, "BLOB", 10000), "blob")
	user := must(service.NewClientWithSharedKeyCredential(address, blobCredential(t), &service.ClientOptions{ClientOptions: withToken(t)}))(t)
	times := service.KeyInfo{Start: to.Ptr(soon().Add(-2 * time.Hour).Format(sas.TimeFormat)), Expiry: to.Ptr(soon().Format(sas.TimeFormat))}
	delegated := must(user.GetUserDelegationCredential(ctx, times, nil))(t)
	values := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "r", ContainerName: name, BlobName: "blob"}
	token := must(values.SignWithUserDelegation(delegated))(t)
	reader := must(blockblob.NewClientWithNoCredential(address+"/"+name+"/blob?"+token.Encode(), &blockblob.ClientOptions{ClientOptions: options}))(t)
	equal(t, must(reader.GetProperties(ctx, nil))(t).ContentLength, ptr(int64(4)))
	_, err := reader.Delete(ctx, nil)
	rejected(t, err, 403, "AuthorizationPermissionMismatch")
}
