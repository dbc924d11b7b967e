package fluxrpc_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	fluxrpc "github.com/fluxrpc/fluxrpc/clients/go"
	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

func TestExecuteReturnsTheAnswer(t *testing.T) {
	router := serveFake(t)
	client := connect(t, router.target, fluxrpc.WithToken("secret"), fluxrpc.WithTimeout(20*time.Second))
	ctx := fluxrpc.WithRequestID(context.Background(), "mine")
	answer, err := client.Execute(ctx, fluxrpc.Ask("text", fluxrpc.System("Be brief."), fluxrpc.User("Hi")))
	if err != nil || fluxrpc.TextOf(answer.GetMessage()) != "Hello" {
		t.Fatalf("got %v, %v", answer, err)
	}
	if got := router.metadata.Get("authorization"); !slices.Equal(got, []string{"Bearer secret"}) {
		t.Errorf("authorization is %q", got)
	}
	if got := router.metadata.Get("x-request-id"); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("x-request-id is %q", got)
	}
	if router.deadline < 15*time.Second || router.deadline > 20*time.Second {
		t.Errorf("the client's own timeout gave %s", router.deadline)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := client.Execute(ctx, fluxrpc.Ask("text", fluxrpc.User("Hi"))); err != nil {
		t.Fatal(err)
	}
	if router.deadline > 10*time.Second {
		t.Errorf("the context's deadline gave %s", router.deadline)
	}
}

func TestANativeRequestPassesItsBytes(t *testing.T) {
	client := connect(t, serveFake(t).target)
	body := []byte(`{"model" : "x"}`)
	answer, err := client.Execute(testContext(t), fluxrpc.Native("native", fluxrpcv1.Protocol_PROTOCOL_OPENAI, body))
	if err != nil || string(answer.GetNative().GetBody()) != string(body) {
		t.Fatalf("got %v, %v", answer, err)
	}
	if got := fluxrpc.TextOf(answer.GetMessage()); got != "" {
		t.Errorf("a native answer has the text %q", got)
	}
}

func TestTheOtherMethods(t *testing.T) {
	client := connect(t, serveFake(t).target)
	models, err := client.ListModels(testContext(t))
	if err != nil || len(models) != 1 || models[0].GetName() != "fast" {
		t.Errorf("got %v, %v", models, err)
	}
	request := &fluxrpcv1.TranslateRequest{Target: fluxrpcv1.Protocol_PROTOCOL_GEMINI}
	translated, err := client.Translate(testContext(t), request)
	if err != nil || translated.GetProtocol() != fluxrpcv1.Protocol_PROTOCOL_GEMINI {
		t.Errorf("got %v, %v", translated, err)
	}
}

// errorOf makes the call and gives its error.
func errorOf(t *testing.T, client *fluxrpc.Client, model string) *fluxrpc.Error {
	t.Helper()
	_, err := client.Execute(testContext(t), fluxrpc.Ask(model, fluxrpc.User("Hi")))
	var failed *fluxrpc.Error
	if !errors.As(fmt.Errorf("wrapped: %w", err), &failed) {
		t.Fatalf("got %v", err)
	}
	return failed
}

func TestErrorsSayWhatTheServerSaid(t *testing.T) {
	client := connect(t, serveFake(t).target)
	limited := errorOf(t, client, "limited")
	if limited.Code != codes.ResourceExhausted || limited.Reason != fluxrpc.ReasonRateLimited ||
		limited.RetryDelay != 1500*time.Millisecond || limited.RequestID != "r-1" {
		t.Errorf("got %+v", limited)
	}
	if len(limited.Attempts) != 1 || limited.Attempts[0].GetHttpStatus() != 429 ||
		limited.PartialUsage == nil || string(limited.Native.GetBody()) != "{}" {
		t.Errorf("got %+v", limited)
	}
	if want := "fluxrpc: ResourceExhausted RATE_LIMITED: no (request r-1) (retry in 1.5s)"; limited.Error() != want {
		t.Errorf("got %q", limited.Error())
	}
	if status.Code(limited) != codes.ResourceExhausted || len(status.Convert(limited).Details()) != 3 {
		t.Errorf("status is %v", status.Convert(limited))
	}
	if again := fluxrpc.AsError(limited); again != limited {
		t.Errorf("read twice it is %v", again)
	}
	invalid := errorOf(t, client, "invalid")
	want := []fluxrpc.Violation{{Path: "messages[0].text", Message: "must not be empty"}}
	if !slices.Equal(invalid.Violations, want) || invalid.RequestID != "r-2" {
		t.Errorf("got %+v", invalid)
	}
	if unknown := errorOf(t, client, "unknown"); !slices.Equal(unknown.Nearest, []string{"fast", "best"}) {
		t.Errorf("got %+v", unknown)
	}
}

