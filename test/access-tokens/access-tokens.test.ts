import { generateKeyPairSync } from "node:crypto";
import { SignJWT, UnsecuredJWT } from "jose";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AccessTokens } from "../../src/access-tokens/access-tokens.ts";
import type { AccessTokenOptions } from "../../src/access-tokens/options.ts";
import { AuthorizationServer } from "./authorization-server.ts";

const RESOURCE = "https://tools.example.com/mcp";
const CLAIMS = { aud: RESOURCE, client_id: "editor", scope: "write read read" };
const JWKS = "/jwks";
const METADATA = "/.well-known/oauth-authorization-server";

afterEach(() => vi.useRealTimers());

/** Starts an authorization server, and opens what verifies its tokens. */
async function open(options: Partial<AccessTokenOptions> = {}) {
  const issuer = await AuthorizationServer.start();
  const tokens = await AccessTokens.open({ resource: RESOURCE, issuer: issuer.issuer, ...options });
  onTestFinished(() => tokens.close());
  return { issuer, tokens };
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Only the clock is held: connections need their timers. */
function passTime(ms: number): void {
  const time = Date.now() + ms;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(time);
}

describe("An access token", () => {
  test("says who sends it, with which client and for what", async () => {
    const { issuer, tokens } = await open();
    const exp = now() + 60;
    expect(await tokens.verify(await issuer.sign({ ...CLAIMS, exp }))).toEqual({
      principal: {
        id: "oauth:alice@example.com",
        kind: "user",
        roles: ["scope:read", "scope:write"],
        attributes: { issuer: issuer.issuer, clientId: "editor", scopes: ["read", "write"] },
      },
      scopes: ["read", "write"],
      expiresAt: (exp + 30) * 1_000,
    });
  });

  test("that a client got for itself is that of a service", async () => {
    const { issuer, tokens } = await open();
    const { principal } = await tokens.verify(await issuer.sign({ ...CLAIMS, sub: "editor" }));
    expect(principal).toMatchObject({ id: "oauth:editor", kind: "service" });
  });

  test("has further claims where the options say so", async () => {
    const { issuer, tokens } = await open({
      principal: { roles: "/realm_access/roles", attributes: { tenant: "/tid", plan: "/plan" } },
    });
    const more = { realm_access: { roles: ["ops", "dev"] }, tid: "acme" };
    const { principal } = await tokens.verify(await issuer.sign({ ...CLAIMS, scope: undefined, ...more }));
    expect(principal.roles).toEqual(["dev", "ops"]);
    expect(principal.attributes).toEqual({
      issuer: issuer.issuer,
      clientId: "editor",
      scopes: [],
      tenant: "acme",
    });
    // Each of these would be a right that the token does not give.
    for (const roles of ["ops", [1], ["scope:admin"]]) {
      const token = await issuer.sign({ ...CLAIMS, realm_access: { roles } });
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: "invalid_token" });
    }
  });

  test.each<[string, object, object, RegExp]>([
    ["another issuer", { iss: "https://evil.example" }, {}, /issuer/],
    ["another audience", { aud: "https://other.example.com/mcp" }, {}, /audience/],
    ["an audience that only begins the same", { aud: `${RESOURCE}/` }, {}, /audience/],
    ["no audience", { aud: undefined }, {}, /audience/],
    ["no subject", { sub: undefined }, {}, /claims/],
    ["an empty subject", { sub: "" }, {}, /claims/],
    ["a scope that is no text", { scope: ["read"] }, {}, /claims/],
    ["no end", { exp: undefined }, {}, /claims/],
    ["its end more than 30 seconds ago", { exp: now() - 40 }, {}, /expired/],
    ["its beginning in an hour", { nbf: now() + 3_600 }, {}, /time/],
    ["the type of an ID token", {}, { typ: "JWT" }, /type/],
    ["no type", {}, { typ: undefined }, /type/],
    ["an unknown key", {}, { kid: "unknown" }, /signature/],
  ])("is refused with %s", async (_what, claims, header, message) => {
    const { issuer, tokens } = await open();
    const error: unknown = await tokens
      .verify(await issuer.sign({ ...CLAIMS, ...claims }, header))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_token", message: expect.stringMatching(message) });
    // It would have the claims, and get into the log.
    expect(error).not.toHaveProperty("cause");
  });

  test("is accepted within the difference of clocks, and with several audiences", async () => {
    const { issuer, tokens } = await open();
    const claims = { ...CLAIMS, aud: ["https://other.example", RESOURCE], exp: now() - 10, nbf: now() + 10 };
    await expect(tokens.verify(await issuer.sign(claims))).resolves.toMatchObject({
      scopes: ["read", "write"],
    });
  });

  test("is refused without a signature, with one by a secret, and with one by a key that it brings along", async () => {
    const { issuer, tokens } = await open();
    const claims = { iss: issuer.issuer, sub: "mallory", exp: now() + 60, ...CLAIMS };
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = publicKey.export({ format: "jwk" });
    const forged = await Promise.all([
      new UnsecuredJWT(claims).encode(),
      new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
        .sign(Buffer.from("a public key that is used as a secret")),
      new SignJWT(claims).setProtectedHeader({ alg: "ES256", typ: "at+jwt", jwk } as never).sign(privateKey),
      new SignJWT(claims)
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", jku: "https://evil.example/jwks" } as never)
        .sign(privateKey),
    ]);
    const good = await issuer.sign(CLAIMS);
    const altered = good.replace(/\.[^.]+\./, (claimed) => `${claimed.slice(0, -3)}A${claimed.slice(-2)}`);
    for (const token of [...forged, altered]) {
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: "invalid_token" });
    }
  });

  test("that is giant or no JWT is refused before the authorization server is asked", async () => {
    const { issuer, tokens } = await open();
    const giant = await issuer.sign({ ...CLAIMS, padding: "x".repeat(8_192) });
    for (const token of [giant, "opaque", "a.b", "a.b.c.d.e", "ey.é.x", ""]) {
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: "invalid_token" });
    }
    expect(issuer.requests).toEqual([]);
  });

  test("must have all scopes that the options name", async () => {
    const { issuer, tokens } = await open({ scopes: ["read", "admin"] });
    await expect(tokens.verify(await issuer.sign(CLAIMS))).rejects.toMatchObject({
      code: "insufficient_scope",
      message: "the access token must have the scopes read admin",
    });
    await tokens.verify(await issuer.sign({ ...CLAIMS, scope: "admin other read" }));
  });

  test("can have the type JWT where the options say so, and then no other", async () => {
    const { issuer, tokens } = await open({ tokenType: "JWT", algorithms: ["ES256"] });
    await tokens.verify(await issuer.sign(CLAIMS, { typ: "JWT" }));
    await expect(tokens.verify(await issuer.sign(CLAIMS))).rejects.toThrow("type");
  });
});

