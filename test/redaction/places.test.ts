import { expect, test } from "vitest";
import { Redaction } from "../../src/redaction/redaction.ts";

const redaction = new Redaction({ names: ["pin"] });
const LOGIN = Buffer.from("ann:hunter2").toString("base64");

test.each([
  ["deploy --api-key abc123def --verbose", "deploy --api-key [redacted: apikey] --verbose"],
  ['deploy --db-password "hunter2"', 'deploy --db-password "[redacted: password]"'],
  ["deploy -token abc123def", "deploy -token [redacted: token]"],
  ["deploy --card-pin 123456", "deploy --card-pin [redacted: pin]"],
  ["sshpass -p hunter2 ssh host", "sshpass -p [redacted: password] ssh host"],
  ["<a><db:password>hunter2</db:password></a>", "<a><db:password>[redacted: password]</db:password></a>"],
  ["?q=%7B%22password%22%3A%22hunter2%22%7D", "?q=%7B%22password%22%3A%22[redacted: password]%22%7D"],
  [
    "machine github.com login ann password hunter2",
    "machine github.com login ann password [redacted: password]",
  ],
  ["ALTER USER ann WITH PASSWORD 'hun''ter2'", "ALTER USER ann WITH PASSWORD '[redacted: password]'"],
  ["CREATE USER ann IDENTIFIED BY 'hunter2'", "CREATE USER ann IDENTIFIED BY '[redacted: password]'"],
  [`{"auths":{"x":{"auth":"${LOGIN}"}}}`, '{"auths":{"x":{"auth":"[redacted: basic-credentials]"}}}'],
  ["password: 'it''s hunter2'", "password: [redacted: password]"],
])("a secret is hidden where its name has no separator: %s", (text, shown) => {
  expect(redaction.text(text)).toBe(shown);
});

test.each([
  "deploy --token --verbose",
  "deploy --token-file ./a-file",
  "<password></password>",
  "a password manager, and a login",
  '{"auth":"oauth2client"}',
  "password: '', user: 'ann'",
])("other texts stay as they are: %s", (text) => {
  expect(redaction.text(text)).toBe(text);
});

test("an option of a command and a pair say what their value is", () => {
  expect(redaction.json({ args: ["--password", "hunter2", "--verbose", "-token", "abc", "--pin"] })).toEqual({
    args: ["--password", "[redacted: password]", "--verbose", "-token", "[redacted: token]", "--pin"],
  });
  expect(redaction.json(["--token", "--verbose"])).toEqual(["--token", "--verbose"]);
  expect(
    redaction.json([
      { name: "Cookie", value: "id=1" },
      { key: "DB_PASSWORD", value: { text: "hunter2" } },
      { name: "city", value: "Bern" },
      { name: "password" },
    ]),
  ).toEqual([
    { name: "Cookie", value: "[redacted: cookie]" },
    { key: "DB_PASSWORD", value: { text: "[redacted: password]" } },
    { name: "city", value: "Bern" },
    { name: "password" },
  ]);
});

test("texts that nearly have such a place take no longer than their length", () => {
  for (const piece of [
    " ",
    " --password",
    "<password>",
    "%22password%22%3A%22",
    "login a password ",
    '"auth": "',
    "''",
  ]) {
    const text = `password: '${piece.repeat(200_000 / piece.length)}`;
    expect(redaction.text(text).length).toBeLessThanOrEqual(text.length + 4_000_000);
  }
});
