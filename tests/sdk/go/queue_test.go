package sdk

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"
)

func queueOptions() *azqueue.ClientOptions { return &azqueue.ClientOptions{ClientOptions: options} }

func queueService(t *testing.T) *azqueue.ServiceClient {
	address := endpoint(t, "QUEUE", 10001)
	credential := must(azqueue.NewSharedKeyCredential(account, key))(t)
	return must(azqueue.NewServiceClientWithSharedKeyCredential(address, credential, queueOptions()))(t)
}

func freshQueue(t *testing.T) (*azqueue.ServiceClient, *azqueue.QueueClient, string) {
	service, name := queueService(t), unique("go-")
	must(service.CreateQueue(ctx, name, nil))(t)
	t.Cleanup(func() { _, _ = service.DeleteQueue(ctx, name, nil) })
	return service, service.NewQueueClient(name), name
}

func peeked(t *testing.T, queue *azqueue.QueueClient) []string {
	t.Helper()
	found := []string{}
	for _, message := range must(queue.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: ptr(int32(32))}))(t).Messages {
		found = append(found, *message.MessageText)
	}
	return found
}

func TestQueues(t *testing.T) {
	service, queue, name := freshQueue(t)
	_, err := queue.Create(ctx, &azqueue.CreateOptions{Metadata: map[string]*string{"color": ptr("blue")}})
	rejected(t, err, 409, "QueueAlreadyExists")
	must(queue.Create(ctx, nil))(t) // the same metadata: no error
	must(queue.SetMetadata(ctx, &azqueue.SetMetadataOptions{Metadata: map[string]*string{"color": ptr("blue")}}))(t)
	found := must(queue.GetProperties(ctx, nil))(t)
	equal(t, int(*found.ApproximateMessagesCount), 0)
	equal(t, len(found.Metadata), 1)
	listed := pages(t, service.NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: &name, Include: azqueue.ListQueuesInclude{Metadata: true}}))
	equal(t, *listed[0].Queues[0].Name, name)
	equal(t, listed[0].Queues[0].Metadata, map[string]*string{"color": ptr("blue")})
	equal(t, strings.HasSuffix(queue.URL(), name) && strings.HasPrefix(queue.URL(), service.URL()), true)
	must(queue.Delete(ctx, nil))(t)
	_, err = queue.GetProperties(ctx, nil)
	rejected(t, err, 404, "QueueNotFound")
}

func TestQueuesInPages(t *testing.T) {
	service := queueService(t)
	prefix := unique("go-")
	for _, letter := range []string{"c", "a", "b"} {
		must(service.CreateQueue(ctx, prefix+letter, nil))(t)
		t.Cleanup(func() { _, _ = service.DeleteQueue(ctx, prefix+letter, nil) })
	}
	var names []string
	for _, page := range pages(t, service.NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: &prefix, MaxResults: ptr(int32(2))})) {
		for _, queue := range page.Queues {
			names = append(names, *queue.Name)
		}
	}
	equal(t, names, []string{prefix + "a", prefix + "b", prefix + "c"})
}

// QU-01 to QU-05: hidden for a time, then back, counted, and deleted with the last receipt only.
func TestMessages(t *testing.T) {
	_, queue, _ := freshQueue(t)
	sent := must(queue.EnqueueMessage(ctx, "hello <&>", nil))(t).Messages[0]
	equal(t, sent.ExpirationTime.Sub(*sent.InsertionTime), 7*24*time.Hour)
	equal(t, *must(queue.PeekMessage(ctx, nil))(t).Messages[0].MessageText, "hello <&>")
	first := must(queue.DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: ptr(int32(1))}))(t).Messages[0]
	equal(t, *first.DequeueCount, int64(1))
	var second *azqueue.DequeuedMessage
	eventually(t, func() bool {
		found := must(queue.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: ptr(int32(32)), VisibilityTimeout: ptr(int32(60))}))(t).Messages
		if len(found) == 1 {
			second = found[0]
		}
		return second != nil
	})
	equal(t, *second.DequeueCount, int64(2))
	_, err := queue.DeleteMessage(ctx, *first.MessageID, *first.PopReceipt, nil)
	rejected(t, err, 404, "MessageNotFound")
	updated := must(queue.UpdateMessage(ctx, *second.MessageID, *second.PopReceipt, "changed", &azqueue.UpdateMessageOptions{VisibilityTimeout: ptr(int32(0))}))(t)
	equal(t, peeked(t, queue), []string{"changed"})
	must(queue.DeleteMessage(ctx, *second.MessageID, *updated.PopReceipt, nil))(t)
	equal(t, peeked(t, queue), []string{})
}

func TestLimitsOfMessages(t *testing.T) {
	_, queue, _ := freshQueue(t)
	must(queue.EnqueueMessage(ctx, strings.Repeat("x", 65536), &azqueue.EnqueueMessageOptions{TimeToLive: ptr(int32(-1))}))(t)
	_, err := queue.EnqueueMessage(ctx, strings.Repeat("x", 65537), nil)
	rejected(t, err, 413, "RequestBodyTooLarge")
	_, err = queue.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: ptr(int32(33))})
	rejected(t, err, 400, "OutOfRangeQueryParameterValue")
	_, err = queue.EnqueueMessage(ctx, "x", &azqueue.EnqueueMessageOptions{TimeToLive: ptr(int32(30)), VisibilityTimeout: ptr(int32(30))})
	rejected(t, err, 400, "InvalidQueryParameterValue")
	must(queue.ClearMessages(ctx, nil))(t)
	equal(t, int(*must(queue.GetProperties(ctx, nil))(t).ApproximateMessagesCount), 0)
}

