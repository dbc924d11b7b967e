// Package fluxrpc is a client of fluxrpc, the gRPC service through which programs reach every LLM provider.
//
// A [Client] is one channel: make one, keep it, and use it from any number of goroutines. The messages, and stubs that
// work without any of this, are in the package fluxrpc/v1 below.
package fluxrpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

// DefaultTimeout holds for calls whose context has no deadline. It is what the server gives to calls without one.
const DefaultTimeout = 10 * time.Minute

// Client asks models. Every error of its methods is an [*Error].
type Client struct {
	conn    *grpc.ClientConn
	stub    fluxrpcv1.RouterServiceClient
	timeout time.Duration
}

// New makes a client of the server at target: HOST:PORT, or any gRPC target such as dns:///HOST:PORT. It connects at
// the first call. It fails for what cannot be dialled, and where a token would cross a network unencrypted.
func New(target string, options ...Option) (*Client, error) {
	settings := settings{timeout: DefaultTimeout}
	for _, option := range options {
		option(&settings)
	}
	dialOptions, err := settings.dialOptions(target)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(target, dialOptions...)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, stub: fluxrpcv1.NewRouterServiceClient(conn), timeout: settings.timeout}, nil
}

// Close closes the channel. Running calls are cancelled.
func (c *Client) Close() error { return c.conn.Close() }

// Conn is the channel, for other stubs on it. They send the token too.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// Stub is the generated stub on this client's channel. Its errors are plain gRPC errors; [AsError] reads them.
func (c *Client) Stub() fluxrpcv1.RouterServiceClient { return c.stub }

// WithRequestID gives a call's context the id under which the server logs it: at most 64 of A-Z a-z 0-9 . _ : -
func WithRequestID(ctx context.Context, id string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-request-id", id)
}

// Execute asks a model and waits for the whole answer. [TextOf] its message is its text.
func (c *Client) Execute(
	ctx context.Context, request *fluxrpcv1.ExecuteRequest, options ...grpc.CallOption,
) (*fluxrpcv1.ExecuteResponse, error) {
	return call(ctx, c, c.stub.Execute, request, options)
}

// Stream asks a model, to read the answer as it comes. Close the stream: that ends the call, and the server then stops
// the provider. Ranging over [Stream.Messages] or [Stream.Text] closes it too, however the loop is left.
func (c *Client) Stream(
	ctx context.Context, request *fluxrpcv1.ExecuteRequest, options ...grpc.CallOption,
) (*Stream, error) {
	ctx, cancel := c.withDeadline(ctx)
	call, err := c.stub.ExecuteStream(ctx, request, options...)
	if err != nil {
		cancel()
		return nil, AsError(err)
	}
	return &Stream{call: call, cancel: cancel}, nil
}

// Translate says what Execute would send to a provider, and what the translation would change. Nothing is sent.
func (c *Client) Translate(
	ctx context.Context, request *fluxrpcv1.TranslateRequest, options ...grpc.CallOption,
) (*fluxrpcv1.TranslateResponse, error) {
	return call(ctx, c, c.stub.Translate, request, options)
}

// ListModels gives the models that this client may ask for, by name.
func (c *Client) ListModels(ctx context.Context, options ...grpc.CallOption) ([]*fluxrpcv1.Model, error) {
	response, err := call(ctx, c, c.stub.ListModels, &fluxrpcv1.ListModelsRequest{}, options)
	return response.GetModels(), err
}

// call does a unary call with this client's deadline and errors.
func call[Request, Response any](
	ctx context.Context,
	client *Client,
	method func(context.Context, *Request, ...grpc.CallOption) (*Response, error),
	request *Request,
	options []grpc.CallOption,
) (*Response, error) {
	ctx, cancel := client.withDeadline(ctx)
	defer cancel()
	response, err := method(ctx, request, options...)
	if err != nil {
		return nil, AsError(err)
	}
	return response, nil
}

func (c *Client) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.timeout)
}
