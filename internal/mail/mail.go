// Package mail sends e-mail by SMTP, or writes it to the log for development. It is the
// only package that imports a mail library.
//
// Guarantees:
//   - A message is sent encrypted unless the operator's address disables encryption.
//   - No error contains a message or the server's password.
package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Message is a plain-text message to one recipient.
type Message struct {
	// To is the e-mail address, without a display name.
	To      string
	Subject string
	Text    string
}

// Sender sends messages. An error means that the message may not have been sent.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Log is a Sender that writes messages to the log instead of sending them, for `ptd dev`.
type Log struct{ Logger *slog.Logger }

// Send logs the message.
func (l Log) Send(ctx context.Context, m Message) error {
	l.Logger.InfoContext(ctx, "mail", slog.String("to", m.To), slog.String("subject", m.Subject), slog.String("text", m.Text))
	return nil
}

// sendTimeout is the timeout for sending one message to the mail server.
const sendTimeout = 30 * time.Second

// SMTP is a Sender that uses a mail server.
type SMTP struct {
	server server
	from   string
}

// server is a parsed SMTP address.
type server struct {
	host, user, password string
	port                 int
	tls                  bool
	plaintext            bool
}

// CheckFrom returns an error if the text is not a valid sender: an address with or
// without a display name.
func CheckFrom(from string) error {
	if _, err := mail.ParseAddress(from); err != nil {
		return errors.New("it must be an address such as Parapet <noreply@example.org>")
	}
	return nil
}

// NewSMTP returns a Sender for the server's address, for example
// smtp://user:password@mail.example.org:587 (requires STARTTLS) or
// smtps://mail.example.org (TLS from the start). ?tls=off disables encryption, for a relay
// on the same machine. from is the sender. The errors do not contain the address, because
// it may contain a password.
func NewSMTP(address, from string) (*SMTP, error) {
	s, err := parseServer(address)
	if err != nil {
		return nil, err
	}
	if err := CheckFrom(from); err != nil {
		return nil, err
	}
	return &SMTP{server: s, from: from}, nil
}

func parseServer(address string) (server, error) {
	wrong := errors.New("it must be an address such as smtp://user:password@mail.example.org:587 or smtps://mail.example.org")
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || (u.Path != "" && u.Path != "/") || u.Fragment != "" {
		return server{}, wrong
	}
	s := server{host: u.Hostname(), user: u.User.Username(), tls: u.Scheme == "smtps"}
	s.password, _ = u.User.Password()
	switch u.Scheme {
	case "smtp":
		s.port = 587
	case "smtps":
		s.port = 465
	default:
		return server{}, wrong
	}
	if text := u.Port(); text != "" {
		if s.port, err = strconv.Atoi(text); err != nil || s.port < 1 || s.port > 65535 {
			return server{}, wrong
		}
	}
	for name, values := range u.Query() {
		if name != "tls" || len(values) != 1 || values[0] != "off" || s.tls {
			return server{}, errors.New("the only allowed parameter is tls=off, with smtp://")
		}
		s.plaintext = true
	}
	return s, nil
}

func (s *SMTP) Send(ctx context.Context, m Message) error {
	msg := gomail.NewMsg()
	if err := msg.From(s.from); err != nil {
		return fmt.Errorf("mail: sender: %w", err)
	}
	if err := msg.To(m.To); err != nil {
		return errors.New("mail: invalid recipient address")
	}
	msg.Subject(m.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.SetMessageID()
	msg.SetDate()
	// The library does not close the connection if the server offers no encryption.
	var conn net.Conn
	dial := func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		conn, err = s.server.dial(ctx, network, address)
		return conn, err
	}
	client, err := gomail.NewClient(s.server.host, append(s.server.options(), gomail.WithDialContextFunc(dial))...)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("mail: send through %s: %w", s.server.host, err)
	}
	return nil
}

func (s server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.tls {
		d := tls.Dialer{Config: &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}}
		return d.DialContext(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (s server) options() []gomail.Option {
	options := []gomail.Option{gomail.WithPort(s.port), gomail.WithTimeout(sendTimeout)}
	switch {
	case s.tls:
		options = append(options, gomail.WithSSL())
	case s.plaintext:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.user != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	return options
}
