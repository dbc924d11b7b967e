package fluxrpc_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	fluxrpc "github.com/fluxrpc/fluxrpc/clients/go"
	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

const testTimeout = 30 * time.Second

// fakeRouter answers as the model's name says: no provider, no routing, only what a client can meet.
type fakeRouter struct {
	fluxrpcv1.UnimplementedRouterServiceServer

	target string
	health *health.Server
	left   chan struct{} // gets one for each call that the caller left

	mu       sync.Mutex
	calls    map[string]int
	metadata metadata.MD
	deadline time.Duration
}

func serveFake(t *testing.T) *fakeRouter {
	t.Helper()
	router := &fakeRouter{health: health.NewServer(), left: make(chan struct{}, 10), calls: map[string]int{}}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(32<<20), grpc.MaxSendMsgSize(32<<20))
	fluxrpcv1.RegisterRouterServiceServer(server, router)
	grpc_health_v1.RegisterHealthServer(server, router.health)
	router.setHealth(grpc_health_v1.HealthCheckResponse_SERVING)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	router.target = listener.Addr().String()
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(server.Stop)
	return router
}

// connect makes a client that ends with the test.
func connect(t *testing.T, target string, options ...fluxrpc.Option) *fluxrpc.Client {
	t.Helper()
	client, err := fluxrpc.New(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

func (f *fakeRouter) setHealth(status grpc_health_v1.HealthCheckResponse_ServingStatus) {
	f.health.SetServingStatus("fluxrpc.v1.RouterService", status)
}

func (f *fakeRouter) callsOf(model string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[model]
}

// meet notes the call and fails where the model's name says so.
func (f *fakeRouter) meet(ctx context.Context, model string) error {
	f.mu.Lock()
	f.calls[model]++
	times := f.calls[model]
	f.metadata, _ = metadata.FromIncomingContext(ctx)
	f.deadline = 0
	if deadline, ok := ctx.Deadline(); ok {
		f.deadline = time.Until(deadline)
	}
	f.mu.Unlock()
	switch {
	case model == "down", model == "down-once" && times == 1:
		return status.Error(codes.Unavailable, "the server went away")
	case model == "exhausted":
		if err := grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "-1")); err != nil {
			return err
		}
		return withDetails(codes.Unavailable, &errdetails.ErrorInfo{Reason: fluxrpc.ReasonProviderFailed})
	case model == "limited":
		return withDetails(codes.ResourceExhausted,
			&errdetails.ErrorInfo{Reason: fluxrpc.ReasonRateLimited, Domain: "fluxrpc"},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
			&fluxrpcv1.ErrorDetail{
				RequestId:    "r-1",
				Attempts:     []*fluxrpcv1.Attempt{{Route: "a", HttpStatus: 429}},
				PartialUsage: &fluxrpcv1.Usage{},
				Native:       &fluxrpcv1.NativeError{HttpStatus: 429, Body: []byte("{}")},
			})
	case model == "invalid":
		return withDetails(codes.InvalidArgument,
			&errdetails.ErrorInfo{Reason: fluxrpc.ReasonInvalidRequest, Metadata: map[string]string{"request_id": "r-2"}},
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: "messages[0].text", Description: "must not be empty"},
			}})
	case model == "unknown":
		return withDetails(codes.NotFound, &errdetails.ErrorInfo{
			Reason: fluxrpc.ReasonUnknownModel, Metadata: map[string]string{"nearest": "fast, best"},
		})
	case model == "hangs":
		<-ctx.Done()
		f.left <- struct{}{}
		return ctx.Err()
	}
	return nil
}

func withDetails(code codes.Code, details ...protoadapt.MessageV1) error {
	full, err := status.New(code, "no").WithDetails(details...)
	if err != nil {
		return err
	}
	return full.Err()
}

func (f *fakeRouter) Execute(
	ctx context.Context, request *fluxrpcv1.ExecuteRequest,
) (*fluxrpcv1.ExecuteResponse, error) {
	if err := f.meet(ctx, request.GetModel()); err != nil {
		return nil, err
	}
	if native := request.GetNative(); native != nil {
		return &fluxrpcv1.ExecuteResponse{Response: &fluxrpcv1.ExecuteResponse_Native{
			Native: &fluxrpcv1.NativeResponse{Protocol: native.GetProtocol(), Body: native.GetBody()},
		}}, nil
	}
	text := "Hello"
	if request.GetModel() == "large" {
		text = strings.Repeat("x", 6<<20)
	}
	choice := &fluxrpcv1.Choice{Parts: []*fluxrpcv1.Part{{Kind: &fluxrpcv1.Part_Text{Text: text}}}}
	message := &fluxrpcv1.MessageResponse{Choices: []*fluxrpcv1.Choice{choice}}
	return &fluxrpcv1.ExecuteResponse{Response: &fluxrpcv1.ExecuteResponse_Message{Message: message}}, nil
}

