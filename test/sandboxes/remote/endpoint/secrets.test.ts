import { expect, test } from "vitest";
import { redactBody, redactText } from "../../../../src/sandboxes/remote/endpoint/secrets.ts";

test("a secret that begins with another one is redacted completely", () => {
  const secrets = new Map([
    ["USER", "alice"],
    ["TOKEN", "alice:s3cret/1"],
  ]);
  expect(redactText("it was alice:s3cret/1, of alice", secrets)).toBe(
    "it was [secret TOKEN], of [secret USER]",
  );
  expect(redactText("it was alice%3As3cret%2F1", secrets)).toBe("it was [secret TOKEN]");
  expect(redactBody('{"sent":"alice:s3cret\\/1"}', secrets)).toBe('{"sent":"[secret TOKEN]"}');
});
