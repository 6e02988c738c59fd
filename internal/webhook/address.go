package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parapet/internal/fault"
)

// networks are the networks besides the public internet that webhooks may reach
// (PT_WEBHOOK_ALLOWED_NETWORKS). Only these may be reached without TLS and on any port.
type networks []netip.Prefix

// errAddress means that a host has an address that webhooks may not reach. It does not contain
// the address, because the names of internal hosts would otherwise reveal theirs.
var errAddress = errors.New("the host has an address that is not allowed: it is not public, and PT_WEBHOOK_ALLOWED_NETWORKS does not list it")

// errListedOnly means that an address may be reached with https on usual ports only.
var errListedOnly = errors.New("only addresses in PT_WEBHOOK_ALLOWED_NETWORKS may be reached with http or on a port below 1024 other than 443")

// notPublic are the networks of IPv4 that are not the public internet, and the address of
// the metadata service of Azure, which looks public.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("224.0.0.0/3"),
}

// notPublic6 are the networks in public6 that are not the public internet: special purposes
// (with Teredo) and documentation.
var (
	public6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = []netip.Prefix{netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20")}
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

func contains(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isPublic reports whether an address is on the public internet. An IPv6 address that stands
// for an IPv4 address is public if that one is.
func isPublic(a netip.Addr) bool {
	if a = a.Unmap(); a.Is4() {
		return !contains(notPublic, a)
	}
	b := a.As16()
	switch {
	case !a.IsValid() || a.Zone() != "":
		return false
	case nat64.Contains(a):
		return isPublic(netip.AddrFrom4([4]byte(b[12:])))
	case sixToFour.Contains(a):
		return isPublic(netip.AddrFrom4([4]byte(b[2:6])))
	default:
		return public6.Contains(a) && !contains(notPublic6, a)
	}
}

// check returns an error unless a webhook may connect to the address. secure reports whether
// the connection uses TLS.
func (n networks) check(to netip.AddrPort, secure bool) error {
	a := to.Addr().Unmap()
	switch {
	case a.IsValid() && a.Zone() == "" && contains(n, a):
		return nil
	case !isPublic(a):
		return errAddress
	case !secure || !isUsualPort(to.Port()):
		return errListedOnly
	}
	return nil
}

// isUsualPort excludes the ports of other protocols such as SMTP, to which a request could be
// a command. Services listen on the ports from 1024 on without special rights.
func isUsualPort(port uint16) bool { return port == 443 || port >= 1024 }

// checkURL returns a validation error unless text is the address of a receiver. A host name is
// not resolved: the connection checks its addresses.
func (n networks) checkURL(field, text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fault.Validation(field, "The field "+field+" must be an address such as https://example.org/hook.")
	}
	invalid := func(format string, args ...any) error {
		return fault.Validation(field, "The field "+field+" "+fmt.Sprintf(format, args...))
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	switch {
	case u.Scheme != "https" && u.Scheme != "http", u.Opaque != "", host == "":
		return invalid("must be an address such as https://example.org/hook.")
	case u.Scheme == "http" && len(n) == 0:
		return invalid("must start with https://.")
	case u.User != nil:
		return invalid("cannot contain a user name or a password. The receiver authenticates requests by their signature.")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return invalid("cannot contain a fragment (#).")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		return invalid("cannot contain spaces, control characters or backslashes.")
	case strings.ContainsFunc(host, func(r rune) bool { return r > 0x7f }):
		return invalid("must contain the host name in ASCII, for example xn--bcher-kva.example.")
	case len(host) > 253:
		return invalid("contains a host name that is too long.")
	}
	port := uint64(443)
	if u.Scheme == "http" {
		port = 80
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		if port, err = strconv.ParseUint(p, 10, 16); err != nil || port == 0 {
			return invalid("must contain a port from 1 to 65535.")
		}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if err := n.check(netip.AddrPortFrom(a, uint16(port)), u.Scheme == "https"); err != nil {
			return invalid("is not allowed: %s.", err)
		}
		return nil
	}
	if strings.ContainsAny(host, ":%") || isNumeric(host[strings.LastIndexByte(host, '.')+1:]) {
		// Some resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as 127.0.0.1.
		return invalid("must contain a host name, or an IP address in its usual form.")
	}
	if len(n) == 0 && !isUsualPort(uint16(port)) {
		return invalid("cannot have a port below 1024 except 443.")
	}
	return nil
}

// isNumeric reports whether the last part of a host name makes it an IP address (as in the
// URL standard): a number, also in hexadecimal.
func isNumeric(part string) bool {
	if rest, ok := strings.CutPrefix(strings.ToLower(part), "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(part, "0123456789") == ""
}