describe("The keys of an issuer", () => {
  test("are fetched once for many tokens, and again for a token with a new key", async () => {
    const { issuer, tokens } = await open();
    const token = await issuer.sign(CLAIMS);
    await Promise.all(Array.from({ length: 50 }, () => tokens.verify(token)));
    expect(issuer.requests).toEqual([METADATA, JWKS]);
    await issuer.rotateKeys();
    passTime(31_000);
    await tokens.verify(await issuer.sign(CLAIMS));
    expect(issuer.count(JWKS)).toBe(2);
    // Those of the old key are void from then on.
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: "invalid_token" });
  });

  test("that were withdrawn open nothing after five minutes", async () => {
    const { issuer, tokens } = await open();
    issuer.lifetime = 3_600;
    const token = await issuer.sign(CLAIMS);
    await tokens.verify(token);
    await issuer.rotateKeys();
    passTime(5 * 60_000 + 1);
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: "invalid_token" });
  });

  test("are not fetched as often as tokens with unknown keys come", async () => {
    const { issuer, tokens } = await open();
    await tokens.verify(await issuer.sign(CLAIMS));
    const flood = await Promise.all(
      Array.from({ length: 100 }, (_, index) => issuer.sign(CLAIMS, { kid: `unknown-${index}` })),
    );
    const rejected = await Promise.allSettled(flood.map((token) => tokens.verify(token)));
    expect(rejected.every(({ status }) => status === "rejected")).toBe(true);
    expect(issuer.count(JWKS)).toBe(1);
    passTime(31_000);
    await Promise.allSettled(flood.map((token) => tokens.verify(token)));
    expect(issuer.count(JWKS)).toBe(2);
  });

  test("fail closed while the authorization server is down, which is not asked for each token", async () => {
    const { issuer, tokens } = await open();
    const token = await issuer.sign({ ...CLAIMS, exp: now() + 3_600 });
    issuer.isDown = true;
    for (let count = 0; count < 20; count++) {
      await expect(tokens.verify(token)).rejects.toMatchObject({
        code: "unavailable",
        cause: expect.objectContaining({ message: `${issuer.issuer}${METADATA} responded with 500` }),
      });
    }
    expect(issuer.requests).toEqual([METADATA]);
    issuer.isDown = false;
    passTime(10_001);
    await tokens.verify(token);
    // What is known stays known for a while; a token with another key does not change that.
    issuer.isDown = true;
    passTime(60_000);
    const unknown = await issuer.sign(CLAIMS, { kid: "unknown" });
    await expect(tokens.verify(unknown)).rejects.toMatchObject({ code: "unavailable" });
    await tokens.verify(token);
    passTime(5 * 60_000);
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: "unavailable" });
  });

  test.each<[string, object]>([
    ["the metadata of another issuer", { issuer: "https://evil.example" }],
    ["no place", { jwks_uri: undefined }],
    ["a place that others could change", { jwks_uri: "http://keys.example.com/jwks" }],
    ["a place in the private network of another origin", { jwks_uri: "https://127.0.0.2/jwks" }],
  ])("are not taken from %s", async (_what, metadata) => {
    const { issuer, tokens } = await open();
    Object.assign(issuer.metadata, metadata);
    await expect(tokens.verify(await issuer.sign(CLAIMS))).rejects.toMatchObject({ code: "unavailable" });
  });

  test("can be named by the options, without metadata", async () => {
    const issuer = await AuthorizationServer.start();
    const options = { resource: RESOURCE, issuer: "https://login.example.com/realm" };
    const tokens = await AccessTokens.open({ ...options, jwksUri: `${issuer.issuer}${JWKS}` });
    onTestFinished(() => tokens.close());
    await tokens.verify(await issuer.sign({ ...CLAIMS, iss: options.issuer }));
    expect(issuer.requests).toEqual([JWKS]);
  });
});

test.each<[string, object]>([
  ["a resource that others could imitate", { resource: "http://tools.example.com/mcp" }],
  ["an issuer with a user", { issuer: "https://user@login.example.com" }],
  ["keys at no URL", { jwksUri: "keys" }],
  ["a scope that is two", { scopes: ["a b"] }],
  ["an algorithm with secrets", { algorithms: ["HS256"] }],
  ["no algorithm", { algorithms: [] }],
  ["another type", { tokenType: "id+jwt" }],
  ["no pointer", { principal: { roles: "groups" } }],
  ["an attribute that has another meaning", { principal: { attributes: { issuer: "/tid" } } }],
])("options with %s are refused", async (_what, options) => {
  const valid = { resource: RESOURCE, issuer: "https://login.example.com" };
  await expect(AccessTokens.open({ ...valid, ...options } as never)).rejects.toThrow(TypeError);
});
