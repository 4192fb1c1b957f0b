import { generateKeyPairSync } from "node:crypto";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import type { Executor } from "../../src/executor/executor.ts";
import { signRequest } from "../../src/remote-protocol/signatures/sign-request.ts";
import {
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  problemOf,
  send,
  startExecutor,
} from "../executor/harness.ts";

const TOKEN = "correct-horse-battery-staple";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const KEYS = new Map([["agent-1", publicKey]]);
const BODY = dispatchBody({ name: "count" });

function sign(
  executor: Executor,
  { keyId = "agent-1", now = Date.now(), body = BODY }: { keyId?: string; now?: number; body?: string } = {},
): Record<string, string> {
  const request = { method: "POST", authority: executor.address, path: "/v1/dispatch", body } as const;
  return { ...signRequest(request, { keyId, privateKey }, now) };
}

describe("signatures", () => {
  test("an executor with keys accepts each signed request only once", async () => {
    const executor = await startExecutor([new CountingTool().tool], { keys: KEYS });
    const headers = sign(executor);
    expect(executionOf(await dispatch(executor, BODY, { headers })).success).toBe(true);
    expect(problemOf(await dispatch(executor, BODY, { headers }))).toBe("425 replayed");
  });

  test("unsigned, unknown, expired and altered requests are refused, each with its own status", async () => {
    const counting = new CountingTool();
    const executor = await startExecutor([counting.tool], { keys: KEYS });
    const other = dispatchBody({ name: "count", arguments: { a: 1 } });
    const { "content-digest": digest } = sign(executor, { body: other });
    const problems = await Promise.all([
      dispatch(executor, BODY),
      dispatch(executor, BODY, { headers: sign(executor, { keyId: "agent-2" }) }),
      dispatch(executor, BODY, { headers: sign(executor, { now: Date.now() + 60_000 }) }),
      dispatch(executor, other, { headers: sign(executor) }),
      dispatch(executor, other, { headers: { ...sign(executor), "content-digest": String(digest) } }),
    ]);
    expect(problems.map(problemOf)).toEqual([
      "401 unauthenticated",
      "403 unknown_key",
      "412 expired",
      "422 altered",
      "422 altered",
    ]);
    expect(counting.calls).toBe(0);
  });

  test("an executor with keys does not read the body of an unauthenticated request", async () => {
    const executor = await startExecutor([], { keys: KEYS });
    const socket = connect(Number(executor.address.split(":")[1]), "127.0.0.1");
    socket.write(
      `POST /v1/dispatch HTTP/1.1\r\nhost: ${executor.address}\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n`,
    );
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("tools and metrics require authentication, but health probes do not", async () => {
    const executor = await startExecutor([], { keys: KEYS });
    const get = async (path: string, headers = {}): Promise<number> =>
      (await send(executor, { method: "GET", path, headers })).status;
    expect(
      await Promise.all(["/v1/tools", "/metrics", "/healthz", "/readyz"].map((path) => get(path))),
    ).toEqual([401, 401, 200, 200]);
    const request = { method: "GET", authority: executor.address, path: "/v1/tools" } as const;
    const headers = signRequest(request, { keyId: "agent-1", privateKey });
    expect(await get("/v1/tools", headers)).toBe(200);
    expect((await send(executor, { method: "GET", path: "/healthz", headers: { host: "any" } })).status).toBe(
      200,
    );
  });
});

describe("bearer tokens", () => {
  test("an executor with a token accepts this token only", async () => {
    const executor = await startExecutor([new CountingTool().tool], { token: TOKEN });
    const problems = await Promise.all(
      ["Bearer correct-horse-battery-staplf", "Bearer ", `Basic ${TOKEN}`, TOKEN].map(async (authorization) =>
        problemOf(await dispatch(executor, BODY, { headers: { authorization } })),
      ),
    );
    expect(new Set([...problems, problemOf(await dispatch(executor, BODY))])).toEqual(
      new Set(["401 unauthenticated"]),
    );
    const { headers } = await dispatch(executor, BODY);
    expect(headers["www-authenticate"]).toBe("Bearer");
    const answer = await dispatch(executor, BODY, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(executionOf(answer).success).toBe(true);
  });

  test("an executor does not start with a token that is too short", async () => {
    await expect(startExecutor([], { token: "secret" })).rejects.toThrow(/at least 16 characters/);
  });
});
