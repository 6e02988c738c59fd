package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"parapet/internal/fault"
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// forge signs any header and payload with the right secret: what remains are the
// rules about form and claims.
func forge(header, payload string) string {
	input := b64(header) + "." + b64(payload)
	mac := hmac.New(sha256.New, []byte(testSecret))
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const goodHeader = `{"alg":"HS256","typ":"pt-api-key+jwt"}`

// goodPayload has members that the cases below change or add to.
func goodPayload() string {
	return fmt.Sprintf(`{"iss":"parapet","sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40","jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f",`+
		`"iat":%d,"exp":%d,"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41","roles":["Member"],"principal_kind":"HUMAN"}`,
		present().Unix(), present().Add(time.Hour).Unix())
}

func with(members string) string { return strings.TrimSuffix(goodPayload(), "}") + "," + members + "}" }

// attacks are texts that are no tokens of ours, each for a reason of its own.
func attacks() map[string]string {
	good := goodPayload()
	iat, exp := fmt.Sprintf(`"iat":%d`, present().Unix()), fmt.Sprintf(`"exp":%d`, present().Add(time.Hour).Unix())
	replace := func(was, is string) string {
		if strings.Count(good, was) != 1 {
			panic("the payload must contain once: " + was)
		}
		return forge(goodHeader, strings.Replace(good, was, is, 1))
	}
	sound := forge(goodHeader, good)
	parts := strings.Split(sound, ".")
	input := parts[0] + "." + parts[1]

	list := map[string]string{
		"empty": "", "dots": "..", "two segments": input, "empty signature": input + ".", "four segments": sound + "." + parts[2],
		"junk before": "x" + sound, "junk after": sound + "x", "space after": sound + " ", "newline after": sound + "\n",
		"newline inside": parts[0] + "\n." + parts[1] + "." + parts[2], "padding": sound + "=", "NUL": sound + "\x00",
		"standard alphabet":     strings.NewReplacer("-", "+", "_", "/").Replace(forge(goodHeader, with(`"x":"???>>>~~~"`))),
		"more than 8 KB":        forge(goodHeader, with(`"email":"`+strings.Repeat("e", 8<<10)+`"`)),
		"JSON serialization":    `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"detached payload":      parts[0] + ".." + parts[2],
		"signature of another":  input + "." + strings.Split(forge(goodHeader, with(`"x":1`)), ".")[2],
		"payload of another":    parts[0] + "." + b64(with(`"clearance":"SECRET"`)) + "." + parts[2],
		"truncated signature":   input + "." + parts[2][:42],
		"signature's last bits": input + "." + parts[2][:42] + nextCharacter(parts[2][42]),

		"alg in lower case": forge(`{"alg":"hs256","typ":"pt-api-key+jwt"}`, good),
		"alg absent":        forge(`{"typ":"pt-api-key+jwt"}`, good),
		"alg twice":         forge(`{"alg":"HS256","alg":"HS256","typ":"pt-api-key+jwt"}`, good),
		"alg null":          forge(`{"alg":null,"typ":"pt-api-key+jwt"}`, good),
		"alg an array":      forge(`{"alg":["HS256"],"typ":"pt-api-key+jwt"}`, good),
		"alg HS384":         forge384(`{"alg":"HS384","typ":"pt-api-key+jwt"}`, good),
		"alg RS256":         forge(`{"alg":"RS256","typ":"pt-api-key+jwt"}`, good),
		"typ absent":        forge(`{"alg":"HS256"}`, good),
		"typ JWT":           forge(`{"alg":"HS256","typ":"JWT"}`, good),
		"typ upper case":    forge(`{"alg":"HS256","typ":"PT-API-KEY+JWT"}`, good),
		"typ with prefix":   forge(`{"alg":"HS256","typ":"application/pt-api-key+jwt"}`, good),
		"typ twice":         forge(`{"alg":"HS256","typ":"pt-session+jwt","typ":"pt-api-key+jwt"}`, good),
		"typ escaped twice": forge(`{"alg":"HS256","typ":"pt-session+jwt","t\u0079p":"pt-api-key+jwt"}`, good),
		"crit unknown":      forge(`{"alg":"HS256","typ":"pt-api-key+jwt","crit":["x"],"x":1}`, good),
		"crit empty":        forge(`{"alg":"HS256","typ":"pt-api-key+jwt","crit":[]}`, good),
		"crit b64":          forge(`{"alg":"HS256","typ":"pt-api-key+jwt","b64":false,"crit":["b64"]}`, good),
		"kid a path":        forge(`{"alg":"HS256","typ":"pt-api-key+jwt","kid":"../../dev/null"}`, good),
		"kid SQL":           forge(`{"alg":"HS256","typ":"pt-api-key+jwt","kid":"' OR 1=1 --"}`, good),
		"jku":               forge(`{"alg":"HS256","typ":"pt-api-key+jwt","jku":"https://example.com/keys"}`, good),
		"x5u":               forge(`{"alg":"HS256","typ":"pt-api-key+jwt","x5u":"https://example.com/cert"}`, good),
		"jwk":               forge(`{"alg":"HS256","typ":"pt-api-key+jwt","jwk":{"kty":"oct","k":"`+b64(testSecret)+`"}}`, good),
		"zip":               forge(`{"alg":"HS256","typ":"pt-api-key+jwt","zip":"DEF"}`, good),
		"header junk":       forge(goodHeader+"x", good),
		"header an array":   forge(`["HS256","pt-api-key+jwt"]`, good),
		"header with BOM":   forge("\ufeff"+goodHeader, good),

		"payload empty":             forge(goodHeader, ""),
		"payload null":              forge(goodHeader, "null"),
		"payload an array":          forge(goodHeader, "["+good+"]"),
		"payload and junk":          forge(goodHeader, good+"{}"),
		"payload and space":         forge(goodHeader, good+" "),
		"payload not UTF-8":         forge(goodHeader, with("\"x\":\"\xff\"")),
		"payload cut":               forge(goodHeader, good[:len(good)-1]),
		"duplicate claim":           forge(goodHeader, with(`"sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e49"`)),
		"duplicate claim, escaped":  forge(goodHeader, with(`"\u0073ub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e49"`)),
		"duplicate unknown claim":   forge(goodHeader, with(`"x":1,"x":2`)),
		"duplicate nested name":     forge(goodHeader, with(`"role_scopes":{"a":[],"a":["project:x"]}`)),
		"iss another":               replace(`"iss":"parapet"`, `"iss":"parapets"`),
		"iss an array":              replace(`"iss":"parapet"`, `"iss":["parapet"]`),
		"iss absent":                replace(`"iss":"parapet",`, ``),
		"sub absent":                replace(`"sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40",`, ``),
		"sub a number":              replace(`"sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40"`, `"sub":1`),
		"jti absent":                replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f",`, ``),
		"jti null":                  replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":null`),
		"jti of another form":       replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":"018f3c5e7a107c3e9d2b5b0a4c1d2e3f"`),
		"jti in upper case":         replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":"018F3C5E-7A10-7C3E-9D2B-5B0A4C1D2E3F"`),
		"jti urn":                   replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":"urn:uuid:018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`),
		"tenant absent":             replace(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41",`, ``),
		"tenant empty":              replace(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41"`, `"tenant_id":""`),
		"tenant no uuid":            replace(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41"`, `"tenant_id":"acme"`),
		"tenant twice":              forge(goodHeader, with(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41"`)),
		"roles absent":              replace(`"roles":["Member"],`, ``),
		"roles null":                replace(`"roles":["Member"]`, `"roles":null`),
		"roles a string":            replace(`"roles":["Member"]`, `"roles":"Member"`),
		"roles with null":           replace(`"roles":["Member"]`, `"roles":["Member",null]`),
		"roles nested":              replace(`"roles":["Member"]`, `"roles":[["Member"]]`),
		"roles with NUL":            replace(`"roles":["Member"]`, `"roles":["Member\u0000"]`),
		"roles with half a pair":    replace(`"roles":["Member"]`, `"roles":["\ud800"]`),
		"principal_kind absent":     replace(`,"principal_kind":"HUMAN"`, ``),
		"principal_kind another":    replace(`"principal_kind":"HUMAN"`, `"principal_kind":"human"`),
		"clearance null":            forge(goodHeader, with(`"clearance":null`)),
		"clearance a number":        forge(goodHeader, with(`"clearance":4`)),
		"caveats null":              forge(goodHeader, with(`"caveats":null`)),
		"caveats an object":         forge(goodHeader, with(`"caveats":{}`)),
		"caveats with a number":     forge(goodHeader, with(`"caveats":[1]`)),
		"role_scopes null":          forge(goodHeader, with(`"role_scopes":null`)),
		"role_scopes an array":      forge(goodHeader, with(`"role_scopes":[]`)),
		"role_scopes null entry":    forge(goodHeader, with(`"role_scopes":{"Member":null}`)),
		"role_scopes a string":      forge(goodHeader, with(`"role_scopes":{"Member":"project:x"}`)),
		"email an array":            forge(goodHeader, with(`"email":[]`)),
		"exp absent":                replace(exp+",", ""),
		"exp in another case":       replace(`"exp"`, `"Exp"`),
		"exp past":                  replace(exp, fmt.Sprintf(`"exp":%d`, present().Unix())),
		"exp too far":               replace(exp, fmt.Sprintf(`"exp":%d`, present().Add(365*24*time.Hour+time.Second).Unix())),
		"exp far beyond":            replace(exp, `"exp":9223372036854775807`),
		"exp beyond int64":          replace(exp, `"exp":99999999999999999999`),
		"exp infinite":              replace(exp, `"exp":1e999`),
		"exp with exponent":         replace(exp, `"exp":1.8e9`),
		"exp a fraction":            replace(exp, exp+".5"),
		"exp with point zero":       replace(exp, exp+".0"),
		"exp a string":              replace(exp, fmt.Sprintf(`"exp":"%d"`, present().Add(time.Hour).Unix())),
		"exp null":                  replace(exp, `"exp":null`),
		"exp zero":                  replace(exp, `"exp":0`),
		"exp minus zero":            replace(exp, `"exp":-0`),
		"exp negative":              replace(exp, `"exp":-1`),
		"exp true":                  replace(exp, `"exp":true`),
		"exp twice":                 forge(goodHeader, with(exp)),
		"exp before iat":            replace(iat, fmt.Sprintf(`"iat":%d`, present().Add(2*time.Hour).Unix())),
		"iat absent":                replace(iat+",", ""),
		"iat in the future":         replace(iat, fmt.Sprintf(`"iat":%d`, present().Add(time.Minute).Unix())),
		"iat a fraction":            replace(iat, iat+".1"),
		"iat null":                  replace(iat, `"iat":null`),
		"life of more than a year":  replace(iat, fmt.Sprintf(`"iat":%d`, present().Add(-365*24*time.Hour).Unix())),
		"nbf in the future":         forge(goodHeader, with(fmt.Sprintf(`"nbf":%d`, present().Add(time.Minute).Unix()))),
		"nbf null":                  forge(goodHeader, with(`"nbf":null`)),
		"nbf a string":              forge(goodHeader, with(`"nbf":"1"`)),
		"session for longer":        forge(`{"alg":"HS256","typ":"pt-session+jwt"}`, strings.Replace(good, exp, fmt.Sprintf(`"exp":%d`, present().Add(13*time.Hour).Unix()), 1)),
		"internal for longer":       forge(`{"alg":"HS256","typ":"pt-internal+jwt"}`, good),
		"a kind that is not wanted": forge(`{"alg":"HS256","typ":"pt-internal+jwt"}`, strings.Replace(good, exp, fmt.Sprintf(`"exp":%d`, present().Add(time.Minute).Unix()), 1)),
	}
	for _, none := range []string{"none", "None", "NONE", "nOnE", "", "null"} {
		header := `{"alg":"` + none + `","typ":"pt-api-key+jwt"}`
		list["alg "+none+", no signature"] = b64(header) + "." + b64(good) + "."
		list["alg "+none+", signed"] = forge(header, good)
	}
	return list
}

func forge384(header, payload string) string {
	input := b64(header) + "." + b64(payload)
	mac := hmac.New(sha512.New384, []byte(testSecret))
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// nextCharacter gives a character that differs in the two bits that do not count.
func nextCharacter(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)+1])
}

func TestAttacksAreOneAnswer(t *testing.T) {
	t.Parallel()
	now := present()
	k := testKeyring(t, &now)
	for range 2 { // what a first round leaves in the cache must not help in a second
		if _, err := k.Verify(forge(goodHeader, goodPayload()), APIKey, Session); err != nil {
			t.Fatal("the cases start from a token that is not good:", err)
		}
		for name, text := range attacks() {
			c, err := k.Verify(text, APIKey, Session)
			if !reflect.DeepEqual(err, error(fault.Unauthorized())) {
				t.Errorf("%s: %v, want the one answer", name, err)
			}
			if !reflect.DeepEqual(c, Claims{}) {
				t.Errorf("%s: claims came with the refusal", name)
			}
		}
	}
	if n := k.verified.len(); n > 2 {
		t.Errorf("%d entries in the cache; what failed must not be in it", n)
	}
}

func TestWhatIsGoodBesideTheAttacks(t *testing.T) {
	t.Parallel()
	now := present()
	k := testKeyring(t, &now)
	for name, text := range map[string]string{
		"members in another order": forge(`{"typ":"pt-api-key+jwt","alg":"HS256"}`, goodPayload()),
		"a claim of others":        forge(goodHeader, with(`"aud":["x"]`)),
		"nbf in the past":          forge(goodHeader, with(fmt.Sprintf(`"nbf":%d`, present().Unix()))),
		"no roles":                 forge(goodHeader, strings.Replace(goodPayload(), `["Member"]`, `[]`, 1)),
		"a clock that is ahead":    forge(goodHeader, strings.Replace(goodPayload(), fmt.Sprintf(`"iat":%d`, present().Unix()), fmt.Sprintf(`"iat":%d`, present().Unix()+3), 1)),
	} {
		if _, err := k.Verify(text, APIKey); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	for _, text := range attacks() {
		f.Add(text)
	}
	f.Add(forge(goodHeader, goodPayload()))
	f.Fuzz(func(t *testing.T, text string) {
		now := present()
		k := testKeyring(t, &now)
		c, err := k.Verify(text, APIKey, Session, Internal)
		if err != nil {
			if !reflect.DeepEqual(err, error(fault.Unauthorized())) {
				t.Fatalf("another answer: %v", err)
			}
			return
		}
		// Whatever is accepted carries our signature, and no other text does.
		parts := strings.Split(text, ".")
		mac := hmac.New(sha256.New, []byte(testSecret))
		mac.Write([]byte(parts[0] + "." + parts[1]))
		if parts[2] != base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) {
			t.Fatalf("accepted without our signature: %q", text)
		}
		if c.Tenant == "" || c.ID == "" || c.Subject == "" || !now.Before(c.ExpiresAt) {
			t.Fatalf("accepted incomplete claims: %+v", c)
		}
	})
}

// FuzzClaims signs what the fuzzer makes up, so that the reader of claims is
// reached.
func FuzzClaims(f *testing.F) {
	f.Add(goodHeader, goodPayload())
	f.Add(goodHeader, with(`"role_scopes":{"Member":["project:x"]},"caveats":["read-only"]`))
	f.Fuzz(func(t *testing.T, header, payload string) {
		now := present()
		k := testKeyring(t, &now)
		c, err := k.Verify(forge(header, payload), APIKey)
		if err != nil {
			return
		}
		if _, err := k.Issue(c, c.Kind); err != nil {
			t.Fatalf("accepted claims that cannot be issued: %v\n%s", err, payload)
		}
	})
}

func BenchmarkToken(b *testing.B) {
	now := present()
	k := testKeyring(b, &now)
	cold, err := New(Config{Secret: testSecret, Clock: k.clock, CacheSize: -1})
	if err != nil {
		b.Fatal(err)
	}
	text, err := k.Issue(testClaims(), APIKey)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("issue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := k.Issue(testClaims(), APIKey); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, ring := range map[string]*Keyring{"verify": cold, "cached": k} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ring.Verify(text, APIKey); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
