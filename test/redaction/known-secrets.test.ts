import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: makes a key of every form, and sees that the quick check passes over none of them.
import { KEY_FORMS, mayHoldSecret } from "../../src/redaction/known-secrets.ts";
import { Redaction } from "../../src/redaction/redaction.ts";

const redaction = new Redaction();

/** Of each kind, keys as their issuers make them. */
const keys = Object.entries(KEY_FORMS).map(([name, sources]) =>
  fc.tuple(
    fc.constant(name),
    fc.oneof(
      ...sources.map((source) =>
        fc.stringMatching(new RegExp(`^${source.replaceAll(/\(\?!\[[^\]]*\]\)/g, "")}$`)),
      ),
    ),
  ),
);

test("a key of each kind is hidden under its name, whatever stands around it", () => {
  const around = fc.constantFrom("", " ", "\n", '"', "'", "`", ",", "(", "/", "=", ": ", "é");
  for (const key of keys) {
    fc.assert(
      fc.property(around, key, around, (before, [name, secret], after) => {
        const shown = redaction.text(`${before}${secret}${after}`);
        expect(mayHoldSecret(secret)).toBe(true);
        expect(shown).not.toContain(secret);
        if (!/[/=.]/.test(before + after)) expect(shown).toMatch(/\[redacted: [\w-]+\]/);
        expect(redaction.text(`a ${secret} b`)).toBe(`a [redacted: ${name}] b`);
      }),
      { numRuns: 20 },
    );
  }
});

const BASIC = Buffer.from("ada:hunter2").toString("base64");

test.each([
  // Credentials of HTTP: the scheme tells nothing, and its parameters are secrets.
  [`Authorization: Basic ${BASIC}`, "Authorization: [redacted: authorization]"],
  [
    `curl -H "Authorization: Basic ${BASIC}" a.example`,
    'curl -H "Authorization: [redacted: authorization]" a.example',
  ],
  [`{"authorization":"Custom s3cr3t"}`, '{"authorization":[redacted: authorization]}'],
  ["Proxy-Authorization: NTLM TlRMTVNTUAAB", "Proxy-Authorization: [redacted: authorization]"],
  [
    'authorization: Digest username="ada", realm="a b", response="6629fae49393a05397450978507c4ef1"\nhost: a',
    "authorization: [redacted: authorization]\nhost: a",
  ],
  [
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101, SignedHeaders=host, Signature=fe5f80",
    "Authorization: [redacted: authorization]",
  ],
  [`proxy said Basic ${BASIC}!`, "proxy said [redacted: basic-credentials]!"],
  ["Basic understanding of basic arithmetic", "Basic understanding of basic arithmetic"],
  ["Cookie: sid=abc; theme=dark\r\nHost: a", "Cookie: [redacted: cookie]\r\nHost: a"],
  ["set-cookie: sid=abc; HttpOnly", "set-cookie: [redacted: cookie]"],
  // Addresses.
  ["postgres://ada:hunter2@db.example/x", "postgres://ada:[redacted: password]@db.example/x"],
  ["redis://:hunter2@cache:6379", "redis://:[redacted: password]@cache:6379"],
  ["amqp://a:p@ss@mq", "amqp://a:[redacted: password]@mq"],
  ["http://a.example:8080/x@y", "http://a.example:8080/x@y"],
  [
    `https://${"0123456789abcdef".repeat(2)}@sentry.example/1`,
    "https://[redacted: url-token]@sentry.example/1",
  ],
  [
    "https://b.example/c?sp=r&sig=abcDEF0123456789%3D&x=1",
    "https://b.example/c?sp=r&sig=[redacted: signature]&x=1",
  ],
  [
    `https://hooks.slack.com/services/${"T0000/B0000/abcdefghij"}`,
    "https://hooks.slack.com/services/[redacted: webhook]",
  ],
  ["curl -u ada:hunter2 https://a", "curl -u ada:[redacted: password] https://a"],
  ["docker run -u 1000:1000 x", "docker run -u 1000:1000 x"],
  ["Server=db;User Id=ada;Pwd=hunter2;", "Server=db;User Id=ada;Pwd=[redacted: password];"],
  // Names.
  ["AWS_SECRET_ACCESS_KEY=wJalr/XUtn", "AWS_SECRET_ACCESS_KEY=[redacted: accesskey]"],
  ["private_key: abc", "private_key: [redacted: privatekey]"],
  ["export DB_PASS=hunter2", "export DB_PASS=[redacted: password]"],
  ["pass: 12, fail: 3", "pass: 12, fail: 3"],
  ["OLDPWD=/home/ada", "OLDPWD=/home/ada"],
  // Texts with quotes, and JSON within JSON.
  [String.raw`{"password":"a\"b","c":1}`, '{"password":[redacted: password],"c":1}'],
  [
    JSON.stringify({ body: '{"password":"hunter2","c":1}' }),
    String.raw`{"body":"{\"password\":[redacted: password],\"c\":1}"}`,
  ],
  [
    JSON.stringify(JSON.stringify({ body: JSON.stringify({ token: 'a"b', c: 1 }) })),
    String.raw`"{\"body\":\"{\\\"token\\\":[redacted: token],\\\"c\\\":1}\"}"`,
  ],
  [`password="${"x".repeat(5_000)}"`, "password=[redacted: password]"],
])("of %j, only %j is shown", (text, shown) => {
  expect(mayHoldSecret(text) || shown === text).toBe(true);
  expect(redaction.text(text)).toBe(shown);
});

test.each([
  "aws_secret_access_key",
  "private_key",
  "cookie",
  "Set-Cookie",
  "clientPrivateKey",
  "SSH_PASSPHRASE",
  "db-pass",
])("the value of a member named %s is hidden", (name) => {
  expect(JSON.stringify(redaction.json({ a: [{ [name]: "hunter2" }] }))).not.toContain("hunter2");
});

test.each([
  "pass",
  "bypass",
  "compass",
  "PWD",
  "primary_key",
  "foreign_key",
  "publicKey",
  "key",
  "keyboard",
])("the value of a member named %s is shown", (name) => {
  expect(redaction.json({ [name]: "hunter2" })).toEqual({ [name]: "hunter2" });
});

test("a person who decides sees what runs beside a credential", () => {
  const shown = redaction.narrow(
    `curl -H "Authorization: Basic ${BASIC}" https://ada:hunter2@a.example/x; rm -rf /`,
    (name) => `<${name}>`,
  );
  expect(shown).toBe('curl -H "Authorization: <authorization>" https://ada:<password>@a.example/x; rm -rf /');
});

test("an ordinary text is passed over", () => {
  expect(mayHoldSecret("src/index.ts")).toBe(false);
});
