import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import fc from "fast-check";
import { createVerifier, httpbis } from "http-message-signatures";
import { describe, expect, test } from "vitest";
import { RequestRefusal } from "../../../src/remote-protocol/problems.ts";
import {
  COVERED_WITH_BODY,
  matchesContentDigest,
  type SignedMessage,
  signatureBase,
} from "../../../src/remote-protocol/signatures/base.ts";
import { signRequest, type UnsignedRequest } from "../../../src/remote-protocol/signatures/sign-request.ts";
import { readSignatureInput, SignatureVerifier } from "../../../src/remote-protocol/signatures/verifier.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const KEY = { keyId: "agent-1", privateKey };
const NOW = 1_800_000_000_000;
const REQUEST: UnsignedRequest = {
  method: "POST",
  authority: "executor.example:7420",
  path: "/v1/dispatch",
  body: '{"call":{}}',
};

/** Creates a verifier that started a minute before {@link NOW}. */
function newVerifier(): SignatureVerifier {
  return new SignatureVerifier(new Map([["agent-1", publicKey]]), NOW - 60_000);
}

function signed(request: Partial<UnsignedRequest> = {}, now = NOW, lifetimeMs?: number): SignedMessage {
  const { method, authority, path, body } = { ...REQUEST, ...request };
  const unsigned = { method, authority, path, ...(body !== undefined && { body }) };
  return { method, authority, path, headers: signRequest(unsigned, KEY, now, lifetimeMs) };
}

/** Verifies a message, and returns the key's id or the problem's code. */
async function verdict(message: SignedMessage, verifier = newVerifier(), now = NOW): Promise<string> {
  try {
    return await verifier.verify(message, message.method === "POST" ? COVERED_WITH_BODY : [], () => now);
  } catch (thrown) {
    if (thrown instanceof RequestRefusal) return thrown.code;
    throw thrown;
  }
}

