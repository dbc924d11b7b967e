package fluxrpc_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	fluxrpc "github.com/fluxrpc/fluxrpc/clients/go"
	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

const (
	realToken    = "a token for tests"
	startTimeout = time.Minute
)

// realConfig is the server's configuration: where it listens, the digest of the token, the simulator's base URL.
const realConfig = `
server: {listen: %q, drain_delay: 0s, grace: 5s}
callers:
  go-test: {token_sha256: %q}
services:
  simulator: {protocols: {openai: %q}}
models:
  healthy: {routes: [{service: simulator, model: sim-ok, credential: "${FLUXRPC_TEST_KEY}"}]}
  failing-over:
    routes:
      - {service: simulator, model: sim-404, credential: "${FLUXRPC_TEST_KEY}", priority: 0}
      - {service: simulator, model: sim-echo, credential: "${FLUXRPC_TEST_KEY}", priority: 10}
  limited: {routes: [{service: simulator, model: sim-429-retry-after-30, credential: "${FLUXRPC_TEST_KEY}"}]}
  cut: {routes: [{service: simulator, model: sim-cut-after-2, credential: "${FLUXRPC_TEST_KEY}"}]}
  slow: {routes: [{service: simulator, model: sim-slow-tokens-50, credential: "${FLUXRPC_TEST_KEY}"}]}
`

// TestAgainstTheRealServer starts the Python server and its simulated providers, and calls them as a program would.
func TestAgainstTheRealServer(t *testing.T) {
	python := realPython(t)
	target := startServer(t, python, startSimulator(t, python))
	client := connect(t, target, fluxrpc.WithToken(realToken))
	for name, test := range map[string]func(*testing.T, *fluxrpc.Client){
		"models": realModels, "failover": realFailover, "native": realNative, "native stream": realNativeStream,
		"typed stream": realTypedStream, "cut stream": realCutStream, "leaving early": realLeavingEarly,
		"rate limit": realRateLimit, "unknown model": realUnknownModel,
	} {
		t.Run(name, func(t *testing.T) { test(t, client) })
	}
	t.Run("unknown token", func(t *testing.T) {
		_, err := connect(t, target, fluxrpc.WithToken("wrong")).ListModels(testContext(t))
		expectReason(t, err, fluxrpc.ReasonUnauthenticated)
	})
}

func realModels(t *testing.T, client *fluxrpc.Client) {
	models, err := client.ListModels(testContext(t))
	if err != nil || len(models) != 5 || models[0].GetName() != "cut" {
		t.Errorf("got %v, %v", models, err)
	}
}

func realFailover(t *testing.T, client *fluxrpc.Client) {
	ctx := fluxrpc.WithRequestID(testContext(t), "go-test-1")
	answer, err := client.Execute(ctx, fluxrpc.Ask("failing-over", fluxrpc.User("Is it you?")))
	if err != nil {
		t.Fatal(err)
	}
	if got := fluxrpc.TextOf(answer.GetMessage()); !strings.Contains(got, "Is it you?") {
		t.Errorf("the echo is %q", got)
	}
	attempts := answer.GetAttempts()
	if len(attempts) != 2 || attempts[0].GetHttpStatus() != 404 || attempts[1].GetOutcome() != fluxrpcv1.Outcome_OUTCOME_OK {
		t.Errorf("attempts are %v", attempts)
	}
	if answer.GetRequestId() != "go-test-1" || answer.GetRoute().GetUpstreamModel() != "sim-echo" {
		t.Errorf("request %q, route %v", answer.GetRequestId(), answer.GetRoute())
	}
}

func openaiRequest(model string) *fluxrpcv1.ExecuteRequest {
	body := []byte(`{"model": "anything", "messages": [{"role": "user", "content": "Hi"}]}`)
	return fluxrpc.Native(model, fluxrpcv1.Protocol_PROTOCOL_OPENAI, body)
}

func realNative(t *testing.T, client *fluxrpc.Client) {
	answer, err := client.Execute(testContext(t), openaiRequest("healthy"))
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Choices []json.RawMessage }
	if err := json.Unmarshal(answer.GetNative().GetBody(), &body); err != nil || len(body.Choices) != 1 {
		t.Errorf("got %s, %v", answer.GetNative().GetBody(), err)
	}
	if answer.GetUsage().GetOutputTokens() <= 0 {
		t.Errorf("usage is %v", answer.GetUsage())
	}
}

func realNativeStream(t *testing.T, client *fluxrpc.Client) {
	stream, err := client.Stream(testContext(t), openaiRequest("healthy"))
	if err != nil {
		t.Fatal(err)
	}
	var frames strings.Builder
	for message, err := range stream.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		frames.Write(message.GetNative())
	}
	if !strings.HasSuffix(frames.String(), "data: [DONE]\n\n") || stream.Completed().GetUsage().GetOutputTokens() <= 0 {
		t.Errorf("got %q, %v", frames.String(), stream.Completed())
	}
}

func realTypedStream(t *testing.T, client *fluxrpc.Client) {
	stream := open(t, client, "healthy")
	texts, err := read(stream)
	if err != nil || len(strings.Join(texts, "")) == 0 || len(stream.Completed().GetFinishes()) != 1 {
		t.Errorf("got %q, %v, %v", texts, err, stream.Completed())
	}
	if stream.Route().GetService() != "simulator" || stream.Started().GetRequestId() == "" {
		t.Errorf("got %v", stream.Started())
	}
}

