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

// signToken signs any header and payload with the correct secret, so that a case tests
// the rules for header and claims and not the signature.
func signToken(header, payload string) string {
	input := b64(header) + "." + b64(payload)
	mac := hmac.New(sha256.New, []byte(testSecret))
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

const goodHeader = `{"alg":"HS256","typ":"pt-api-key+jwt"}`

// goodPayload returns a valid payload, which the cases below modify.
func goodPayload() string {
	return fmt.Sprintf(`{"iss":"parapet","sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40","jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f",`+
		`"iat":%d,"exp":%d,"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41","roles":["Member"],"principal_kind":"HUMAN"}`,
		testNow().Unix(), testNow().Add(time.Hour).Unix())
}

func payloadWith(members string) string {
	return strings.TrimSuffix(goodPayload(), "}") + "," + members + "}"
}

// invalidTokens returns texts that Verify must reject, by the name of the defect.
func invalidTokens() map[string]string {
	good := goodPayload()
	iat, exp := fmt.Sprintf(`"iat":%d`, testNow().Unix()), fmt.Sprintf(`"exp":%d`, testNow().Add(time.Hour).Unix())
	replace := func(old, replacement string) string {
		if strings.Count(good, old) != 1 {
			panic("the payload must contain once: " + old)
		}
		return signToken(goodHeader, strings.Replace(good, old, replacement, 1))
	}
	valid := signToken(goodHeader, good)
	parts := strings.Split(valid, ".")
	input := parts[0] + "." + parts[1]

	list := map[string]string{
		"empty": "", "dots": "..", "two segments": input, "empty signature": input + ".", "four segments": valid + "." + parts[2],
		"junk before": "x" + valid, "junk after": valid + "x", "space after": valid + " ", "newline after": valid + "\n",
		"newline inside": parts[0] + "\n." + parts[1] + "." + parts[2], "padding": valid + "=", "NUL": valid + "\x00",
		"standard alphabet":                     strings.NewReplacer("-", "+", "_", "/").Replace(signToken(goodHeader, payloadWith(`"x":"???>>>~~~"`))),
		"more than 8 KB":                        signToken(goodHeader, payloadWith(`"email":"`+strings.Repeat("e", 8<<10)+`"`)),
		"JSON serialization":                    `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"detached payload":                      parts[0] + ".." + parts[2],
		"signature of another token":            input + "." + strings.Split(signToken(goodHeader, payloadWith(`"x":1`)), ".")[2],
		"payload of another token":              parts[0] + "." + b64(payloadWith(`"clearance":"SECRET"`)) + "." + parts[2],
		"truncated signature":                   input + "." + parts[2][:42],
		"unused last bits of the signature set": input + "." + parts[2][:42] + nextCharacter(parts[2][42]),

		"alg in lower case": signToken(`{"alg":"hs256","typ":"pt-api-key+jwt"}`, good),
		"alg absent":        signToken(`{"typ":"pt-api-key+jwt"}`, good),
		"alg twice":         signToken(`{"alg":"HS256","alg":"HS256","typ":"pt-api-key+jwt"}`, good),
		"alg null":          signToken(`{"alg":null,"typ":"pt-api-key+jwt"}`, good),
		"alg an array":      signToken(`{"alg":["HS256"],"typ":"pt-api-key+jwt"}`, good),
		"alg HS384":         signTokenHS384(`{"alg":"HS384","typ":"pt-api-key+jwt"}`, good),
		"alg RS256":         signToken(`{"alg":"RS256","typ":"pt-api-key+jwt"}`, good),
		"typ absent":        signToken(`{"alg":"HS256"}`, good),
		"typ JWT":           signToken(`{"alg":"HS256","typ":"JWT"}`, good),
		"typ upper case":    signToken(`{"alg":"HS256","typ":"PT-API-KEY+JWT"}`, good),
		"typ with prefix":   signToken(`{"alg":"HS256","typ":"application/pt-api-key+jwt"}`, good),
		"typ twice":         signToken(`{"alg":"HS256","typ":"pt-session+jwt","typ":"pt-api-key+jwt"}`, good),
		"typ escaped twice": signToken(`{"alg":"HS256","typ":"pt-session+jwt","t\u0079p":"pt-api-key+jwt"}`, good),
		"crit unknown":      signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","crit":["x"],"x":1}`, good),
		"crit empty":        signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","crit":[]}`, good),
		"crit b64":          signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","b64":false,"crit":["b64"]}`, good),
		"kid is a path":     signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","kid":"../../dev/null"}`, good),
		"kid contains SQL":  signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","kid":"' OR 1=1 --"}`, good),
		"jku":               signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","jku":"https://example.com/keys"}`, good),
		"x5u":               signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","x5u":"https://example.com/cert"}`, good),
		"jwk":               signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","jwk":{"kty":"oct","k":"`+b64(testSecret)+`"}}`, good),
		"zip":               signToken(`{"alg":"HS256","typ":"pt-api-key+jwt","zip":"DEF"}`, good),
		"header junk":       signToken(goodHeader+"x", good),
		"header an array":   signToken(`["HS256","pt-api-key+jwt"]`, good),
		"header with BOM":   signToken("\ufeff"+goodHeader, good),

		"payload empty":                         signToken(goodHeader, ""),
		"payload null":                          signToken(goodHeader, "null"),
		"payload an array":                      signToken(goodHeader, "["+good+"]"),
		"payload and junk":                      signToken(goodHeader, good+"{}"),
		"payload and space":                     signToken(goodHeader, good+" "),
		"payload not UTF-8":                     signToken(goodHeader, payloadWith("\"x\":\"\xff\"")),
		"payload cut":                           signToken(goodHeader, good[:len(good)-1]),
		"duplicate claim":                       signToken(goodHeader, payloadWith(`"sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e49"`)),
		"duplicate claim, escaped":              signToken(goodHeader, payloadWith(`"\u0073ub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e49"`)),
		"duplicate unknown claim":               signToken(goodHeader, payloadWith(`"x":1,"x":2`)),
		"duplicate nested name":                 signToken(goodHeader, payloadWith(`"role_scopes":{"a":[],"a":["project:x"]}`)),
		"iss of another issuer":                 replace(`"iss":"parapet"`, `"iss":"parapets"`),
		"iss an array":                          replace(`"iss":"parapet"`, `"iss":["parapet"]`),
		"iss absent":                            replace(`"iss":"parapet",`, ``),
		"sub absent":                            replace(`"sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40",`, ``),
		"sub a number":                          replace(`"sub":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e40"`, `"sub":1`),
		"jti absent":                            replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f",`, ``),
		"jti null":                              replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":null`),
		"jti without hyphens":                   replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":"018f3c5e7a107c3e9d2b5b0a4c1d2e3f"`),
		"jti in upper case":                     replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":"018F3C5E-7A10-7C3E-9D2B-5B0A4C1D2E3F"`),
		"jti urn":                               replace(`"jti":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`, `"jti":"urn:uuid:018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e3f"`),
		"tenant absent":                         replace(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41",`, ``),
		"tenant empty":                          replace(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41"`, `"tenant_id":""`),
		"tenant is not a UUID":                  replace(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41"`, `"tenant_id":"acme"`),
		"tenant twice":                          signToken(goodHeader, payloadWith(`"tenant_id":"018f3c5e-7a10-7c3e-9d2b-5b0a4c1d2e41"`)),
		"roles absent":                          replace(`"roles":["Member"],`, ``),
		"roles null":                            replace(`"roles":["Member"]`, `"roles":null`),
		"roles a string":                        replace(`"roles":["Member"]`, `"roles":"Member"`),
		"roles with null":                       replace(`"roles":["Member"]`, `"roles":["Member",null]`),
		"roles nested":                          replace(`"roles":["Member"]`, `"roles":[["Member"]]`),
		"roles with NUL":                        replace(`"roles":["Member"]`, `"roles":["Member\u0000"]`),
		"roles with an unpaired surrogate":      replace(`"roles":["Member"]`, `"roles":["\ud800"]`),
		"principal_kind absent":                 replace(`,"principal_kind":"HUMAN"`, ``),
		"principal_kind in lower case":          replace(`"principal_kind":"HUMAN"`, `"principal_kind":"human"`),
		"clearance null":                        signToken(goodHeader, payloadWith(`"clearance":null`)),
		"clearance a number":                    signToken(goodHeader, payloadWith(`"clearance":4`)),
		"caveats null":                          signToken(goodHeader, payloadWith(`"caveats":null`)),
		"caveats an object":                     signToken(goodHeader, payloadWith(`"caveats":{}`)),
		"caveats with a number":                 signToken(goodHeader, payloadWith(`"caveats":[1]`)),
		"role_scopes null":                      signToken(goodHeader, payloadWith(`"role_scopes":null`)),
		"role_scopes an array":                  signToken(goodHeader, payloadWith(`"role_scopes":[]`)),
		"role_scopes null entry":                signToken(goodHeader, payloadWith(`"role_scopes":{"Member":null}`)),
		"role_scopes a string":                  signToken(goodHeader, payloadWith(`"role_scopes":{"Member":"project:x"}`)),
		"email an array":                        signToken(goodHeader, payloadWith(`"email":[]`)),
		"exp absent":                            replace(exp+",", ""),
		"exp in another case":                   replace(`"exp"`, `"Exp"`),
		"exp past":                              replace(exp, fmt.Sprintf(`"exp":%d`, testNow().Unix())),
		"exp too far":                           replace(exp, fmt.Sprintf(`"exp":%d`, testNow().Add(365*24*time.Hour+time.Second).Unix())),
		"exp far beyond":                        replace(exp, `"exp":9223372036854775807`),
		"exp beyond int64":                      replace(exp, `"exp":99999999999999999999`),
		"exp infinite":                          replace(exp, `"exp":1e999`),
		"exp with exponent":                     replace(exp, `"exp":1.8e9`),
		"exp a fraction":                        replace(exp, exp+".5"),
		"exp with point zero":                   replace(exp, exp+".0"),
		"exp a string":                          replace(exp, fmt.Sprintf(`"exp":"%d"`, testNow().Add(time.Hour).Unix())),
		"exp null":                              replace(exp, `"exp":null`),
		"exp zero":                              replace(exp, `"exp":0`),
		"exp minus zero":                        replace(exp, `"exp":-0`),
		"exp negative":                          replace(exp, `"exp":-1`),
		"exp true":                              replace(exp, `"exp":true`),
		"exp twice":                             signToken(goodHeader, payloadWith(exp)),
		"exp before iat":                        replace(iat, fmt.Sprintf(`"iat":%d`, testNow().Add(2*time.Hour).Unix())),
		"iat absent":                            replace(iat+",", ""),
		"iat in the future":                     replace(iat, fmt.Sprintf(`"iat":%d`, testNow().Add(time.Minute).Unix())),
		"iat a fraction":                        replace(iat, iat+".1"),
		"iat null":                              replace(iat, `"iat":null`),
		"lifetime of more than a year":          replace(iat, fmt.Sprintf(`"iat":%d`, testNow().Add(-365*24*time.Hour).Unix())),
		"nbf in the future":                     signToken(goodHeader, payloadWith(fmt.Sprintf(`"nbf":%d`, testNow().Add(time.Minute).Unix()))),
		"nbf null":                              signToken(goodHeader, payloadWith(`"nbf":null`)),
		"nbf a string":                          signToken(goodHeader, payloadWith(`"nbf":"1"`)),
		"session with a longer lifetime":        signToken(`{"alg":"HS256","typ":"pt-session+jwt"}`, strings.Replace(good, exp, fmt.Sprintf(`"exp":%d`, testNow().Add(13*time.Hour).Unix()), 1)),
		"internal token with a longer lifetime": signToken(`{"alg":"HS256","typ":"pt-internal+jwt"}`, good),
		"a kind that is not accepted":           signToken(`{"alg":"HS256","typ":"pt-internal+jwt"}`, strings.Replace(good, exp, fmt.Sprintf(`"exp":%d`, testNow().Add(time.Minute).Unix()), 1)),
	}
	for _, none := range []string{"none", "None", "NONE", "nOnE", "", "null"} {
		header := `{"alg":"` + none + `","typ":"pt-api-key+jwt"}`
		list["alg "+none+", no signature"] = b64(header) + "." + b64(good) + "."
		list["alg "+none+", signed"] = signToken(header, good)
	}
	return list
}

func signTokenHS384(header, payload string) string {
	input := b64(header) + "." + b64(payload)
	mac := hmac.New(sha512.New384, []byte(testSecret))
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// nextCharacter returns a character that differs only in the two unused bits.
func nextCharacter(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)+1])
}

func TestVerify_RejectsInvalidTokensWithSameError(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	for range 2 { // the second round must not find an invalid token in the cache
		if _, err := k.Verify(signToken(goodHeader, goodPayload()), APIKey, Session); err != nil {
			t.Fatal("unmodified token: got error, want none:", err)
		}
		for name, text := range invalidTokens() {
			c, err := k.Verify(text, APIKey, Session)
			if !reflect.DeepEqual(err, error(fault.Unauthorized())) {
				t.Errorf("%s: got %v, want fault.Unauthorized()", name, err)
			}
			if !reflect.DeepEqual(c, Claims{}) {
				t.Errorf("%s: got claims %+v with the error, want none", name, c)
			}
		}
	}
	if n := k.verifiedTokens.len(); n > 2 {
		t.Errorf("got %d entries in the cache, want at most 2: rejected tokens must not be cached", n)
	}
}

func TestVerify_AcceptsValidVariants(t *testing.T) {
	t.Parallel()
	now := testNow()
	k := testKeyring(t, &now)
	for name, text := range map[string]string{
		"members in another order":              signToken(`{"typ":"pt-api-key+jwt","alg":"HS256"}`, goodPayload()),
		"an unknown claim":                      signToken(goodHeader, payloadWith(`"aud":["x"]`)),
		"nbf in the past":                       signToken(goodHeader, payloadWith(fmt.Sprintf(`"nbf":%d`, testNow().Unix()))),
		"no roles":                              signToken(goodHeader, strings.Replace(goodPayload(), `["Member"]`, `[]`, 1)),
		"iat ahead by less than the clock skew": signToken(goodHeader, strings.Replace(goodPayload(), fmt.Sprintf(`"iat":%d`, testNow().Unix()), fmt.Sprintf(`"iat":%d`, testNow().Unix()+3), 1)),
	} {
		if _, err := k.Verify(text, APIKey); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	for _, text := range invalidTokens() {
		f.Add(text)
	}
	f.Add(signToken(goodHeader, goodPayload()))
	f.Fuzz(func(t *testing.T, text string) {
		now := testNow()
		k := testKeyring(t, &now)
		c, err := k.Verify(text, APIKey, Session, Internal)
		if err != nil {
			if !reflect.DeepEqual(err, error(fault.Unauthorized())) {
				t.Fatalf("got error %v, want fault.Unauthorized()", err)
			}
			return
		}
		// An accepted token must have a valid signature.
		parts := strings.Split(text, ".")
		mac := hmac.New(sha256.New, []byte(testSecret))
		mac.Write([]byte(parts[0] + "." + parts[1]))
		if parts[2] != base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) {
			t.Fatalf("accepted a token without a valid signature: %q", text)
		}
		if c.Tenant == "" || c.ID == "" || c.Subject == "" || !now.Before(c.ExpiresAt) {
			t.Fatalf("accepted incomplete claims: %+v", c)
		}
	})
}

// FuzzClaims signs the fuzzer's input, so that it reaches the code that reads claims.
func FuzzClaims(f *testing.F) {
	f.Add(goodHeader, goodPayload())
	f.Add(goodHeader, payloadWith(`"role_scopes":{"Member":["project:x"]},"caveats":["read-only"]`))
	f.Fuzz(func(t *testing.T, header, payload string) {
		now := testNow()
		k := testKeyring(t, &now)
		c, err := k.Verify(signToken(header, payload), APIKey)
		if err != nil {
			return
		}
		if _, err := k.Issue(c, c.Kind); err != nil {
			t.Fatalf("accepted claims that cannot be issued: %v\n%s", err, payload)
		}
	})
}

func BenchmarkToken(b *testing.B) {
	now := testNow()
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