describe("signed requests", () => {
  test("verifying a request returns the id of its key", async () => {
    expect(await verdict(signed())).toBe("agent-1");
  });

  test("a signed request is accepted by another implementation of RFC 9421", async () => {
    const { headers } = signed({}, Date.now());
    const verified = await httpbis.verifyMessage(
      {
        keyLookup: async () => ({ verify: createVerifier(publicKey, "ed25519") }),
        requiredFields: ["@method", "@authority", "@path", "content-digest", "content-type"],
        requiredParams: ["created", "expires", "nonce", "keyid"],
      },
      {
        method: "POST",
        url: "http://executor.example:7420/v1/dispatch",
        headers: headers as Record<string, string>,
      },
    );
    expect(verified).toBe(true);
  });

  test("the signature base is that of RFC 9421, appendix B.2.6", () => {
    const key = createPublicKey({
      key: Buffer.from("MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=", "base64"),
      format: "der",
      type: "spki",
    });
    const components = ["date", "@method", "@path", "@authority", "content-type", "content-length"];
    const base = signatureBase(
      {
        method: "POST",
        authority: "example.com",
        path: "/foo?param=Value&Pet=dog",
        headers: {
          date: "Tue, 20 Apr 2021 02:07:55 GMT",
          "content-type": "application/json",
          "content-length": "18",
        },
      },
      components,
      '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    );
    const signature =
      "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    expect(verify(null, base, key, Buffer.from(signature, "base64"))).toBe(true);
  });

  test.each<[string, Partial<SignedMessage>]>([
    ["the method", { method: "PUT" }],
    ["the host", { authority: "other.example:7420" }],
    ["the path", { path: "/v1/tools" }],
  ])("a signed request is refused as altered if %s was changed", async (_, change) => {
    const message = { ...signed(), ...change };
    const verified = newVerifier().verify(message, COVERED_WITH_BODY, () => NOW);
    await expect(verified).rejects.toMatchObject({ code: "altered" });
  });

  test.each([
    "content-digest",
    "content-type",
  ])("a signed request is refused as altered if its %s was changed", async (name) => {
    const message = signed();
    expect(await verdict({ ...message, headers: { ...message.headers, [name]: "text/plain" } })).toBe(
      "altered",
    );
  });

  test("a signed request is refused if a parameter or the signature was changed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("signature-input", "signature"),
        fc.nat(),
        fc.nat(),
        async (name, at, by) => {
          const message = signed();
          const text = message.headers[name] as string;
          const index = at % text.length;
          const character = String.fromCharCode(33 + (by % 94));
          fc.pre(character !== text[index]);
          const changed = text.slice(0, index) + character + text.slice(index + 1);
          expect(await verdict({ ...message, headers: { ...message.headers, [name]: changed } })).toMatch(
            /^(?:altered|unauthenticated|unknown_key)$/,
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  test("a signed request is accepted only once", async () => {
    const verifier = newVerifier();
    const message = signed();
    expect(await verdict(message, verifier)).toBe("agent-1");
    expect(await verdict(message, verifier)).toBe("replayed");
    expect(await verdict(message, verifier, NOW + 30_000)).toBe("replayed");
    expect(await verdict(signed(), verifier)).toBe("agent-1");
  });

  test("a signature that is used twice at once is accepted only once", async () => {
    const verifier = newVerifier();
    const message = signed();
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => verdict(message, verifier)));
    expect(verdicts.sort()).toEqual(["agent-1", ...Array(9).fill("replayed")]);
  });

  test("a signature that expires before its turn to be verified comes is refused", async () => {
    let now = NOW;
    const verified = newVerifier().verify(signed(), COVERED_WITH_BODY, () => now);
    now += 60_000;
    await expect(verified).rejects.toMatchObject({ code: "expired" });
  });

  test("a signed request is refused after its expiry, or if its lifetime is too long", async () => {
    expect(await verdict(signed(), newVerifier(), NOW + 39_000)).toBe("agent-1");
    expect(await verdict(signed(), newVerifier(), NOW + 41_000)).toBe("expired");
    expect(await verdict(signed({}, NOW, 301_000))).toBe("expired");
    expect(await verdict(signed({}, NOW, -1_000))).toBe("expired");
  });

  test("a signed request is refused if it was created in the future", async () => {
    expect(await verdict(signed({}, NOW + 9_000))).toBe("agent-1");
    expect(await verdict(signed({}, NOW + 12_000))).toBe("expired");
  });

  test("a signed request from before the executor's start is refused, since its nonce is unknown", async () => {
    const restarted = new SignatureVerifier(new Map([["agent-1", publicKey]]), NOW);
    expect(await verdict(signed({}, NOW - 1_000), restarted)).toBe("expired");
    expect(await verdict(signed(), restarted)).toBe("agent-1");
  });

  test("a signed request is refused if its key is unknown, or if another key signed it", async () => {
    const verifier = new SignatureVerifier(new Map([["agent-2", publicKey]]), NOW - 60_000);
    expect(await verdict(signed(), verifier)).toBe("unknown_key");
    const other = generateKeyPairSync("ed25519").publicKey;
    const impostor = new SignatureVerifier(new Map([["agent-1", other]]), NOW - 60_000);
    expect(await verdict(signed(), impostor)).toBe("altered");
  });

  test("a signed request is refused without its signature headers", async () => {
    const { "signature-input": input, signature, ...rest } = signed().headers;
    const message = signed();
    expect(await verdict({ ...message, headers: rest })).toBe("unauthenticated");
    expect(await verdict({ ...message, headers: { ...rest, signature } })).toBe("unauthenticated");
    expect(await verdict({ ...message, headers: { ...rest, "signature-input": input } })).toBe(
      "unauthenticated",
    );
  });

  test("a signature must cover the body", async () => {
    const { method: _, ...get } = signed({ method: "GET" });
    // Uses the signature of a request without a body for one with a body.
    const { body: __, ...bodiless } = REQUEST;
    const headers = signRequest({ ...bodiless, method: "POST" }, KEY, NOW);
    expect(await verdict({ ...get, method: "POST", headers })).toBe("unauthenticated");
  });
});

describe("readSignatureInput", () => {
  const params = 'created=1;expires=2;nonce="n";keyid="k";tag="t"';
  const signature = `sig=:${Buffer.alloc(64).toString("base64")}:`;

  test("signature headers are read in the serialization of RFC 8941", () => {
    const claimed = readSignatureInput(`sig=("@method" "date");${params}`, signature);
    expect(claimed?.components).toEqual(["@method", "date"]);
    expect(claimed?.params).toEqual({
      created: 1,
      expires: 2,
      nonce: "n",
      keyid: "k",
      tag: "t",
      alg: undefined,
    });
    expect(claimed?.paramsText).toBe(`("@method" "date");${params}`);
  });

  test.each([
    ["two signatures", `a=("@method");${params}, b=("@method");${params}`],
    ["a component with a parameter", `sig=("content-digest";key="sha-512");${params}`],
    ["a component of another message", `sig=("@method";req);${params}`],
    ["a component twice", `sig=("@method" "@method");${params}`],
    ["a parameter twice", `sig=("@method");${params};nonce="m"`],
    ["a time that is not a number", `sig=("@method");created="1";expires=2;nonce="n";keyid="k";tag="t"`],
    ["a missing nonce", 'sig=("@method");created=1;expires=2;keyid="k";tag="t"'],
    ["white space that RFC 8941 does not serialize", `sig=( "@method" );${params}`],
    ["a label that differs from the signature's", `gis=("@method");${params}`],
    ["no components", `sig=();${params}`],
    ["too many characters", `sig=("@method");${params};x="${"x".repeat(3_000)}"`],
  ])("signature headers are refused with %s", (_, input) => {
    expect(readSignatureInput(input, signature)).toBeUndefined();
  });
});

describe("matchesContentDigest", () => {
  test("a content digest is that of the example in RFC 9530", () => {
    const header = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:";
    expect(matchesContentDigest(header, Buffer.from('{"hello": "world"}\n'))).toBe(true);
    expect(matchesContentDigest(header, Buffer.from('{"hello": "world"}'))).toBe(false);
  });

  test("a content digest with another algorithm, or in a list, does not match", () => {
    const body = Buffer.from("x");
    const sha256 = "sha-256=:LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=:";
    expect(matchesContentDigest(sha256, body)).toBe(true);
    expect(matchesContentDigest(`${sha256}, sha-512=:AAAA:`, body)).toBe(false);
    expect(matchesContentDigest("", body)).toBe(false);
  });
});

test("invalid keys are refused at set-up", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  expect(() => new SignatureVerifier(new Map([["a", rsa.publicKey]]))).toThrow(/public Ed25519/);
  expect(() => new SignatureVerifier(new Map([["a", privateKey]]))).toThrow(/public Ed25519/);
  expect(() => signRequest(REQUEST, { keyId: 'a"b', privateKey })).toThrow(/printable ASCII/);
  expect(() => signRequest(REQUEST, { keyId: "a", privateKey: rsa.privateKey })).toThrow(/Ed25519/);
});