func TestAContextsEndIsKnownAsSuch(t *testing.T) {
	router := serveFake(t)
	client := connect(t, router.target)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Execute(ctx, fluxrpc.Ask("hangs")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if _, err := client.Execute(ctx, fluxrpc.Ask("text")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Execute(testContext(t), fluxrpc.Ask("limited")); errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyUnavailableIsTriedAgainAndOnlyOnce(t *testing.T) {
	router := serveFake(t)
	client := connect(t, router.target)
	if _, err := client.Execute(testContext(t), fluxrpc.Ask("down-once")); err != nil {
		t.Error(err)
	}
	for model, want := range map[string]int{"down": 2, "exhausted": 1, "limited": 1} {
		errorOf(t, client, model)
		if got := router.callsOf(model); got != want {
			t.Errorf("%s was called %d times, not %d", model, got, want)
		}
	}
}

func TestMessagesMayBeLargerThanTheDefault(t *testing.T) {
	client := connect(t, serveFake(t).target)
	prompt := fluxrpc.User(strings.Repeat("x", 6<<20))
	answer, err := client.Execute(testContext(t), fluxrpc.Ask("large", prompt))
	if err != nil || len(fluxrpc.TextOf(answer.GetMessage())) != 6<<20 {
		t.Error(err)
	}
}

func TestAServerThatDrainsIsNotCalled(t *testing.T) {
	router := serveFake(t)
	client := connect(t, router.target)
	if _, err := client.ListModels(testContext(t)); err != nil {
		t.Fatal(err)
	}
	router.setHealth(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if !client.Conn().WaitForStateChange(testContext(t), connectivity.Ready) {
		t.Fatal("the channel stayed ready")
	}
	if failed := errorOf(t, client, "text"); failed.Code != codes.Unavailable || router.callsOf("text") != 0 {
		t.Errorf("got %v, %d calls", failed, router.callsOf("text"))
	}
	router.setHealth(grpc_health_v1.HealthCheckResponse_SERVING)
	if _, err := client.Execute(testContext(t), fluxrpc.Ask("text"), grpc.WaitForReady(true)); err != nil {
		t.Error(err)
	}
}

func TestATokenLeavesThisMachineOnlyEncrypted(t *testing.T) {
	for target, local := range map[string]bool{
		"localhost:50051": true, "127.0.0.1:1": true, "127.8.8.8:1": true, "[::1]:1": true,
		"ipv4:127.0.0.1:1": true, "dns:///localhost:1": true, "dns:localhost:1": true,
		"passthrough:///127.0.0.1:1": true, "unix:///run/fluxrpc.sock": true,
		"10.0.0.1:1": false, "[2001:db8::1]:1": false, "ipv4:127.0.0.1:1,10.0.0.1:1": false,
		"localhost.example.com:1": false, "dns://127.0.0.1/example.com:1": false, "fluxrpc:1": false,
	} {
		if _, err := fluxrpc.New(target, fluxrpc.WithToken("t")); local != (err == nil || !strings.Contains(err.Error(), "unencrypted")) {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, option := range []fluxrpc.Option{fluxrpc.AllowPlaintext(), fluxrpc.WithTLS(nil), fluxrpc.WithTLS(&tls.Config{})} {
		connect(t, "fluxrpc:1", fluxrpc.WithToken("t"), option)
	}
}

func TestAnUnknownSchemeOrBadConfigIsAnErrorAtOnce(t *testing.T) {
	bad := fluxrpc.WithDialOptions(grpc.WithDefaultServiceConfig("{"))
	if _, err := fluxrpc.New("localhost:1", bad); err == nil {
		t.Error("no error")
	}
}

func TestAPlainStubDoesAsWell(t *testing.T) {
	router := serveFake(t)
	conn, err := grpc.NewClient(router.target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fluxrpc.DefaultServiceConfig))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stub := fluxrpcv1.NewRouterServiceClient(conn)
	if _, err := stub.Execute(testContext(t), fluxrpc.Ask("down-once")); err != nil {
		t.Error(err)
	}
	_, err = connect(t, router.target).Stub().Execute(testContext(t), fluxrpc.Ask("limited"))
	if failed := fluxrpc.AsError(err); failed.Reason != fluxrpc.ReasonRateLimited {
		t.Errorf("got %v", failed)
	}
	if fluxrpc.AsError(nil) != nil {
		t.Error("no error has become one")
	}
}
