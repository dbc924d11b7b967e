package fluxrpc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	fluxrpc "github.com/fluxrpc/fluxrpc/clients/go"
	fluxrpcv1 "github.com/fluxrpc/fluxrpc/clients/go/fluxrpc/v1"
)

func TestOverTLSTheTokenGoesToATrustedServerOnly(t *testing.T) {
	certificate, pool := selfSigned(t)
	router := &fakeRouter{calls: map[string]int{}}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	fluxrpcv1.RegisterRouterServiceServer(server, router)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(server.Stop)
	target := listener.Addr().String()

	trusting := fluxrpc.WithTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})
	client := connect(t, target, fluxrpc.WithToken("secret"), trusting)
	if _, err := client.Execute(testContext(t), fluxrpc.Ask("text")); err != nil {
		t.Fatal(err)
	}
	if got := router.metadata.Get("authorization"); len(got) != 1 || got[0] != "Bearer secret" {
		t.Errorf("authorization is %q", got)
	}
	_, err = connect(t, target, fluxrpc.WithToken("secret"), fluxrpc.WithTLS(nil)).
		Execute(testContext(t), fluxrpc.Ask("text"))
	var failed *fluxrpc.Error
	if !errors.As(err, &failed) || failed.Code != codes.Unavailable || router.callsOf("text") != 1 {
		t.Errorf("got %v, %d calls", err, router.callsOf("text"))
	}
}

// selfSigned is a certificate of 127.0.0.1, and a pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pool
}
