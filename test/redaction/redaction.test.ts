import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson } from "../../src/json/canonical.ts";
import { copyJson } from "../../src/json/copy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { isDeeplyFrozen } from "../json/deeply-frozen.ts";

const redaction = new Redaction();

// Assembled, so that no scanner takes them for real ones.
const SECRETS: readonly [name: string, secret: string][] = [
  ["api-key", `sk-${"proj-abcDEF0123456789"}`],
  ["github-token", `ghp_${"a1B2c3D4e5F6g7H8i9J0"}`],
  ["github-token", `github_pat_${"11ABCDEFG0_abcdefghijkl"}`],
  ["aws-key", `AKIA${"IOSFODNN7EXAMPLE"}`],
  ["slack-token", `xoxb-${"123456789012-abcdef"}`],
  ["jwt", `eyJ${"hbGciOiJIUzI1NiJ9"}.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl`],
  ["bearer-token", `Bearer ${"abcdef0123456789"}`],
  ["private-key", `-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/\nIBAAK==\n-----END RSA PRIVATE KEY-----`],
];

describe("A redaction", () => {
  test.each(SECRETS)("hides a secret of the form %s in a text", (name, secret) => {
    expect(redaction.text(`before ${secret} after`)).toBe(`before [redacted: ${name}] after`);
    expect(redaction.text(JSON.stringify({ a: secret }))).toBe(`{"a":"[redacted: ${name}]"}`);
  });

  test.each([
    ["password=hunter2", "password=[redacted: password]"],
    ['{"db_password": "hunter 2"}', '{"db_password": [redacted: password]}'],
    ["API-KEY: abc, next", "API-KEY: [redacted: apikey], next"],
    ["https://a.example/?access_token=abc&b=1", "https://a.example/?access_token=[redacted: token]&b=1"],
  ])("hides what a name in a text gives away: %s", (text, shown) => {
    expect(redaction.text(text)).toBe(shown);
  });

  test.each([
    "max_tokens: 5",
    "the password is not here",
    "risk-free and ask-me-anything",
    "sk-short",
    "eyJ is not a token",
    "bearer of bad news",
    "AKIAshort",
  ])("leaves other texts alone: %s", (text) => {
    expect(redaction.text(text)).toBe(text);
  });

  test("hides the values of further names, in members and in texts", () => {
    const own = new Redaction({ names: ["pin", "iban-number"] });
    expect(own.json({ cardPin: 1234, IBAN_Number: "DE02", password: "a", pint: 5 })).toEqual({
      cardPin: "[redacted: pin]",
      IBAN_Number: "[redacted: ibannumber]",
      password: "[redacted: password]",
      pint: 5,
    });
    expect(own.text("pin=1234&ibanNumber: DE02, token=x, pint=5")).toBe(
      "pin=[redacted: pin]&ibanNumber: [redacted: ibannumber], token=[redacted: token], pint=5",
    );
    expect(redaction.text("pin=1234")).toBe("pin=1234");
    const narrow = own.narrow({ cardPin: "1234", note: "pin=99" }, (name) => `<${name}>`);
    expect(narrow).toEqual({ cardPin: "<pin>", note: "pin=<pin>" });
  });

  test.each(["", "a b", "a|b", "-pin", "p.n", "x".repeat(65)])("refuses the name '%s'", (name) => {
    expect(() => new Redaction({ names: [name] })).toThrow(TypeError);
  });

  test("hides the values of members that are named like secrets, at any depth, and freezes the copy", () => {
    const value = copyJson({
      user: "ada",
      password: "hunter2",
      nested: [{ client_secret: 7, Authorization: { basic: "abc" }, "X-Api-Key": "", accessToken: null }],
      maxTokens: 5,
    });
    const shown = redaction.json(value);
    expect(shown).toEqual({
      user: "ada",
      password: "[redacted: password]",
      nested: [
        {
          client_secret: "[redacted: secret]",
          Authorization: { basic: "[redacted: authorization]" },
          "X-Api-Key": "",
          accessToken: null,
        },
      ],
      maxTokens: 5,
    });
    expect(isDeeplyFrozen(shown)).toBe(true);
  });

  test("returns a value without secrets as it is", () => {
    const value = copyJson({ list: [1, "two", { three: null }] });
    expect(redaction.json(value)).toBe(value);
    expect(redaction.finds(value)).toBe(false);
    expect(redaction.finds(copyJson({ token: "x" }))).toBe(true);
  });

  test("keeps every member whose name holds a secret, even if the names become the same", () => {
    const [first, second] = ["ghp_a1B2c3D4e5F6g7H8", "ghp_b1B2c3D4e5F6g7H8"];
    const taken = "[redacted: github-token] (2)";
    const shown = redaction.json(
      copyJson({ [first]: 1, [second]: 2, [taken]: 3, "[redacted: github-token]": 4 }),
    );
    expect(Object.values(shown as object).sort()).toEqual([1, 2, 3, 4]);
  });

  test("hides what patterns of your own match", () => {
    const own = new Redaction({ patterns: { "customer-id": "C-\\d{6}" } });
    expect(own.text("for C-123456 and C-12")).toBe("for [redacted: customer-id] and C-12");
  });

  test.each([["("], ["a*"], ["(?=x)x"]])("refuses the pattern %s of your own", (pattern) => {
    expect(() => new Redaction({ patterns: { own: pattern } })).toThrow(TypeError);
  });

  test("takes time in proportion to a hostile text", () => {
    const parts = [
      "eyJ",
      "-",
      "eyJ-",
      "sk-",
      ".",
      "-----BEGIN PRIVATE KEY-----",
      "password",
      "=",
      "a",
      " ",
      "_",
      "authorization: ",
      'Authorization: Digest a="',
      "cookie: a",
      "://",
      "://a:",
      "a://a:b",
      ":@",
      "Basic aaaa",
      " -u a:",
      "&sig=a",
      'password="',
      'password=\\"',
      'token:\\\\"a',
      "\\",
      "A",
      "0123456789abcdef",
      "SG.aaaaaaaaaaaaaaaa.",
      "xoxb-",
      "dp.pt.",
      "Aaaaaaaaaaaaaa.atlasv1.",
      "hooks.slack.com/services/",
    ];
    for (const part of parts) {
      const text = part.repeat(Math.ceil(1_000_000 / part.length));
      const startedAt = performance.now();
      redaction.text(text);
      // A quadratic match would take minutes.
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    }
  });

  test("leaves no secret, whatever stands around it", () => {
    const filler = fc.string({ unit: fc.constantFrom(" ", "\n", ",", '"', "=", ":", "é") });
    fc.assert(
      fc.property(filler, fc.constantFrom(...SECRETS), filler, (before, [, secret], after) => {
        expect(redaction.text(before + secret + after)).not.toContain(secret);
      }),
    );
  });

  test("leaves no secret in a value, wherever it stands", () => {
    const places = fc.array(fc.constantFrom("item", "member", "name"), { maxLength: 5 });
    const named = fc.constantFrom("token", "clientSecret", "API-KEY").map((name) => ({ [name]: "hunter2" }));
    const secrets = fc.oneof(fc.constantFrom(...SECRETS.map(([, secret]) => secret)), named);
    fc.assert(
      fc.property(fc.jsonValue(), places, secrets, (other, path, secret) => {
        // Copies of values have no such member.
        fc.pre(!JSON.stringify(other).includes("__proto__"));
        let value: unknown = secret;
        for (const place of path) {
          if (place === "item") value = [other, value];
          else if (place === "member") value = { other, value };
          else value = typeof value === "string" ? { [value]: other } : { other, value };
        }
        const copy = copyJson(value);
        const shown = JSON.stringify(redaction.json(copy));
        const hidden = typeof secret === "string" ? JSON.stringify(secret).slice(1, -1) : "hunter2";
        expect(shown).not.toContain(hidden);
        expect(redaction.finds(copy)).toBe(true);
      }),
    );
  });

  test("hides the values of members whose names it has met, however many there are", () => {
    const value = copyJson(
      Object.fromEntries(Array.from({ length: 2_500 }, (_, i) => [i % 2 ? `a${i}` : `a${i}_token`, `v${i}`])),
    );
    for (let time = 0; time < 2; time++) {
      const shown = Object.values(redaction.json(value as Readonly<Record<string, string>>));
      expect(shown.map((text) => text === "[redacted: token]")).toEqual(shown.map((_, i) => i % 2 === 0));
    }
  });
});

