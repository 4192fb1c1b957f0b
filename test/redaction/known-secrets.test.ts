import fc from "fast-check";
import { expect, test } from "vitest";
import { KNOWN_FORMS, mayHoldSecret } from "../../src/redaction/known-secrets.ts";
import { SecretNames } from "../../src/redaction/secret-names.ts";

const named = ["password=hunter2", "api_key: x", 'Token:"a b"', "Authorization = abc"];

test("a text that matches a form is never passed over", () => {
  const lookaround = /\(\?<?!(?:\[[^\]]*\]|\\w)\)/g;
  const forms = KNOWN_FORMS.map(({ pattern }) =>
    fc.stringMatching(new RegExp(pattern.source.replaceAll(lookaround, ""))),
  );
  fc.assert(
    fc.property(
      fc.string(),
      fc.oneof(...forms, fc.constantFrom(...named)),
      fc.string(),
      (before, secret, after) => {
        const text = `${before} ${secret} ${after}`;
        const isFound = [...KNOWN_FORMS.map(({ pattern }) => pattern), new SecretNames([]).inText].some(
          (pattern) => text.replace(pattern, "") !== text,
        );
        expect(isFound && !mayHoldSecret(text)).toBe(false);
      },
    ),
    { numRuns: 2_000 },
  );
});

test("an ordinary text is passed over", () => {
  expect(mayHoldSecret("src/index.ts")).toBe(false);
});
