// Loadgen is the compiled client of the benchmark: it drives a gRPC server, or the bare upstream over HTTP, and writes
// one JSON report. It knows no message type: requests are bytes given by the caller, answers are counted, and events
// of a stream are recognised by the blank line that ends each.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// options are the flags of one run.
type options struct {
	kind        string
	target      string
	method      string
	bodyFile    string
	token       string
	concurrency int
	connections int
	rps         float64
	seconds     float64
	callTimeout float64
	staggerMS   float64
	once        bool
}

// sample is what one call met.
type sample struct {
	status    string
	total     time.Duration
	firstData time.Duration // call start to the first event of a stream, or to the whole unary answer
	messages  int
	events    int
	bytes     int
}

// caller makes one call; one is shared by all workers.
type caller func(ctx context.Context) sample

// report is printed on standard output.
type report struct {
	Calls          int            `json:"calls"`
	Statuses       map[string]int `json:"statuses"`
	Seconds        float64        `json:"seconds"`
	Messages       int            `json:"messages"`
	Events         int            `json:"events"`
	Bytes          int            `json:"bytes"`
	LatencyP50MS   float64        `json:"latency_p50_ms"`
	LatencyP99MS   float64        `json:"latency_p99_ms"`
	FirstDataP50MS float64        `json:"first_data_p50_ms"`
	FirstDataP99MS float64        `json:"first_data_p99_ms"`
}

func main() {
	chosen := parseFlags()
	call, finish, err := newCaller(chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
	defer finish()
	began := time.Now()
	samples := run(chosen, call)
	if err := json.NewEncoder(os.Stdout).Encode(summarise(samples, time.Since(began))); err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func parseFlags() options {
	var o options
	flag.StringVar(&o.kind, "kind", "unary", "unary, stream (gRPC) or http (straight to the upstream)")
	flag.StringVar(&o.target, "target", "", "host:port of a gRPC server, or the URL for http")
	flag.StringVar(&o.method, "method", "", "full gRPC method, /package.Service/Method")
	flag.StringVar(&o.bodyFile, "body", "", "file with the request bytes")
	flag.StringVar(&o.token, "token", "", "bearer token sent as metadata")
	flag.IntVar(&o.concurrency, "concurrency", 64, "calls at the same time")
	flag.IntVar(&o.connections, "connections", 8, "gRPC channels the calls are spread over")
	flag.Float64Var(&o.rps, "rps", 0, "calls a second, evenly spaced; 0: as fast as answers come")
	flag.Float64Var(&o.seconds, "seconds", 3, "how long new calls are started")
	flag.Float64Var(&o.callTimeout, "call-timeout", 60, "deadline of a call in seconds")
	flag.Float64Var(&o.staggerMS, "stagger-ms", 0, "spread the first calls of the workers over this time")
	flag.BoolVar(&o.once, "once", false, "each worker makes one call")
	flag.Parse()
	return o
}

// run starts calls until the time is over and waits for all of them.
func run(o options, call caller) []sample {
	if o.rps > 0 {
		return runPaced(o, call)
	}
	var group sync.WaitGroup
	results := make([][]sample, o.concurrency)
	deadline := time.Now().Add(seconds(o.seconds))
	for worker := range o.concurrency {
		group.Add(1)
		go func() {
			defer group.Done()
			time.Sleep(seconds(o.staggerMS / 1000 * float64(worker) / float64(o.concurrency)))
			for time.Now().Before(deadline) {
				results[worker] = append(results[worker], timed(o, call))
				if o.once {
					return
				}
			}
		}()
	}
	group.Wait()
	return slices.Concat(results...)
}

// runPaced starts calls on a fixed clock, whether or not earlier ones have ended.
func runPaced(o options, call caller) []sample {
	count := int(o.rps * o.seconds)
	samples := make([]sample, count)
	var group sync.WaitGroup
	began := time.Now()
	for i := range count {
		time.Sleep(time.Until(began.Add(seconds(float64(i) / o.rps))))
		group.Add(1)
		go func() {
			defer group.Done()
			samples[i] = timed(o, call)
		}()
	}
	group.Wait()
	return samples
}

func timed(o options, call caller) sample {
	ctx, cancel := context.WithTimeout(context.Background(), seconds(o.callTimeout))
	defer cancel()
	began := time.Now()
	result := call(ctx)
	result.total = time.Since(began)
	return result
}

func summarise(samples []sample, elapsed time.Duration) report {
	made := report{Calls: len(samples), Statuses: map[string]int{}, Seconds: elapsed.Seconds()}
	var totals, firsts []time.Duration
	for _, s := range samples {
		made.Statuses[s.status]++
		made.Messages += s.messages
		made.Events += s.events
		made.Bytes += s.bytes
		if s.status == "OK" {
			totals = append(totals, s.total)
			firsts = append(firsts, s.firstData)
		}
	}
	made.LatencyP50MS, made.LatencyP99MS = quantileMS(totals, 0.5), quantileMS(totals, 0.99)
	made.FirstDataP50MS, made.FirstDataP99MS = quantileMS(firsts, 0.5), quantileMS(firsts, 0.99)
	return made
}

func quantileMS(values []time.Duration, quantile float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return float64(values[int(quantile*float64(len(values)-1)+0.5)]) / float64(time.Millisecond)
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }

func newCaller(o options) (caller, func(), error) {
	body, err := os.ReadFile(o.bodyFile)
	if err != nil {
		return nil, nil, err
	}
	if o.kind == "http" {
		return newHTTPCaller(o.target, body), func() {}, nil
	}
	if !strings.HasPrefix(o.method, "/") {
		return nil, nil, fmt.Errorf("-method %q: want /package.Service/Method", o.method)
	}
	return newGRPCCaller(o, body)
}
