// Goclient makes the calls of the end-to-end run through the generated Go client. It reads what to call as JSON on
// standard input and writes one JSON line for each check.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

const callTimeout = time.Minute

// plan is what the parent asks for.
type plan struct {
	Target    string       `json:"target"`
	Token     string       `json:"token"`
	Model     string       `json:"model"`
	Service   string       `json:"service"`
	Prompt    string       `json:"prompt"`
	Answer    string       `json:"answer"`
	MaxTokens int64        `json:"max_tokens"`
	Calls     []nativeCall `json:"calls"`
}

// nativeCall is one request in a wire protocol.
type nativeCall struct {
	Name      string `json:"name"`
	Protocol  int32  `json:"protocol"`
	Body      string `json:"body"`
	LastFrame string `json:"last_frame"`
}

// outcome is one line of output.
type outcome struct {
	Title   string  `json:"title"`
	Passed  bool    `json:"passed"`
	Seconds float64 `json:"seconds"`
	Detail  string  `json:"detail"`
}

func main() {
	var asked plan
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	channel, err := grpc.NewClient(asked.Target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fail(err)
	}
	defer channel.Close()
	run := runner{plan: asked, stub: fluxrpcv1.NewRouterServiceClient(channel)}
	for _, call := range asked.Calls {
		run.check("Execute, "+call.Name, func(ctx context.Context) (string, error) { return run.native(ctx, call) })
		run.check("ExecuteStream, "+call.Name, func(ctx context.Context) (string, error) { return run.nativeStream(ctx, call) })
	}
	run.check("Execute, typed message", run.typed)
	run.check("ExecuteStream, typed message", run.typedStream)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "goclient:", err)
	os.Exit(1)
}

type runner struct {
	plan plan
	stub fluxrpcv1.RouterServiceClient
}

func (r runner) check(title string, work func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+r.plan.Token)
	began := time.Now()
	detail, err := work(ctx)
	if err != nil {
		detail = err.Error()
	}
	line := outcome{Title: title, Passed: err == nil, Seconds: time.Since(began).Seconds(), Detail: detail}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		fail(err)
	}
}

func (r runner) native(ctx context.Context, call nativeCall) (string, error) {
	answer, err := r.stub.Execute(ctx, r.nativeRequest(call))
	if err != nil {
		return "", err
	}
	return r.judge(string(answer.GetNative().GetBody()), answer.GetRoute(), answer.GetUsage())
}

func (r runner) nativeStream(ctx context.Context, call nativeCall) (string, error) {
	got, err := r.collect(ctx, r.nativeRequest(call))
	if err != nil {
		return "", err
	}
	if !strings.Contains(lastFrame(got.native), call.LastFrame) {
		return "", fmt.Errorf("the last frame is %q, not %s", lastFrame(got.native), call.LastFrame)
	}
	return r.judge(got.native, got.started.GetRoute(), got.completed.GetUsage())
}

func (r runner) typed(ctx context.Context) (string, error) {
	answer, err := r.stub.Execute(ctx, r.typedRequest())
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range answer.GetMessage().GetChoices()[0].GetParts() {
		text.WriteString(part.GetText())
	}
	return r.judge(text.String(), answer.GetRoute(), answer.GetUsage())
}

func (r runner) typedStream(ctx context.Context) (string, error) {
	got, err := r.collect(ctx, r.typedRequest())
	if err != nil {
		return "", err
	}
	return r.judge(got.text, got.started.GetRoute(), got.completed.GetUsage())
}

// stream is a whole stream, read to its end.
type stream struct {
	started   *fluxrpcv1.Started
	completed *fluxrpcv1.Completed
	native    string
	text      string
}

func (r runner) collect(ctx context.Context, request *fluxrpcv1.ExecuteRequest) (stream, error) {
	var got stream
	call, err := r.stub.ExecuteStream(ctx, request)
	if err != nil {
		return got, err
	}
	for {
		message, err := call.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return got, err
		}
		if got.completed != nil {
			return got, errors.New("a message came after `completed`")
		}
		got.take(message)
	}
	if got.started == nil || got.completed == nil {
		return got, errors.New("the stream ended without `started` or `completed`")
	}
	return got, nil
}

func (s *stream) take(message *fluxrpcv1.ExecuteStreamResponse) {
	switch kind := message.GetMessage().(type) {
	case *fluxrpcv1.ExecuteStreamResponse_Started:
		s.started = kind.Started
	case *fluxrpcv1.ExecuteStreamResponse_Native:
		s.native += string(kind.Native)
	case *fluxrpcv1.ExecuteStreamResponse_Events:
		for _, event := range kind.Events.GetEvents() {
			s.text += event.GetPartDelta().GetText()
		}
	case *fluxrpcv1.ExecuteStreamResponse_Completed:
		s.completed = kind.Completed
	}
}

// judge says what was answered, or what is wrong with it.
func (r runner) judge(text string, route *fluxrpcv1.RouteInfo, usage *fluxrpcv1.Usage) (string, error) {
	switch {
	case !strings.Contains(text, r.plan.Answer):
		return "", fmt.Errorf("%q is not in %q", r.plan.Answer, text)
	case route.GetService() != r.plan.Service:
		return "", fmt.Errorf("the route's service is %q", route.GetService())
	case usage.GetInputTokens() <= 0 || usage.GetOutputTokens() <= 0:
		return "", fmt.Errorf("usage is %v", usage)
	}
	return fmt.Sprintf("route %s; %d tokens in, %d out", route.GetRoute(), usage.GetInputTokens(), usage.GetOutputTokens()), nil
}

func (r runner) nativeRequest(call nativeCall) *fluxrpcv1.ExecuteRequest {
	native := &fluxrpcv1.NativeRequest{Protocol: fluxrpcv1.Protocol(call.Protocol), Body: []byte(call.Body)}
	return &fluxrpcv1.ExecuteRequest{Model: r.plan.Model, Request: &fluxrpcv1.ExecuteRequest_Native{Native: native}}
}

func (r runner) typedRequest() *fluxrpcv1.ExecuteRequest {
	temperature := 0.0
	message := &fluxrpcv1.MessageRequest{
		Messages:        []*fluxrpcv1.Message{{Role: fluxrpcv1.Role_ROLE_USER, Text: r.plan.Prompt}},
		MaxOutputTokens: &r.plan.MaxTokens,
		Temperature:     &temperature,
	}
	return &fluxrpcv1.ExecuteRequest{Model: r.plan.Model, Request: &fluxrpcv1.ExecuteRequest_Message{Message: message}}
}

func lastFrame(stream string) string {
	frames := strings.Split(strings.TrimRight(stream, "\n"), "\n\n")
	return frames[len(frames)-1]
}
