package sdk

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// Every public method of the clients is called somewhere in this suite.
func TestEveryPublicMethodIsCalled(t *testing.T) {
	blobs := []any{&azblob.Client{}, &service.Client{}, &container.Client{}, &blob.Client{}, &blockblob.Client{}, &appendblob.Client{}, &pageblob.Client{}, &lease.BlobClient{}, &lease.ContainerClient{}}
	for name, clients := range map[string][]any{
		"table_test.go": {&aztables.ServiceClient{}, &aztables.Client{}}, "queue_test.go": {&azqueue.ServiceClient{}, &azqueue.QueueClient{}}, "blob_test.go": blobs,
	} {
		source := string(must(os.ReadFile(name))(t))
		if name == "blob_test.go" {
			source += string(must(os.ReadFile("later_test.go"))(t))
		}
		for _, client := range clients {
			kind := reflect.TypeOf(client)
			for index := range kind.NumMethod() {
				if method := kind.Method(index).Name; !strings.Contains(source, "."+method+"(") {
					t.Errorf("%s: %s.%s is not called", name, kind, method)
				}
			}
		}
	}
}
