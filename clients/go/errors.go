package fluxrpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

// Reasons of errors. New ones may appear; the status code then says what kind they are of.
const (
	ReasonCircuitOpen           = "CIRCUIT_OPEN"            // every door is shut; see RetryDelay
	ReasonContentRefused        = "CONTENT_REFUSED"         // by the provider's content policy
	ReasonContextLengthExceeded = "CONTEXT_LENGTH_EXCEEDED" // the request is longer than the model's context
	ReasonDeadlineExceeded      = "DEADLINE_EXCEEDED"       // the call's deadline leaves no room for an answer
	ReasonInternal              = "INTERNAL"                // a bug of the server; its log knows RequestID
	ReasonInvalidRequest        = "INVALID_REQUEST"         // see Violations
	ReasonNotExpressible        = "NOT_EXPRESSIBLE"         // no route can say the request, under strict fidelity
	ReasonOverloaded            = "OVERLOADED"              // the server runs as many calls as it may
	ReasonPermissionDenied      = "PERMISSION_DENIED"       // this client may not use that model
	ReasonProviderCredential    = "PROVIDER_CREDENTIAL"     // the server's key, not the token of this client
	ReasonProviderFailed        = "PROVIDER_FAILED"         // every attempt failed
	ReasonRateLimited           = "RATE_LIMITED"            // see RetryDelay
	ReasonStateNotPortable      = "STATE_NOT_PORTABLE"      // bound to a provider account that cannot serve now
	ReasonStreamInterrupted     = "STREAM_INTERRUPTED"      // the answer had begun and broke off
	ReasonTooLarge              = "TOO_LARGE"               // a request or an answer is over a limit
	ReasonUnauthenticated       = "UNAUTHENTICATED"         // the token of this client
	ReasonUnknownModel          = "UNKNOWN_MODEL"           // see Nearest

	// ReasonStreamIncomplete is this client's own: the stream ended with OK, but without `completed`.
	ReasonStreamIncomplete = "STREAM_INCOMPLETE"
	// ReasonAnswerRestarted is this client's own: text that [Stream.Text] gave would have to be taken back.
	ReasonAnswerRestarted = "ANSWER_RESTARTED"
)

// Error is a failed call: errors.As gives it. status.FromError and status.Code read it like any gRPC error, and
// errors.Is knows it as context.Canceled or context.DeadlineExceeded where its code says so.
type Error struct {
	// Code is the status code.
	Code codes.Code
	// Reason is one of the constants above; "" where the status came without details, as gRPC's own do.
	Reason string
	// Message is for people.
	Message string
	// RequestID names the call in the server's logs.
	RequestID string
	// RetryDelay is how long to wait before trying again; 0: waiting is not known to help.
	RetryDelay time.Duration
	// Attempts are what the server tried, oldest first; a long list comes shortened.
	Attempts []*fluxrpcv1.Attempt
	// PartialUsage holds the tokens of an answer that broke off; nil: none are known.
	PartialUsage *fluxrpcv1.Usage
	// Native is the error in the caller's protocol; nil: there is none.
	Native *fluxrpcv1.NativeError
	// Violations are the fields at fault.
	Violations []Violation
	// Nearest are names like that of an unknown model, the nearest first.
	Nearest []string

	status *status.Status
}

// Violation is one bad field.
type Violation struct {
	// Path in the request, such as messages[2].content.
	Path string
	// Message says what was expected there.
	Message string
}

// AsError reads an error of a gRPC call; nil stays nil. Whatever its details hold, code and message are kept.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if failed, ok := err.(*Error); ok { //nolint:errorlint // only the error itself, not what it wraps
		return failed
	}
	read := status.Convert(err)
	failed := &Error{Code: read.Code(), Message: read.Message(), status: read}
	for _, detail := range read.Details() {
		failed.take(detail)
	}
	return failed
}

func (e *Error) take(detail any) {
	switch detail := detail.(type) {
	case *errdetails.ErrorInfo:
		e.Reason = detail.GetReason()
		if e.RequestID == "" {
			e.RequestID = detail.GetMetadata()["request_id"]
		}
		if nearest := detail.GetMetadata()["nearest"]; nearest != "" {
			e.Nearest = strings.Split(nearest, ", ")
		}
	case *errdetails.RetryInfo:
		e.RetryDelay = detail.GetRetryDelay().AsDuration()
	case *errdetails.BadRequest:
		for _, violation := range detail.GetFieldViolations() {
			e.Violations = append(e.Violations, Violation{Path: violation.GetField(), Message: violation.GetDescription()})
		}
	case *fluxrpcv1.ErrorDetail:
		if id := detail.GetRequestId(); id != "" {
			e.RequestID = id
		}
		e.Attempts = detail.GetAttempts()
		e.PartialUsage = detail.GetPartialUsage()
		e.Native = detail.GetNative()
	}
}

// broken is the error of a stream that this client does not accept.
func broken(reason, message, requestID string) *Error {
	return &Error{
		Code: codes.Unavailable, Reason: reason, Message: message, RequestID: requestID,
		status: status.New(codes.Unavailable, message),
	}
}

// Error implements error.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "fluxrpc: %s", e.Code)
	if e.Reason != "" {
		fmt.Fprintf(&text, " %s", e.Reason)
	}
	fmt.Fprintf(&text, ": %s", e.Message)
	if e.RequestID != "" {
		fmt.Fprintf(&text, " (request %s)", e.RequestID)
	}
	if e.RetryDelay > 0 {
		fmt.Fprintf(&text, " (retry in %s)", e.RetryDelay)
	}
	return text.String()
}

// GRPCStatus is the status as it came.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Is implements errors.Is.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Code == codes.Canceled
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	default:
		return false
	}
}
