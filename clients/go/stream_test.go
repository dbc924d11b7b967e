package fluxrpc_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	fluxrpc "github.com/fluxrpc/fluxrpc/clients/go"
)

// open begins a stream that ends with the test.
func open(t *testing.T, client *fluxrpc.Client, model string) *fluxrpc.Stream {
	t.Helper()
	stream, err := client.Stream(testContext(t), fluxrpc.Ask(model, fluxrpc.User("Hi")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	return stream
}

// read gives all text of a stream and the error that ended it.
func read(stream *fluxrpc.Stream) (texts []string, err error) {
	for text, failed := range stream.Text() {
		if failed != nil {
			err = failed
			continue
		}
		texts = append(texts, text)
	}
	return texts, err
}

func TestAStreamGivesMessagesAndText(t *testing.T) {
	client := connect(t, serveFake(t).target)
	stream := open(t, client, "text")
	if stream.Started() != nil || stream.Completed() != nil || stream.Route() != nil {
		t.Error("something is known before anything came")
	}
	texts, err := read(stream)
	if err != nil || !slices.Equal(texts, []string{"Hel", "lo"}) {
		t.Errorf("got %q, %v", texts, err)
	}
	if stream.Started().GetRequestId() != "r-1" || stream.Route().GetRoute() != "a" || stream.Completed() == nil {
		t.Errorf("got %v, %v, %v", stream.Started(), stream.Route(), stream.Completed())
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end comes %v", err)
	}
	count, frames := 0, ""
	for message, err := range open(t, client, "native").Messages() {
		if err != nil {
			t.Fatal(err)
		}
		count++
		frames += string(message.GetNative())
	}
	if count != 3 || frames != "data: [DONE]\n\n" {
		t.Errorf("%d messages with %q", count, frames)
	}
}

func TestWhatIsNotCompleteIsNoSuccess(t *testing.T) {
	client := connect(t, serveFake(t).target)
	for model, reason := range map[string]string{
		"incomplete":  fluxrpc.ReasonStreamIncomplete,
		"interrupted": fluxrpc.ReasonStreamInterrupted,
		"restart":     fluxrpc.ReasonAnswerRestarted,
	} {
		stream := open(t, client, model)
		texts, err := read(stream)
		var failed *fluxrpc.Error
		if !errors.As(err, &failed) || failed.Reason != reason || !slices.Equal(texts, []string{"Hel"}) {
			t.Errorf("%s: got %q, %v", model, texts, err)
		}
		if stream.Completed() != nil {
			t.Errorf("%s is complete", model)
		}
		if _, err := stream.Recv(); !errors.As(err, &failed) {
			t.Errorf("%s: after the end comes %v", model, err)
		}
	}
}

func TestARecoveredStreamGoesOn(t *testing.T) {
	client := connect(t, serveFake(t).target)
	for model, want := range map[string]struct {
		texts []string
		route string
	}{
		"early-restart": {[]string{"Hello"}, "b"},
		"continued":     {[]string{"Hel", "lo"}, "c"},
	} {
		stream := open(t, client, model)
		texts, err := read(stream)
		if err != nil || !slices.Equal(texts, want.texts) || stream.Route().GetRoute() != want.route {
			t.Errorf("%s: got %q, %v, %v", model, texts, err, stream.Route())
		}
	}
	count := 0
	for _, err := range open(t, client, "restart").Messages() {
		if err != nil {
			t.Error(err)
		}
		count++
	}
	if count != 5 {
		t.Errorf("%d messages", count)
	}
}

func TestANativeStreamHasNoText(t *testing.T) {
	if texts, err := read(open(t, connect(t, serveFake(t).target), "native")); err == nil || texts != nil {
		t.Errorf("got %q, %v", texts, err)
	}
}

func TestAnErrorBeforeTheFirstMessageIsTyped(t *testing.T) {
	_, err := open(t, connect(t, serveFake(t).target), "limited").Recv()
	var failed *fluxrpc.Error
	if !errors.As(err, &failed) || failed.Reason != fluxrpc.ReasonRateLimited {
		t.Errorf("got %v", err)
	}
}

func TestLeavingEarlyEndsTheCall(t *testing.T) {
	router := serveFake(t)
	client := connect(t, router.target)
	for name, leave := range map[string]func(*fluxrpc.Stream){
		"messages": func(stream *fluxrpc.Stream) {
			for range stream.Messages() {
				break
			}
		},
		"text": func(stream *fluxrpc.Stream) {
			for range stream.Text() {
				break
			}
		},
		"close": func(stream *fluxrpc.Stream) {
			if _, err := stream.Recv(); err != nil {
				t.Error(err)
			}
			stream.Close()
		},
	} {
		leave(open(t, client, "endless"))
		select {
		case <-router.left: // the channel is still open: leaving alone did it
		case <-time.After(testTimeout):
			t.Fatalf("%s: the server still sends", name)
		}
	}
}
