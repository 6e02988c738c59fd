package webhook

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestNetworks_CheckRejectsAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	allowed := networks{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/64")}
	for address, want := range map[string]error{
		"93.184.215.14:443": nil, "93.184.215.14:8443": nil, "[2606:4700::1111]:443": nil, "[64:ff9b::5db8:d70e]:443": nil, "[2002:5db8:d70e::1]:443": nil,
		"[::ffff:93.184.215.14]:443": nil,
		"93.184.215.14:25":           errListedOnly, "93.184.215.14:80": errListedOnly,
		"10.1.2.3:443": nil, "10.1.2.3:25": nil, "[fd00:1::5]:443": nil, "[::ffff:10.1.2.3]:443": nil,
		"10.2.0.1:443": errAddress, "172.16.0.1:443": errAddress, "172.31.255.255:443": errAddress, "192.168.1.1:443": errAddress,
		"127.0.0.1:443": errAddress, "127.255.0.1:443": errAddress, "0.0.0.0:443": errAddress, "0.1.2.3:443": errAddress,
		"169.254.169.254:443": errAddress, "100.64.0.1:443": errAddress, "100.100.100.200:443": errAddress, "168.63.129.16:443": errAddress,
		"192.0.0.192:443": errAddress, "192.0.2.1:443": errAddress, "198.18.0.1:443": errAddress, "198.51.100.1:443": errAddress, "203.0.113.1:443": errAddress,
		"192.88.99.1:443": errAddress, "224.0.0.1:443": errAddress, "240.0.0.1:443": errAddress, "255.255.255.255:443": errAddress,
		"[::]:443": errAddress, "[::1]:443": errAddress, "[fe80::1]:443": errAddress, "[fe80::1%eth0]:443": errAddress, "[fd00:1::5%eth0]:443": errAddress,
		"[fec0::1]:443": errAddress, "[fc00::1]:443": errAddress, "[fd00:ec2::254]:443": errAddress, "[ff02::1]:443": errAddress,
		"[2001:db8::1]:443": errAddress, "[3fff::1]:443": errAddress, "[2001::1]:443": errAddress, "[2001:20::1]:443": errAddress, "[100::1]:443": errAddress,
		"[::ffff:127.0.0.1]:443": errAddress, "[::ffff:169.254.169.254]:443": errAddress, "[::127.0.0.1]:443": errAddress,
		"[64:ff9b::7f00:1]:443": errAddress, "[64:ff9b::a9fe:a9fe]:443": errAddress, "[64:ff9b:1::1]:443": errAddress,
		"[2002:7f00:1::1]:443": errAddress, "[2002:c0a8:101::1]:443": errAddress, "[5f00::1]:443": errAddress,
	} {
		if got := allowed.check(netip.MustParseAddrPort(address), true); !errors.Is(got, want) {
			t.Errorf("%s with TLS: got %v, want %v", address, got, want)
		}
	}
	for address, want := range map[string]error{"93.184.215.14:8080": errListedOnly, "10.1.2.3:80": nil, "10.2.0.1:80": errAddress} {
		if got := allowed.check(netip.MustParseAddrPort(address), false); !errors.Is(got, want) {
			t.Errorf("%s without TLS: got %v, want %v", address, got, want)
		}
	}
	if err := allowed.check(netip.AddrPort{}, true); !errors.Is(err, errAddress) {
		t.Errorf("no address: got %v", err)
	}
}

func TestNetworks_CheckURLAcceptsOnlyPublicAddressesWithTLS(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://example.org/hook": "", "https://example.org:8443/hook?key=a%20b": "", "https://EXAMPLE.org./": "", "https://93.184.215.14/": "",
		"https://[2606:4700::1111]/": "", "https://xn--bcher-kva.example/": "", "https://1.example/": "", "https://example.org": "",
		"http://example.org/": "https://", "ftp://example.org/": "such as", "//example.org/": "such as", "example.org": "such as", "https:example.org": "such as",
		"https://": "such as", "https:///hook": "such as", "": "such as", "HTTPS://": "such as", "javascript:alert(1)": "such as", "https://%zz/": "such as",
		"https://user@example.org/": "user name", "https://user:password@example.org/": "user name", "https://@example.org/": "user name",
		"https://example.org/#x": "fragment", "https://example.org/#": "fragment",
		"https://bücher.example/": "ASCII", "https://example.org/a b": "spaces", `https://example.org/\\evil`: "backslashes",
		"https://example.org:25/": "port", "https://example.org:0/": "port", "https://example.org:/": "port", "https://example.org:99999/": "port",
		"https://127.0.0.1/": "not public", "https://[::1]/": "not public", "https://[::ffff:10.0.0.1]/": "not public", "https://169.254.169.254/latest": "not public",
		"https://[fe80::1%25eth0]/": "not public", "https://93.184.215.14:22/": "port",
		"https://2130706433/": "usual form", "https://0x7f000001/": "usual form", "https://0x7f.1/": "usual form", "https://0177.0.0.1/": "usual form",
		"https://127.1/": "usual form", "https://127.0.0.1./": "not public", "https://127.0.0.0x1/": "usual form", "https://1.2.3.4.5/": "usual form",
		"https://" + strings.Repeat("a", 254) + ".example/": "too long",
	} {
		err := networks(nil).checkURL("url", text)
		if got := err == nil; got != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", text, err, want)
		}
	}
	listed := networks{netip.MustParsePrefix("10.1.0.0/16")}
	for text, want := range map[string]bool{
		"http://10.1.2.3:25/hook": true, "http://ci.internal/hook": true, "https://10.1.2.3/": true,
		"http://10.2.0.1/": false, "http://93.184.215.14/": false, "https://127.0.0.1/": false, "http://0x7f.1/": false,
	} {
		if err := listed.checkURL("url", text); (err == nil) != want {
			t.Errorf("%q with a listed network: got error %v", text, err)
		}
	}
}

// FuzzCheckURL checks that an accepted address is one that the client understands in the same
// way: https, a host without user name, and if the host is an IP address, a public one.
func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.org/hook", "https://127.0.0.1", "https://[::ffff:127.0.0.1]:443/", "https://0x7f.1", "https://a@b/", "https://2130706433/", "http://a/",
		"https://example.org:443#x", "https://[fe80::1%25lo]/", `https://a\@b/`, "https://1.1.1.1.:80/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if networks(nil).checkURL("url", text) != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" || u.Fragment != "" {
			t.Fatalf("%q was accepted", text)
		}
		host := strings.TrimSuffix(u.Hostname(), ".")
		if a, err := netip.ParseAddr(host); err == nil && !isPublic(a) {
			t.Errorf("%q was accepted: %s is not public", text, a)
		} else if err != nil && isNumeric(host[strings.LastIndexByte(host, '.')+1:]) {
			t.Errorf("%q was accepted: a resolver could read the host as an IP address", text)
		}
	})
}
