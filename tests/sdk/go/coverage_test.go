package sdk

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
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

// Every public method of the clients is called somewhere in this suite, on a value of that very type. The kinds of blobs share the
// methods of blob.Client, which they pass on to it: for these, a call on one kind counts for all.
func TestEveryPublicMethodIsCalled(t *testing.T) {
	called := methodsCalled(t)
	if len(uncalled(called, &http.Server{})) == 0 {
		t.Error("the check itself does not find what is missing")
	}
	kinds := []any{&blob.Client{}, &blockblob.Client{}, &appendblob.Client{}, &pageblob.Client{}}
	for _, method := range methods(&blob.Client{}) {
		if slices.ContainsFunc(kinds, func(kind any) bool { return called[full(kind, method)] }) {
			for _, kind := range kinds {
				called[full(kind, method)] = true
			}
		}
	}
	for _, client := range append(kinds, &aztables.ServiceClient{}, &aztables.Client{}, &azqueue.ServiceClient{}, &azqueue.QueueClient{},
		&azblob.Client{}, &service.Client{}, &container.Client{}, &lease.BlobClient{}, &lease.ContainerClient{}) {
		for _, method := range uncalled(called, client) {
			t.Errorf("%s is not called", method)
		}
	}
}

func methods(client any) []string {
	var names []string
	kind := reflect.TypeOf(client)
	for index := range kind.NumMethod() {
		names = append(names, kind.Method(index).Name)
	}
	return names
}

// full is the name of a method with its package and type.
func full(client any, method string) string {
	kind := reflect.TypeOf(client).Elem()
	return kind.PkgPath() + "." + kind.Name() + "." + method
}

func uncalled(called map[string]bool, client any) []string {
	var missing []string
	for _, method := range methods(client) {
		if !called[full(client, method)] {
			missing = append(missing, full(client, method))
		}
	}
	return missing
}

// methodsCalled reads the types in this suite's sources: a method of the same name on another type must not count.
func methodsCalled(t *testing.T) map[string]bool {
	t.Helper()
	listing := must(exec.Command("go", "list", "-test", "-deps", "-export", "-f", "{{.ImportPath}}={{.Export}}", ".").Output())(t)
	exports := map[string]string{}
	for _, line := range strings.Split(string(listing), "\n") {
		path, file, _ := strings.Cut(line, "=")
		exports[path] = file
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range must(filepath.Glob("*_test.go"))(t) {
		parsed = append(parsed, must(parser.ParseFile(files, name, nil, 0))(t))
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup)}
	info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	must(config.Check("lazuli.test/sdk", files, parsed, &info))(t)
	called := map[string]bool{}
	for _, selection := range info.Selections {
		if selection.Kind() == types.MethodVal {
			receiver := types.TypeString(types.Unalias(selection.Recv()), nil)
			called[strings.TrimPrefix(receiver, "*")+"."+selection.Obj().Name()] = true
		}
	}
	return called
}
