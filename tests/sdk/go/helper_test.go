// Package sdk runs the official Go clients for tables, queues and blobs against the server that the environment names.
//
// Retries are off, so that a 5xx fails at once instead of being hidden by a back-off.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const devKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

var (
	ctx     = context.Background()
	account = setting("LAZULI_ACCOUNT", "devstoreaccount1")
	key     = setting("LAZULI_KEY", devKey)
	options = azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}, Transport: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16}}}
)

// dial makes `{account}.table.localhost` resolve, as browsers and curl do by themselves.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && strings.HasSuffix(host, ".localhost") {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// hostStyle is the same server with the account as the first label of the host name.
func hostStyle(address, service string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Path != "/"+account {
		return address
	}
	return fmt.Sprintf("%s://%s.%s.localhost:%s", parsed.Scheme, account, service, parsed.Port())
}

func setting(name, fallback string) string {
	if value, ok := os.LookupEnv(name); ok {
		return strings.TrimRight(value, "/")
	}
	return fallback
}

// endpoint is the account's address for a service. A test for a service that the server does not offer is skipped.
func endpoint(t *testing.T, service string, port int) string {
	t.Helper()
	address := setting("LAZULI_"+service+"_ENDPOINT", fmt.Sprintf("http://127.0.0.1:%d/devstoreaccount1", port))
	if address == "" {
		t.Skip("the server does not offer this service")
	}
	return address
}

// secondary is the address of the read-only copy.
func secondary(address string) string { return address + "-secondary" }

func connectionString(service, address string) string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;%sEndpoint=%s;", account, key, service, address)
}

func ptr[T any](value T) *T { return &value }

func unique(prefix string) string {
	return fmt.Sprintf("%s%x", prefix, time.Now().UnixNano())
}

func soon() time.Time { return time.Now().Add(time.Hour).UTC() }

// must fails the test on an error, and passes the value on.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, found, expected any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Fatalf("found %#v, expected %#v", found, expected)
	}
}

// rejected checks the status and the code of an error of the service.
func rejected(t *testing.T, err error, status int, code string) {
	t.Helper()
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		t.Fatalf("expected %d %s, found %v", status, code, err)
	}
	if response.StatusCode != status || response.ErrorCode != code {
		t.Fatalf("expected %d %s, found %d %s", status, code, response.StatusCode, response.ErrorCode)
	}
}

// denied checks that an error is a 403.
func denied(t *testing.T, err error) {
	t.Helper()
	var response *azcore.ResponseError
	if !errors.As(err, &response) || response.StatusCode != 403 {
		t.Fatalf("expected a 403, found %v", err)
	}
}

// pages collects all pages of a listing.
func pages[T any](t *testing.T, pager *runtime.Pager[T]) []T {
	t.Helper()
	var found []T
	for pager.More() {
		page, err := pager.NextPage(ctx)
		ok(t, err)
		found = append(found, page)
		if len(found) > 1000 {
			t.Fatal("the pages do not come to an end")
		}
	}
	return found
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in time")
		}
	}
}

func body(text string) io.ReadSeekCloser { return streamed{strings.NewReader(text)} }

type streamed struct{ io.ReadSeeker }

func (streamed) Close() error { return nil }

// withToken is the transport of clients that send LAZULI_TOKEN in place of a signature: the SDK sends tokens over https only.
// Without a token, the test is skipped.
func withToken(t *testing.T) azcore.ClientOptions {
	t.Helper()
	token := setting("LAZULI_TOKEN", "")
	if token == "" {
		t.Skip("LAZULI_TOKEN is not set")
	}
	changed := options
	changed.Transport = bearer{token, options.Transport}
	return changed
}

type bearer struct {
	token string
	inner policy.Transporter
}

func (b bearer) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+b.token)
	return b.inner.Do(request)
}
