package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// blankLine ends every server-sent event.
var blankLine = []byte("\n\n")

const messageLimitBytes = 32 << 20

// rawCodec passes messages as the bytes they are on the wire. Its name is the one of protobuf, so that the content
// type is what every server expects.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(value any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*value.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, value any) error {
	*value.(*[]byte) = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = rawCodec{}

func newGRPCCaller(o options, body []byte) (caller, func(), error) {
	channels := make([]*grpc.ClientConn, o.connections)
	for i := range channels {
		channel, err := grpc.NewClient("passthrough:///"+o.target,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(messageLimitBytes)))
		if err != nil {
			return nil, nil, err
		}
		channels[i] = channel
	}
	finish := func() {
		for _, channel := range channels {
			_ = channel.Close()
		}
	}
	var turn atomic.Uint64
	call := func(ctx context.Context) sample {
		channel := channels[turn.Add(1)%uint64(len(channels))]
		if o.token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+o.token)
		}
		if o.kind == "stream" {
			return callStream(ctx, channel, o.method, body)
		}
		return callUnary(ctx, channel, o.method, body)
	}
	return call, finish, nil
}

func callUnary(ctx context.Context, channel *grpc.ClientConn, method string, body []byte) sample {
	var answer []byte
	began := time.Now()
	err := channel.Invoke(ctx, method, &body, &answer)
	return sample{status: status.Code(err).String(), firstData: time.Since(began), messages: 1, bytes: len(answer)}
}

func callStream(ctx context.Context, channel *grpc.ClientConn, method string, body []byte) sample {
	var got sample
	began := time.Now()
	stream, err := channel.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		err = stream.SendMsg(&body)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil {
		var message []byte
		if err = stream.RecvMsg(&message); err == nil {
			got.count(message, began)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	got.status = status.Code(err).String()
	return got
}

func newHTTPCaller(url string, body []byte) caller {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	return func(ctx context.Context) sample {
		began := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return sample{status: err.Error()}
		}
		request.Header.Set("content-type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			return sample{status: "failed"}
		}
		defer answer.Body.Close()
		return readHTTP(answer, began)
	}
}

func readHTTP(answer *http.Response, began time.Time) sample {
	got := sample{status: "OK"}
	if answer.StatusCode != http.StatusOK {
		got.status = fmt.Sprintf("HTTP %d", answer.StatusCode)
	}
	buffer := make([]byte, 64<<10)
	for {
		size, err := answer.Body.Read(buffer)
		if size > 0 {
			got.count(buffer[:size], began)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				got.status = "cut"
			}
			break
		}
	}
	if got.firstData == 0 {
		got.firstData = time.Since(began)
	}
	return got
}

// count adds one message, and notes when the first event came.
func (s *sample) count(message []byte, began time.Time) {
	events := bytes.Count(message, blankLine)
	if s.events == 0 && events > 0 {
		s.firstData = time.Since(began)
	}
	s.messages++
	s.events += events
	s.bytes += len(message)
}
