package fluxrpc

import (
	"context"
	"crypto/tls"
	_ "embed"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // without it the health check of the service config does nothing
	"google.golang.org/grpc/keepalive"
)

// DefaultServiceConfig says how a channel retries, balances and checks health, as JSON, for plain channels too:
// grpc.WithDefaultServiceConfig. Only UNAVAILABLE is tried again, at most once and throttled: the server has made its
// own attempts already.
//
//go:embed service_config.json
var DefaultServiceConfig string

// What the server takes: messages of 32 MiB each way, and pings every 30 s or slower.
const (
	maxMessageBytes  = 32 << 20
	keepaliveTime    = 60 * time.Second
	keepaliveTimeout = 20 * time.Second
)

// Option is a setting of a [Client].
type Option func(*settings)

type settings struct {
	token          string
	tls            *tls.Config
	allowPlaintext bool
	timeout        time.Duration
	dial           []grpc.DialOption
}

// WithToken sends a bearer token with every call; unencrypted only within this machine, see [AllowPlaintext].
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithTLS encrypts. A nil configuration trusts the system's authorities.
func WithTLS(config *tls.Config) Option {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return func(s *settings) { s.tls = config }
}

// AllowPlaintext lets the token go unencrypted, where the network itself encrypts (a service mesh).
func AllowPlaintext() Option { return func(s *settings) { s.allowPlaintext = true } }

// WithTimeout holds for calls whose context has no deadline, in place of [DefaultTimeout].
func WithTimeout(timeout time.Duration) Option { return func(s *settings) { s.timeout = timeout } }

// WithDialOptions adds to the settings of the channel, or replaces them.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

func (s settings) dialOptions(target string) ([]grpc.DialOption, error) {
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(DefaultServiceConfig),
		// Idle channels are pinged too, so that what cuts idle connections is found out before the next call.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes),
		),
	}
	if s.token != "" {
		if s.tls == nil && !s.allowPlaintext && !isLocal(target) {
			return nil, fmt.Errorf("fluxrpc: the token would go to %s unencrypted: "+
				"use WithTLS, or AllowPlaintext where the network encrypts", target)
		}
		options = append(options, grpc.WithPerRPCCredentials(bearer(s.token)))
	}
	return append(options, s.dial...), nil
}

// bearer is a token as it is sent. That it is encrypted where it must be is known before the channel is made.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return false }

var targetScheme = regexp.MustCompile(`^(?:dns:(?://[^/]*/)?|ipv[46]:|passthrough:///)`)

// isLocal says whether a gRPC target stays on this machine; where that cannot be told it does not.
func isLocal(target string) bool {
	if strings.HasPrefix(target, "unix:") || strings.HasPrefix(target, "unix-abstract:") {
		return true
	}
	for _, address := range strings.Split(targetScheme.ReplaceAllString(target, ""), ",") {
		if !isLoopback(address) {
			return false
		}
	}
	return true
}

func isLoopback(address string) bool {
	host, _, _ := strings.Cut(address, ":")
	if strings.HasPrefix(address, "[") {
		host, _, _ = strings.Cut(address[1:], "]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
