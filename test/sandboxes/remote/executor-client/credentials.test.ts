import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import {
  checkCredentials,
  type ExecutorCredentials,
} from "../../../../src/sandboxes/remote/executor-client/credentials.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const rsa = generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey;

describe("credentials for executors", () => {
  test("credentials may be a key, its PEM text, a token or nothing", () => {
    const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
    for (const signingKey of [privateKey, pem]) {
      expect(checkCredentials({ signingKey, keyId: "me" }).key?.privateKey.equals(privateKey)).toBe(true);
    }
    expect(checkCredentials({ token: "abc" })).toEqual({ key: undefined, token: "abc", tls: {} });
    expect(checkCredentials({})).toEqual({ key: undefined, token: undefined, tls: {} });
  });

  test.each<[string, ExecutorCredentials, RegExp]>([
    ["a key without an id", { signingKey: privateKey }, /given together/],
    ["an id without a key", { keyId: "me" }, /given together/],
    ["an id that is invalid in a header", { signingKey: privateKey, keyId: 'a"b' }, /remote.keyId/],
    ["a public key", { signingKey: publicKey, keyId: "me" }, /private Ed25519/],
    ["a key of another kind", { signingKey: rsa, keyId: "me" }, /private Ed25519/],
    ["a text that is not a key", { signingKey: "s3cret", keyId: "me" }, /^(?!.*s3cret).*private Ed25519/],
    ["a token that is invalid in a header", { token: "a\r\nb: c" }, /remote.token/],
    ["an empty token", { token: "" }, /remote.token/],
  ])("credentials are refused at once with %s", async (_case, credentials, reason) => {
    await expect(openSandboxes({ remote: credentials })).rejects.toThrow(reason);
  });
});
