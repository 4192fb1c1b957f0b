import fc from "fast-check";
import { expect, test } from "vitest";
import { redactBody, redactText } from "../../../../src/sandboxes/remote/endpoint/secrets.ts";

const SECRET = "p&ss w/rd+é<\"'%41\\\u{1f511}";
const secrets = new Map([["TOKEN", SECRET]]);
const HIDDEN = "[secret TOKEN]";

const percent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
const references = (text: string, write: (code: number) => string): string =>
  [...text].map((character) => write(character.codePointAt(0) ?? 0)).join("");
const jsonEscapes = (text: string): string =>
  text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");

/** How programs write a text where it is not allowed as it is. */
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  encodeURIComponent: (text) => encodeURIComponent(text),
  "lower-case percent-encoding": (text) =>
    encodeURIComponent(text).replace(/%../g, (encoded) => encoded.toLowerCase()),
  "strict RFC 3986": (text) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (character) => percent(character).toUpperCase()),
  "every byte percent-encoded": percent,
  "form encoding": (text) => new URLSearchParams([["", text]]).toString().slice(1),
  "lower-case form encoding": (text) =>
    new URLSearchParams([["", text]])
      .toString()
      .slice(1)
      .replace(/%../g, (encoded) => encoded.toLowerCase()),
  "a JSON text": (text) => JSON.stringify(text).slice(1, -1),
  "JSON with escaped slashes": (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  "JSON escapes for all": jsonEscapes,
  "HTML entities": (text) =>
    text.replace(
      /[&<>"']/g,
      (found) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[found] ?? "&#39;",
    ),
  "decimal references": (text) => references(text, (code) => `&#${code};`),
  "hexadecimal references": (text) => references(text, (code) => `&#X${code.toString(16)};`),
  "a URL in the query of another one": (text) => encodeURIComponent(encodeURIComponent(text)),
  "JSON in a URL": (text) => encodeURIComponent(JSON.stringify(text).slice(1, -1)),
  "JSON in a string of JSON": (text) => JSON.stringify(JSON.stringify(text).slice(1, -1)).slice(1, -1),
  "a URL in an attribute of HTML": (text) => encodeURIComponent(text).replaceAll("'", "&#39;"),
  "hexadecimal digits": (text) => Buffer.from(text).toString("hex"),
  "upper-case hexadecimal digits": (text) => Buffer.from(text).toString("hex").toUpperCase(),
  "digits between colons": (text) => (Buffer.from(text).toString("hex").match(/../g) ?? []).join(":"),
};

/** Texts of well-formed Unicode that a hexadecimal form would not be too short for. */
const secretText = fc.string({ unit: "binary", minLength: 8, maxLength: 40 });

for (const [name, encode] of Object.entries(ENCODINGS)) {
  test(`a secret is hidden in this encoding: ${name}`, () => {
    expect(redactText(`key=${encode(SECRET)}&more`, secrets)).toBe(`key=${HIDDEN}&more`);
    fc.assert(
      fc.property(secretText, (secret) => {
        const redacted = redactText(`<${encode(secret)}>`, new Map([["TOKEN", secret]]));
        expect(redacted).toBe(`<${HIDDEN}>`);
      }),
    );
  });
}

test("a secret is hidden in base64 of both alphabets, wherever it begins and however lines are broken", () => {
  fc.assert(
    fc.property(
      secretText,
      fc.uint8Array({ maxLength: 5 }),
      fc.uint8Array({ maxLength: 5 }),
      fc.constantFrom("base64", "base64url", "lines", "percent"),
      (secret, before, after, form) => {
        const bytes = Buffer.concat([before, Buffer.from(secret), after]);
        const base64 = bytes.toString(form === "base64url" ? "base64url" : "base64");
        const written =
          form === "lines"
            ? base64.replace(/.{7}/g, "$&\r\n")
            : form === "percent"
              ? encodeURIComponent(base64)
              : base64;
        const redacted = redactText(`Basic ${written}`, new Map([["TOKEN", secret]]));
        expect(redacted).toContain(HIDDEN);
        // No more than the digits at the ends, which also depend on the bytes beside the secret, remain.
        expect(redacted.replace(HIDDEN, "").length).toBeLessThanOrEqual("Basic ".length + 32);
      },
    ),
  );
});

test("a body that is not JSON keeps what is no secret", () => {
  expect(redactBody(`Invalid key "${jsonEscapes(SECRET)}": try again`, secrets)).toBe(
    `Invalid key "${HIDDEN}": try again`,
  );
});

test("texts without a secret stay as they are, whatever they have encoded", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("%", "4", "1", "\\", "u", "&", "#", ";", "+", "-", "é", " ") }),
      (text) => {
        expect(redactText(text, secrets)).toBe(text);
        expect(redactText(`${text}${SECRET}${text}`, secrets)).toBe(`${text}${HIDDEN}${text}`);
      },
    ),
  );
});

test("a short secret is not looked for in forms that any text has", () => {
  const short = new Map([["PIN", "ab"]]);
  expect(redactText("6162 YWI= cab", short)).toBe("6162 YWI= c[secret PIN]");
});
