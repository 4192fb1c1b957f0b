import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: a property of changed states, which would take a request of a client each.
import { type PendingState, StateSeal } from "../../../../src/mcp/server/runs/runs.ts";

const STATE: PendingState = { id: "a", nonce: "b", expiresAt: Number.MAX_SAFE_INTEGER };

test("a state opens for the binding for which it was sealed, and says nothing to who carries it", () => {
  const seal = new StateSeal();
  const sealed = seal.seal({ ...STATE, id: "the-id-of-a-call" }, "alice");
  expect(seal.open(sealed, "alice")).toMatchObject({ id: "the-id-of-a-call" });
  expect(seal.open(sealed, "bob")).toBeUndefined();
  expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toContain("the-id");
  expect(seal.seal(STATE, "alice")).not.toBe(seal.seal(STATE, "alice"));
});

test("no changed state opens, wherever it was changed", () => {
  const seal = new StateSeal();
  const sealed = seal.seal(STATE, "alice");
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.constantFrom(..."AZaz09-_=+/ \n"), (at, character) => {
      const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
      fc.pre(changed !== sealed);
      expect(seal.open(changed, "alice")).toBeUndefined();
    }),
  );
  for (const changed of [`${sealed}A`, sealed.slice(0, -1), `${sealed}-TAMPERED`, "", sealed.repeat(2)]) {
    expect(seal.open(changed, "alice")).toBeUndefined();
  }
});

test("no text that was not sealed opens", () => {
  const seal = new StateSeal();
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String({ maxLength: 2_000 })), (text) => {
      expect(seal.open(text, "alice")).toBeUndefined();
    }),
  );
});

test("a state does not open after its expiry, nor in another process", () => {
  const seal = new StateSeal();
  expect(seal.open(seal.seal({ ...STATE, expiresAt: Date.now() - 1 }, "alice"), "alice")).toBeUndefined();
  expect(new StateSeal().open(seal.seal(STATE, "alice"), "alice")).toBeUndefined();
});
