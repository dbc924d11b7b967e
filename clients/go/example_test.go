package fluxrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	fluxrpc "github.com/fluxrpc/fluxrpc/clients/go"
	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

func Example() {
	client, err := fluxrpc.New("localhost:50051", fluxrpc.WithToken("…"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	answer, err := client.Execute(context.Background(), fluxrpc.Ask("fast", fluxrpc.User("Hello")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fluxrpc.TextOf(answer.GetMessage()), answer.GetUsage().GetTotalTokens())
}

func ExampleClient_Stream() {
	client, err := fluxrpc.New("localhost:50051")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	stream, err := client.Stream(context.Background(), fluxrpc.Ask("fast", fluxrpc.User("Tell me a story")))
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for text, err := range stream.Text() {
		if err != nil {
			log.Fatal(err) // also where the answer is not complete
		}
		fmt.Print(text)
	}
	fmt.Println(stream.Completed().GetUsage())
}

func ExampleNative() {
	body := []byte(`{"max_tokens": 64, "messages": [{"role": "user", "content": "Hello"}]}`)
	request := fluxrpc.Native("fast", fluxrpcv1.Protocol_PROTOCOL_ANTHROPIC, body)
	fmt.Println(request.GetModel(), len(request.GetNative().GetBody()))
	// Output: fast 70
}

func ExampleError() {
	var client *fluxrpc.Client // as above
	call := func() error {
		_, err := client.Execute(context.Background(), fluxrpc.Ask("fast", fluxrpc.User("Hello")))
		return err
	}
	err := call()
	var failed *fluxrpc.Error
	if errors.As(err, &failed) && failed.RetryDelay > 0 {
		log.Printf("%s after %d attempts", failed.Reason, len(failed.Attempts))
		time.Sleep(failed.RetryDelay)
		err = call()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// The generated stub works without any of this package.
func Example_plainStub() {
	conn, err := grpc.NewClient("localhost:50051",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fluxrpc.DefaultServiceConfig)) // optional
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	stub := fluxrpcv1.NewRouterServiceClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel() // this, not leaving the loop, is what ends a stream of a plain stub
	req := &fluxrpcv1.ExecuteRequest{
		Model: "fast",
		Request: &fluxrpcv1.ExecuteRequest_Message{Message: &fluxrpcv1.MessageRequest{
			Messages: []*fluxrpcv1.Message{{Role: fluxrpcv1.Role_ROLE_USER, Text: "Hello"}},
		}},
	}
	answer, err := stub.Execute(ctx, req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.GetRoute().GetRoute())
}