describe("A narrow redaction", () => {
  /** What is shown, and how many secrets are hidden. */
  const narrow = (value: unknown, by = redaction): { shown: unknown; count: number } => {
    let count = 0;
    const shown = by.narrow(copyJson(value), (name) => `<${name} ${++count}>`);
    return { shown, count };
  };

  test.each(
    SECRETS.filter(([name]) => name !== "private-key"),
  )("hides a secret of the form %s", (name, secret) => {
    expect(narrow(`before ${secret} after`)).toEqual({ shown: `before <${name} 1> after`, count: 1 });
  });

  test("hides a whole private key, and no command behind its first line", () => {
    const line = "a1B2".repeat(16);
    const [begin, end] = ["-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"];
    expect(narrow(`${begin}\n${line}\n${line}\nAAK==\n${end}`).shown).toBe("<private-key 1>");
    for (const text of [
      `${begin}\nrm /home/ada\n${end}`,
      `${begin}\n${line}\nrm /home/ada`,
      `${begin}\n${line}\nrm /home/ada\n${end}`,
    ]) {
      expect(narrow(text)).toEqual({ shown: text, count: 0 });
    }
  });

  test.each([
    ["password=hunter2", "password=<password 1>"],
    ['{"db_password": "hunter2"}', '{"db_password": <password 1>}'],
    ["password=x; rm -rf /", "password=<password 1>; rm -rf /"],
    ["password=x|sh", "password=<password 1>|sh"],
    ['password="x; rm -rf /"', 'password="x; rm -rf /"'],
    ["token=$(rm -rf /)", "token=$(rm -rf /)"],
    ["token=`reboot`", "token=`reboot`"],
    ["TOKEN= /sbin/reboot", "TOKEN= /sbin/reboot"],
    [`Bearer ${"abcdef0123456789"}; rm -rf /`, "Bearer <>; rm -rf /"],
  ])("shows the command in %s", (text, expected) => {
    expect(narrow(text).shown).toBe(expected.replace("Bearer <>", "<bearer-token 1>"));
  });

  test("hides the value of a member that is named like a secret only if it is one word or a number", () => {
    const value = {
      password: "hunter2",
      pin_token: 1234,
      authorization: "Basic abc=",
      token: "x; rm -rf /",
      secret: ["rm", "-rf", "/"],
      apiKey: { run: "reboot now" },
    };
    expect(narrow(value)).toEqual({
      shown: {
        ...value,
        password: "<password 1>",
        pin_token: "<token 2>",
        authorization: "<authorization 3>",
      },
      count: 3,
    });
  });

  test("hides what patterns of your own match, unless it is more than one word", () => {
    const own = new Redaction({ patterns: { line: "key .+", id: "C-\\d{6}" } });
    expect(narrow("for C-123456", own)).toEqual({ shown: "for <id 1>", count: 1 });
    expect(narrow("key a; rm -rf /", own)).toEqual({ shown: "key a; rm -rf /", count: 0 });
  });

  test("shows every command, wherever secrets stand around it", () => {
    const command = "rm -rf /home/ada";
    const names = ["password", "token=", '"api_key": "', "secret='", "Authorization: ", "Bearer ", "x"];
    const secrets = SECRETS.map(([, secret]) => secret);
    const part = fc.oneof(
      fc.constantFrom(
        ...names,
        ...secrets,
        "\n",
        " ",
        "=",
        ":",
        '"',
        "'",
        "; ",
        "-----BEGIN PRIVATE KEY-----",
      ),
      fc.string({ maxLength: 3 }),
    );
    const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, text, fc.constantFrom("a", "password", "token"), (before, after, member) => {
        const { shown } = narrow({ [member]: before + command + after });
        expect(JSON.stringify(shown)).toContain("-rf /home/ada");
        expect(JSON.stringify(shown)).toMatch(/rm -rf|<[a-z-]+ \d+> -rf/);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("A canonical form that is shown without secrets has the digest of what runs", () => {
  const canonical = new CanonicalJson(copyJson({ password: "hunter2" }));
  const shown = canonical.shownAs((value) => redaction.json(value));
  expect(shown.text).toBe('{"password":"[redacted: password]"}');
  expect(shown.digest).toBe(canonical.digest);
  expect(canonical.shownAs((value) => value)).toBe(canonical);
});