// QU-01: no message has two holders.
func TestConcurrentReceivers(t *testing.T) {
	_, queue, _ := freshQueue(t)
	for range 60 {
		must(queue.EnqueueMessage(ctx, "x", nil))(t)
	}
	var group sync.WaitGroup
	var lock sync.Mutex
	seen := map[string]int{}
	for range 10 {
		group.Add(1)
		go func() {
			defer group.Done()
			found, err := queue.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: ptr(int32(10)), VisibilityTimeout: ptr(int32(600))})
			if err != nil {
				t.Error(err)
				return
			}
			lock.Lock()
			defer lock.Unlock()
			for _, message := range found.Messages {
				seen[*message.MessageID]++
			}
		}()
	}
	group.Wait()
	equal(t, len(seen), 60)
	for id, count := range seen {
		if count != 1 {
			t.Fatalf("%s was given out %d times", id, count)
		}
	}
}

func TestQueuePoliciesAndSignatures(t *testing.T) {
	service, queue, name := freshQueue(t)
	policy := azqueue.SignedIdentifier{ID: ptr("reader"), AccessPolicy: &azqueue.AccessPolicy{Start: ptr(soon().Add(-2 * time.Hour)), Expiry: ptr(soon()), Permission: ptr("r")}}
	must(queue.SetAccessPolicy(ctx, &azqueue.SetAccessPolicyOptions{QueueACL: []*azqueue.SignedIdentifier{&policy}}))(t)
	equal(t, *must(queue.GetAccessPolicy(ctx, nil))(t).SignedIdentifiers[0].ID, "reader")
	credential := must(azqueue.NewSharedKeyCredential(account, key))(t)
	values := sas.QueueSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "r", QueueName: name}
	token := must(values.SignWithSharedKey(credential))(t)
	reader := must(azqueue.NewQueueClientWithNoCredential(queue.URL()+"?"+token.Encode(), queueOptions()))(t)
	equal(t, peeked(t, reader), []string{})
	_, err := reader.EnqueueMessage(ctx, "x", nil)
	denied(t, err)
	wide := sas.AccountSignatureValues{Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "rl", ResourceTypes: "sco"}
	token = must(wide.SignWithSharedKey(credential))(t)
	lister := must(azqueue.NewServiceClientWithNoCredential(service.URL()+"?"+token.Encode(), queueOptions()))(t)
	equal(t, len(pages(t, lister.NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: &name}))[0].Queues), 1)
	_, err = lister.DeleteQueue(ctx, name, nil)
	denied(t, err)
}

// The addresses that the clients sign are for https only: over http they are rejected.
func TestQueueSignaturesForTLS(t *testing.T) {
	service, queue, _ := freshQueue(t)
	address := must(queue.GetSASURL(sas.QueuePermissions{Read: true}, soon(), nil))(t)
	_, err := must(azqueue.NewQueueClientWithNoCredential(address, queueOptions()))(t).PeekMessages(ctx, nil)
	rejected(t, err, 403, "AuthorizationProtocolMismatch")
	address = must(service.GetSASURL(sas.AccountResourceTypes{Service: true}, sas.AccountPermissions{List: true}, soon(), nil))(t)
	equal(t, strings.Contains(address, "spr=https"), true)
}

func TestQueueClientsFromEverything(t *testing.T) {
	address := endpoint(t, "QUEUE", 10001)
	_, queue, name := freshQueue(t)
	must(queue.EnqueueMessage(ctx, "here", nil))(t)
	credential := must(azqueue.NewSharedKeyCredential(account, key))(t)
	text := connectionString("Queue", address)
	for _, client := range []*azqueue.QueueClient{
		must(azqueue.NewQueueClientFromConnectionString(text, name, queueOptions()))(t),
		must(azqueue.NewQueueClientWithSharedKeyCredential(address+"/"+name, credential, queueOptions()))(t),
		must(azqueue.NewServiceClientFromConnectionString(text, queueOptions()))(t).NewQueueClient(name),
	} {
		equal(t, peeked(t, client), []string{"here"})
	}
}

func TestQueueServiceProperties(t *testing.T) {
	service := queueService(t)
	rule := azqueue.CORSRule{AllowedOrigins: ptr("www.xyz.com"), AllowedMethods: ptr("GET"), AllowedHeaders: ptr(""), ExposedHeaders: ptr(""), MaxAgeInSeconds: ptr(int32(5))}
	must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{CORS: []*azqueue.CORSRule{&rule}}))(t)
	equal(t, len(must(service.GetServiceProperties(ctx, nil))(t).CORS), 1)
	must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{CORS: []*azqueue.CORSRule{}}))(t)
	credential := must(azqueue.NewSharedKeyCredential(account, key))(t)
	other := must(azqueue.NewServiceClientWithSharedKeyCredential(secondary(endpoint(t, "QUEUE", 10001)), credential, queueOptions()))(t)
	equal(t, must(other.GetStatistics(ctx, nil))(t).GeoReplication != nil, true)
}
