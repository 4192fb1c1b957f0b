import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/json/value.ts";
import { allow, deny, type RuntimePolicy } from "../../src/policy/policy.ts";
import type { Principal } from "../../src/policy/principal.ts";
import { signRequest } from "../../src/remote-protocol/signatures/sign-request.ts";
import { dispatch, dispatchBody, executionOf, startExecutor } from "./harness.ts";

const TOKEN = "correct-horse-battery-staple";
const ada = generateKeyPairSync("ed25519");
const bob = generateKeyPairSync("ed25519");
const KEYS = new Map([
  ["ada", ada.publicKey],
  ["bob", bob.publicKey],
]);

/** Returns its caller, and claims nothing. */
const whoami = {
  name: "delete_all",
  description: "",
  inputSchema: { type: "object" },
  host: (_input: never, { principal }: { readonly principal?: Principal | undefined }) =>
    (principal ?? null) as JsonObject | null,
};

describe("An executor names the principal of a call", () => {
  test("by the key that signed it", async () => {
    const executor = await startExecutor([whoami], { keys: KEYS, token: TOKEN });
    expect(executionOf(await dispatch(executor, ...signed(executor.address, "ada"))).output).toEqual({
      id: "ada",
      kind: "service",
    });
  });

  test("by the configured name of the token", async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const body = dispatchBody({ name: "delete_all" });
    const named = await startExecutor([whoami], { token: TOKEN, tokenName: "ci" });
    expect(executionOf(await dispatch(named, body, { headers })).output).toEqual({
      id: "ci",
      kind: "service",
    });
    const unnamed = await startExecutor([whoami], { token: TOKEN });
    const { output } = executionOf(await dispatch(unnamed, body, { headers }));
    expect(output).toEqual({ id: "token", kind: "service" });
  });

  test("as local on a unix socket without credentials", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sandgate-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const executor = await startExecutor([whoami], { listen: `unix:${folder}/socket` });
    const { output } = executionOf(await dispatch(executor, dispatchBody({ name: "delete_all" })));
    expect(output).toEqual({ id: "local", kind: "service" });
  });

  test("not at all on a port without credentials, which every user of the machine can reach", async () => {
    const executor = await startExecutor([whoami]);
    const { output } = executionOf(await dispatch(executor, dispatchBody({ name: "delete_all" })));
    expect(output).toBeNull();
  });
});

test("A policy tells two keys apart, whatever session and call id the body names", async () => {
  const policy: RuntimePolicy = {
    check: ({ tool, principal }) =>
      tool.name.startsWith("delete_") && principal?.id === "ada"
        ? allow({ sandbox: "host" })
        : deny("only ada may delete"),
  };
  const executor = await startExecutor([whoami], { keys: KEYS, policy });
  const bodies = [{}, { session: "ada" }, { id: "ada", session: "key ada" }];
  for (const more of bodies) {
    const allowed = executionOf(await dispatch(executor, ...signed(executor.address, "ada", more)));
    const denied = executionOf(await dispatch(executor, ...signed(executor.address, "bob", more)));
    expect(allowed.success).toBe(true);
    expect(denied.error?.message).toBe("Permission denied: tool 'delete_all' is disabled by policy");
  }
});

test("An executor whose token has the name of a key does not start", async () => {
  await expect(startExecutor([], { keys: KEYS, token: TOKEN, tokenName: "ada" })).rejects.toThrow(TypeError);
});

/** The body and the options of a dispatch that one of the keys signed. */
function signed(
  authority: string,
  keyId: "ada" | "bob",
  { id, ...rest }: { readonly id?: string; readonly session?: string } = {},
): [body: string, options: { headers: Record<string, string> }] {
  const body = dispatchBody({ name: "delete_all", ...(id !== undefined && { id }) }, rest);
  const { privateKey } = keyId === "ada" ? ada : bob;
  const request = { method: "POST", authority, path: "/v1/dispatch", body } as const;
  return [body, { headers: { ...signRequest(request, { keyId, privateKey }) } }];
}