func realCutStream(t *testing.T, client *fluxrpc.Client) {
	texts, err := read(open(t, client, "cut"))
	failed := expectReason(t, err, fluxrpc.ReasonStreamInterrupted)
	if len(texts) == 0 || len(failed.Attempts) == 0 || failed.RequestID == "" {
		t.Errorf("got %q, %+v", texts, failed)
	}
}

func realLeavingEarly(t *testing.T, client *fluxrpc.Client) {
	stream := open(t, client, "slow")
	for _, err := range stream.Text() {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if stream.Completed() != nil {
		t.Error("the stream was over before we left")
	}
	if _, err := client.Execute(testContext(t), openaiRequest("healthy")); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func realRateLimit(t *testing.T, client *fluxrpc.Client) {
	_, err := client.Execute(testContext(t), openaiRequest("limited"))
	failed := expectReason(t, err, fluxrpc.ReasonRateLimited)
	if failed.RetryDelay <= 25*time.Second || failed.RetryDelay > 30*time.Second || len(failed.Attempts) != 1 {
		t.Errorf("got %+v", failed)
	}
}

func realUnknownModel(t *testing.T, client *fluxrpc.Client) {
	_, err := client.Execute(testContext(t), openaiRequest("healhty"))
	if failed := expectReason(t, err, fluxrpc.ReasonUnknownModel); len(failed.Nearest) == 0 || failed.Nearest[0] != "healthy" {
		t.Errorf("got %+v", failed)
	}
}

func expectReason(t *testing.T, err error, reason string) *fluxrpc.Error {
	t.Helper()
	var failed *fluxrpc.Error
	if !errors.As(err, &failed) || failed.Reason != reason {
		t.Fatalf("got %v, not %s", err, reason)
	}
	return failed
}

// realPython is the interpreter that has the server. Without one the test is skipped, unless FLUXRPC_REQUIRE_SERVER=1.
func realPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("FLUXRPC_PYTHON")
	if python == "" {
		python = filepath.Join("..", "..", ".venv", "bin", "python")
	}
	python, err := filepath.Abs(python)
	if err != nil {
		t.Fatal(err)
	}
	// Whether its packages are there, not whether the server works: one that does not start is no reason to skip.
	command := exec.Command(python, "-c", "import aiohttp, grpc, yaml")
	if output, err := command.CombinedOutput(); err != nil {
		message := fmt.Sprintf("no Python with the fluxrpc server (FLUXRPC_PYTHON names one): %s: %v %s", python, err, output)
		if os.Getenv("FLUXRPC_REQUIRE_SERVER") == "1" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	return python
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// process is a program of the test, ended with it.
type process struct {
	command *exec.Cmd
	log     *syncBuffer
	exited  chan struct{}
}

// start runs Python; lines gets what it prints on standard output. What it prints is shown if the test fails.
func start(t *testing.T, python string, lines func(string), arguments ...string) *process {
	t.Helper()
	running := &process{command: exec.Command(python, arguments...), log: &syncBuffer{}, exited: make(chan struct{})}
	running.command.Dir = repository(t)
	running.command.Stderr = running.log
	running.command.Env = append(os.Environ(), "FLUXRPC_TEST_KEY=a-key-of-the-simulator")
	stdout, err := running.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(running.exited)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines(scanner.Text())
		}
		running.command.Wait() //nolint:errcheck // how it ended stands in its log
	}()
	t.Cleanup(func() { running.stop(t) })
	return running
}

func (p *process) stop(t *testing.T) {
	p.command.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
	select {
	case <-p.exited:
	case <-time.After(testTimeout):
		t.Errorf("%v did not end on SIGTERM", p.command.Args)
		p.command.Process.Kill() //nolint:errcheck // it may have ended
		<-p.exited
	}
	if t.Failed() {
		t.Logf("%v:\n%s", p.command.Args, p.log)
	}
}

// startSimulator gives the base URL of simulated OpenAI.
func startSimulator(t *testing.T, python string) string {
	t.Helper()
	urls := make(chan string, 1)
	simulator := start(t, python, func(line string) {
		if name, url, ok := strings.Cut(line, " "); ok && name == "openai" {
			urls <- strings.TrimSpace(url)
		}
	}, "-m", "fluxrpc.simulator")
	select {
	case url := <-urls:
		return url
	case <-simulator.exited:
	case <-time.After(startTimeout):
	}
	t.Fatal("the simulator did not start")
	return ""
}

// startServer gives the address of a server that serves.
func startServer(t *testing.T, python, simulatorURL string) string {
	t.Helper()
	digest := sha256.Sum256([]byte(realToken))
	// The port is free when we look and may be taken before the server has it: then another one.
	for range 3 {
		target := freeAddress(t)
		path := filepath.Join(t.TempDir(), "fluxrpc.yaml")
		config := fmt.Sprintf(realConfig, target, hex.EncodeToString(digest[:]), simulatorURL)
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		server := start(t, python, func(string) {}, "-m", "fluxrpc", "serve", "--config", path)
		if serves(t, target, server.exited) {
			return target
		}
		t.Logf("no server at %s:\n%s", target, server.log)
	}
	t.Fatal("the server did not start")
	return ""
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// serves waits until the health service says SERVING, or the process has ended.
func serves(t *testing.T, target string, exited <-chan struct{}) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	go func() {
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	// A watch says each change, and begins as soon as something listens.
	watch, err := grpc_health_v1.NewHealthClient(connect(t, target).Conn()).Watch(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: "fluxrpc.v1.RouterService"}, grpc.WaitForReady(true))
	for err == nil {
		var health *grpc_health_v1.HealthCheckResponse
		if health, err = watch.Recv(); health.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return true
		}
	}
	return false
}

// syncBuffer is a buffer that is written and read at once.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
