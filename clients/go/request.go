package fluxrpc

import (
	"strings"

	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

// User is what the user says.
func User(text string) *fluxrpcv1.Message {
	return &fluxrpcv1.Message{Role: fluxrpcv1.Role_ROLE_USER, Text: text}
}

// System holds instructions, usually first.
func System(text string) *fluxrpcv1.Message {
	return &fluxrpcv1.Message{Role: fluxrpcv1.Role_ROLE_SYSTEM, Text: text}
}

// Assistant is what the model said before.
func Assistant(text string) *fluxrpcv1.Message {
	return &fluxrpcv1.Message{Role: fluxrpcv1.Role_ROLE_ASSISTANT, Text: text}
}

// Ask is a request of messages alone: Ask("fast", User("Hello")).
func Ask(model string, messages ...*fluxrpcv1.Message) *fluxrpcv1.ExecuteRequest {
	return Typed(model, &fluxrpcv1.MessageRequest{Messages: messages})
}

// Typed is a request with all that a MessageRequest can say.
func Typed(model string, message *fluxrpcv1.MessageRequest) *fluxrpcv1.ExecuteRequest {
	return &fluxrpcv1.ExecuteRequest{Model: model, Request: &fluxrpcv1.ExecuteRequest_Message{Message: message}}
}

// Native is a request in a provider's own protocol: the JSON body that the provider would get. Its bytes pass
// untouched.
func Native(model string, protocol fluxrpcv1.Protocol, body []byte) *fluxrpcv1.ExecuteRequest {
	native := &fluxrpcv1.NativeRequest{Protocol: protocol, Body: body}
	return &fluxrpcv1.ExecuteRequest{Model: model, Request: &fluxrpcv1.ExecuteRequest_Native{Native: native}}
}

// TextOf is the text of a typed answer: all text parts of its first choice, joined.
func TextOf(message *fluxrpcv1.MessageResponse) string {
	var text strings.Builder
	for _, choice := range message.GetChoices() {
		if choice.GetIndex() == 0 {
			for _, part := range choice.GetParts() {
				text.WriteString(part.GetText())
			}
		}
	}
	return text.String()
}