func (f *fakeRouter) ExecuteStream(
	request *fluxrpcv1.ExecuteRequest, call grpc.ServerStreamingServer[fluxrpcv1.ExecuteStreamResponse],
) error {
	if err := f.meet(call.Context(), request.GetModel()); err != nil {
		return err
	}
	for _, message := range streams[request.GetModel()] {
		if err := call.Send(message); err != nil {
			return err
		}
	}
	switch request.GetModel() {
	case "endless":
		for call.Send(text("more")) == nil {
		}
		f.left <- struct{}{}
	case "interrupted":
		return withDetails(codes.Unavailable, &errdetails.ErrorInfo{Reason: fluxrpc.ReasonStreamInterrupted})
	}
	return nil
}

func (f *fakeRouter) Translate(
	_ context.Context, request *fluxrpcv1.TranslateRequest,
) (*fluxrpcv1.TranslateResponse, error) {
	return &fluxrpcv1.TranslateResponse{Protocol: request.GetTarget()}, nil
}

func (f *fakeRouter) ListModels(
	context.Context, *fluxrpcv1.ListModelsRequest,
) (*fluxrpcv1.ListModelsResponse, error) {
	return &fluxrpcv1.ListModelsResponse{Models: []*fluxrpcv1.Model{{Name: "fast"}}}, nil
}

var streams = map[string][]*fluxrpcv1.ExecuteStreamResponse{
	"text":          {started(), text("Hel", "", "lo"), completed()},
	"native":        {started(), native("data: [DONE]\n\n"), completed()},
	"incomplete":    {started(), text("Hel")},
	"interrupted":   {started(), text("Hel")},
	"endless":       {started()},
	"restart":       {started(), text("Hel"), restarted(), text("Hello"), completed()},
	"early-restart": {started(), restarted(), text("Hello"), completed()},
	"continued":     {started(), text("Hel"), continued(), text("lo"), completed()},
}

func started() *fluxrpcv1.ExecuteStreamResponse {
	return &fluxrpcv1.ExecuteStreamResponse{Message: &fluxrpcv1.ExecuteStreamResponse_Started{
		Started: &fluxrpcv1.Started{RequestId: "r-1", Route: &fluxrpcv1.RouteInfo{Route: "a"}},
	}}
}

func restarted() *fluxrpcv1.ExecuteStreamResponse {
	return &fluxrpcv1.ExecuteStreamResponse{Message: &fluxrpcv1.ExecuteStreamResponse_Restarted{
		Restarted: &fluxrpcv1.Restarted{Route: &fluxrpcv1.RouteInfo{Route: "b"}},
	}}
}

func continued() *fluxrpcv1.ExecuteStreamResponse {
	return &fluxrpcv1.ExecuteStreamResponse{Message: &fluxrpcv1.ExecuteStreamResponse_Continued{
		Continued: &fluxrpcv1.Continued{Route: &fluxrpcv1.RouteInfo{Route: "c"}},
	}}
}

func completed() *fluxrpcv1.ExecuteStreamResponse {
	return &fluxrpcv1.ExecuteStreamResponse{Message: &fluxrpcv1.ExecuteStreamResponse_Completed{
		Completed: &fluxrpcv1.Completed{},
	}}
}

func native(frames string) *fluxrpcv1.ExecuteStreamResponse {
	return &fluxrpcv1.ExecuteStreamResponse{Message: &fluxrpcv1.ExecuteStreamResponse_Native{Native: []byte(frames)}}
}

func text(pieces ...string) *fluxrpcv1.ExecuteStreamResponse {
	events := &fluxrpcv1.Events{}
	for _, piece := range pieces {
		delta := &fluxrpcv1.PartDelta{Delta: &fluxrpcv1.PartDelta_Text{Text: piece}}
		other := &fluxrpcv1.PartDelta{ChoiceIndex: 1, Delta: &fluxrpcv1.PartDelta_Text{Text: "of another choice"}}
		events.Events = append(events.Events,
			&fluxrpcv1.StreamEvent{Event: &fluxrpcv1.StreamEvent_PartDelta{PartDelta: delta}},
			&fluxrpcv1.StreamEvent{Event: &fluxrpcv1.StreamEvent_PartDelta{PartDelta: other}})
	}
	return &fluxrpcv1.ExecuteStreamResponse{Message: &fluxrpcv1.ExecuteStreamResponse_Events{Events: events}}
}
