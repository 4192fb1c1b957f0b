import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { ExecutorOptions } from "../../src/executor/options.ts";
import type { RefusedRequest } from "../../src/http/refusals.ts";
import { PROBLEMS } from "../../src/remote-protocol/problems.ts";
import { signRequest } from "../../src/remote-protocol/signatures/sign-request.ts";
import {
  CountingTool,
  dispatch,
  dispatchBody,
  HeldTool,
  problemOf,
  type Sending,
  send,
  startExecutor,
} from "../executor/harness.ts";

const TOKEN = "correct-horse-battery-staple";
const HEADERS = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };

/** Starts an executor, and collects the requests that it refuses. */
async function start(options: Partial<ExecutorOptions> = {}): Promise<{
  readonly executor: { readonly address: string };
  readonly refused: readonly RefusedRequest[];
}> {
  const refused: RefusedRequest[] = [];
  const onRefusal = (request: RefusedRequest): void => void refused.push(request);
  const executor = await startExecutor([new CountingTool().tool], { token: TOKEN, onRefusal, ...options });
  return { executor, refused };
}

describe("An executor tells its operator of a refused request:", () => {
  const body = dispatchBody({ name: "count" });

  test.each<[string, Sending, object]>([
    [
      "without credentials",
      { body, headers: { "content-type": "application/json" } },
      { code: "unauthenticated", status: 401, message: "the request must have a bearer token" },
    ],
    ["with a wrong token", { headers: { authorization: "Bearer guess" } }, { code: "unauthenticated" }],
    [
      "of a wrong path",
      { method: "GET", path: "/admin" },
      { code: "not_found", method: "GET", path: "/admin" },
    ],
    ["of a wrong method", { path: "/v1/tools" }, { code: "method_not_allowed", path: "/v1/tools" }],
    ["for another host", { headers: { host: "evil.example" } }, { code: "misdirected", status: 421 }],
    [
      "that is too large",
      { headers: HEADERS, body: " ".repeat(2_000) },
      { code: "too_large", status: 413, principal: { id: "token", kind: "service" } },
    ],
    ["that is no JSON", { headers: HEADERS, body: "{" }, { code: "bad_request", status: 400 }],
    [
      "of an unacceptable type",
      { headers: { ...HEADERS, accept: "text/html" }, body },
      { code: "not_acceptable", principal: { id: "token" } },
    ],
  ])("%s", async (_how, sending, expected) => {
    const { executor, refused } = await start({ limits: { bodyBytes: 1_000 } });
    const { status } = await send(executor, sending);
    expect(refused).toMatchObject([
      { method: "POST", path: "/v1/dispatch", address: "127.0.0.1", ...expected },
    ]);
    expect(refused.map((each) => each.status)).toEqual([status]);
    expect(Object.isFrozen(refused[0])).toBe(true);
  });

  test("with a key that it does not have", async () => {
    const known = generateKeyPairSync("ed25519");
    const { executor, refused } = await start({ keys: new Map([["ada", known.publicKey]]) });
    const signed = signRequest(
      { method: "POST", authority: executor.address, path: "/v1/dispatch", body },
      { keyId: "eve", privateKey: generateKeyPairSync("ed25519").privateKey },
    );
    expect(problemOf(await dispatch(executor, body, { headers: signed }))).toBe("403 unknown_key");
    expect(refused).toMatchObject([{ code: "unknown_key", status: 403 }]);
    expect(refused[0]).not.toHaveProperty("principal");
  });

  test("for which it has no room, with the call", async () => {
    const held = new HeldTool();
    const refused: RefusedRequest[] = [];
    const executor = await startExecutor([held.tool], {
      limits: { inFlight: 1, queued: 1 },
      onRefusal: (request) => void refused.push(request),
    });
    const call = (id: string): ReturnType<typeof dispatch> =>
      dispatch(executor, dispatchBody({ id, name: "hold" }));
    const first = call("1");
    while (held.started.length === 0) await new Promise(setImmediate);
    // One of the two waits, and the other is refused.
    const others = [call("2"), call("3")];
    expect(problemOf(await Promise.race(others))).toBe("429 overloaded");
    held.release();
    await first;
    while (held.started.length < 2) await new Promise(setImmediate);
    held.releaseAll();
    await Promise.all(others);
    expect(refused).toMatchObject([
      {
        code: "overloaded",
        call: { callId: expect.stringMatching(/^[23]$/), sessionId: "session", toolName: "hold" },
      },
    ]);
  });

  test("that it cannot answer because of a bug, with the stack", async () => {
    const registry = Object.assign(new ToolRegistry(), {
      definitions: () => {
        throw new Error("the list is broken");
      },
    });
    const { executor, refused } = await start({ registry });
    const answer = await send(executor, { method: "GET", path: "/v1/tools", headers: HEADERS });
    expect(problemOf(answer)).toBe("500 internal_error");
    expect(answer.text).not.toContain("broken");
    expect(refused).toMatchObject([
      { code: "internal_error", detail: expect.stringMatching(/^Error: the list is broken\n {4}at /) },
    ]);
  });
});

test("An operator's function that throws changes no answer", async () => {
  const { executor } = await start({
    onRefusal: () => {
      throw new Error("no log");
    },
  });
  expect(problemOf(await send(executor, {}))).toBe(`${PROBLEMS.unauthenticated.status} unauthenticated`);
});
