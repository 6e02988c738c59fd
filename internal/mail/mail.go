// Package mail sends messages to people: by SMTP, or into the log where a
// developer reads it. It is the only package that imports a mail library.
//
// It promises that a message leaves encrypted unless the operator's address says
// otherwise, and that no message and no password of the server is in an error.
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

// Message is a plain text for one person.
type Message struct {
	// To is the address, without a name.
	To      string
	Subject string
	Text    string
}

// Sender sends messages. An error means that the message may not have been sent.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Log writes messages into the log and sends nothing: for `ptd dev`.
type Log struct{ Logger *slog.Logger }

// Send writes the message.
func (l Log) Send(ctx context.Context, m Message) error {
	l.Logger.InfoContext(ctx, "mail", slog.String("to", m.To), slog.String("subject", m.Subject), slog.String("text", m.Text))
	return nil
}

// sendTimeout bounds one delivery to the mail server.
const sendTimeout = 30 * time.Second

// SMTP sends by a mail server.
type SMTP struct {
	server server
	from   string
}

// server is what an SMTP address says.
type server struct {
	host, user, password string
	port                 int
	tls                  bool
	plaintext            bool
}

// CheckFrom tells whether the text can be a sender: an address, with a name or
// without.
func CheckFrom(from string) error {
	if _, err := mail.ParseAddress(from); err != nil {
		return errors.New("it must be an address such as Parapet <noreply@example.org>")
	}
	return nil
}

// NewSMTP makes a sender for the server's address, for example
// smtp://user:password@mail.example.org:587 (STARTTLS is required) or
// smtps://mail.example.org (TLS from the start). ?tls=off allows a connection
// without encryption, for a relay on the same machine. from is the sender. The
// errors never repeat the address: it may hold a password.
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
			return server{}, errors.New("the only option is tls=off, of smtp://")
		}
		s.plaintext = true
	}
	return s, nil
}

// Send sends the message.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	msg := gomail.NewMsg()
	if err := msg.From(s.from); err != nil {
		return fmt.Errorf("mail: sender: %w", err)
	}
	if err := msg.To(m.To); err != nil {
		return errors.New("mail: the recipient's address is not one that a mail server takes")
	}
	msg.Subject(m.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.SetMessageID()
	msg.SetDate()
	// The library leaves a connection open when the server offers no encryption.
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
		return fmt.Errorf("mail: send by %s: %w", s.server.host, err)
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
