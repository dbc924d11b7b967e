package fluxrpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"

	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

// Stream is a streamed answer. It counts as complete only once `completed` came: a call that ends with OK before is an
// error. One goroutine reads it; any may close it.
type Stream struct {
	call   grpc.ServerStreamingClient[fluxrpcv1.ExecuteStreamResponse]
	cancel context.CancelFunc

	started   *fluxrpcv1.Started
	completed *fluxrpcv1.Completed
	route     *fluxrpcv1.RouteInfo
	end       error
}

// Close ends the call; without effect once it has ended.
func (s *Stream) Close() { s.cancel() }

// Started is the head of the answer, nil before its first message was read.
func (s *Stream) Started() *fluxrpcv1.Started { return s.started }

// Route is the route that answers now; it changes where a broken stream is recovered.
func (s *Stream) Route() *fluxrpcv1.RouteInfo { return s.route }

// Completed is the end of the answer: usage, finishes, attempts. Nil while the answer is not complete.
func (s *Stream) Completed() *fluxrpcv1.Completed { return s.completed }

// Recv gives the next message. The end of a complete answer is io.EOF, any other end is an [*Error].
func (s *Stream) Recv() (*fluxrpcv1.ExecuteStreamResponse, error) {
	if s.end != nil {
		return nil, s.end
	}
	message, err := s.call.Recv()
	if err == nil {
		s.take(message)
		return message, nil
	}
	s.end = s.endOf(err)
	s.cancel()
	return nil, s.end
}

// Messages gives every message, and last the error that ended the stream early, if any. Leaving the loop closes the
// stream.
func (s *Stream) Messages() iter.Seq2[*fluxrpcv1.ExecuteStreamResponse, error] {
	return func(yield func(*fluxrpcv1.ExecuteStreamResponse, error) bool) {
		defer s.Close()
		for {
			message, err := s.Recv()
			if errors.Is(err, io.EOF) || !yield(message, err) || err != nil {
				return
			}
		}
	}
}

// Text gives the text of a typed answer's first choice, piece by piece, and last the error that ended it early, if any:
// also where a recovered stream would take text back. Leaving the loop closes the stream.
func (s *Stream) Text() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		given := false
		for message, err := range s.Messages() {
			if err == nil {
				err = s.refuse(message, given)
				s.end = err
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, event := range message.GetEvents().GetEvents() {
				delta := event.GetPartDelta()
				if delta.GetChoiceIndex() != 0 || delta.GetText() == "" {
					continue
				}
				given = true
				if !yield(delta.GetText(), nil) {
					return
				}
			}
		}
	}
}

func (s *Stream) take(message *fluxrpcv1.ExecuteStreamResponse) {
	switch kind := message.GetMessage().(type) {
	case *fluxrpcv1.ExecuteStreamResponse_Started:
		s.started = kind.Started
		s.route = kind.Started.GetRoute()
	case *fluxrpcv1.ExecuteStreamResponse_Restarted:
		s.route = kind.Restarted.GetRoute()
	case *fluxrpcv1.ExecuteStreamResponse_Continued:
		s.route = kind.Continued.GetRoute()
	case *fluxrpcv1.ExecuteStreamResponse_Completed:
		s.completed = kind.Completed
	}
}

func (s *Stream) endOf(err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return AsError(err)
	case s.completed == nil:
		return broken(ReasonStreamIncomplete, "the stream ended with OK but without `completed`", s.started.GetRequestId())
	default:
		return io.EOF
	}
}

// refuse says why a message has no place in plain text, if it has none.
func (s *Stream) refuse(message *fluxrpcv1.ExecuteStreamResponse, given bool) error {
	switch message.GetMessage().(type) {
	case *fluxrpcv1.ExecuteStreamResponse_Native:
		return errors.New("fluxrpc: only typed answers have text; read a native one with Messages")
	case *fluxrpcv1.ExecuteStreamResponse_Restarted:
		if given {
			return broken(ReasonAnswerRestarted,
				"the answer began anew on another route; to take part in that, use Messages", s.started.GetRequestId())
		}
	}
	return nil
}
