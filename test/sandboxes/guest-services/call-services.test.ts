import { expect, test } from "vitest";
import type { CallTool, SandboxTask } from "../../../src/sandboxes/contract/sandbox.ts";
import { CallServices } from "../../../src/sandboxes/guest-services/call-services.ts";
import type { ServiceRequest } from "../../../src/sandboxes/guest-services/service-request.ts";

const UNAVAILABLE = { error: { code: "unavailable", message: "the service is not available" } };

/** The services of a call that may call two other tools, and is granted nothing else. */
function open(callTool?: CallTool, log: (level: string, line: string) => void = () => {}): CallServices {
  const observer = { log };
  const task = { capabilities: {}, observer, sessionId: "session", callTool } as unknown as SandboxTask;
  const openEgress = (): Promise<never> => Promise.reject(new Error("nothing may be sent"));
  const rules = { maxBodyBytes: 1_000, trustsSafeMethods: true };
  return new CallServices(task, { openEgress }, { nestedCalls: 2, netBytes: 1_000 }, rules);
}

const CALL: ServiceRequest = { kind: "call-tool", name: "tool", input: "{}" };

/** A request for an origin. */
function http(url: string): ServiceRequest {
  const [method, headers, body] = ["GET", [], undefined];
  return { kind: "http", method, url, headers, body, encoding: "utf8", followRedirects: false };
}

test("services deny everything that a call was not granted, and log once what would grant it", async () => {
  const lines: string[] = [];
  const services = open(undefined, (level, line) => lines.push(`${level}: ${line}`));
  const requests = [
    CALL,
    { kind: "get", store: "notes", key: "a" } as const,
    { kind: "get", store: "notes", key: "b" } as const,
    http("http://user:password@api.test/b?key=secret"),
    http("http://api.test/c"),
  ];
  const answers = await Promise.all(requests.map((request) => services.answer(request, 1_000)));
  expect(answers).toEqual([
    { error: expect.objectContaining({ code: "permission_denied" }) },
    { error: expect.objectContaining({ code: "permission_denied" }) },
    { error: expect.objectContaining({ code: "permission_denied" }) },
    { error: "origin_denied" },
    { error: "origin_denied" },
  ]);
  expect(services).toMatchObject({ effect: "none", used: {} });
  expect(lines.sort()).toEqual([
    expect.stringMatching(/^warn: denied: a call of the tool 'tool': .*the capability 'tools'/),
    "warn: denied: the capability 'keyValue' does not give the store 'notes'",
    "warn: denied: the capability 'net' does not name the origin 'http://api.test'",
  ]);
});

test("services log a bounded part of what a guest is denied", async () => {
  const lines: string[] = [];
  const services = open(undefined, (_level, line) => lines.push(line));
  for (let index = 0; index < 50; index++)
    await services.answer({ kind: "get", store: index + "x".repeat(9_999), key: "a" }, 1_000);
  expect(lines).toHaveLength(10);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(300);
});

test("services answer requests concurrently, and count them against one limit", async () => {
  const first = Promise.withResolvers<void>();
  const services = open(async (_call, { wallTimeMs }) => {
    first.resolve();
    return { output: wallTimeMs ?? null };
  });
  const answers = Promise.all([
    services.answer(CALL, 7),
    services.answer(CALL, undefined),
    services.answer(CALL, 9),
  ]);
  await first.promise;
  expect(services).toMatchObject({ effect: "unknown", nestedCalls: 2 });
  expect(await answers).toEqual([
    { ok: 7 },
    { ok: null },
    { error: { code: "limit_exceeded", message: "a call may make at most 2 calls to other tools" } },
  ]);
  expect(services.used).toEqual({ nestedCalls: 2 });
});

test("services always reply, even if what answers the request throws", async () => {
  const services = open(() => Promise.reject(new Error("a bug")));
  expect(await services.answer(CALL, 1_000)).toEqual(UNAVAILABLE);
  expect(await services.answerTimed({ request: CALL, leftMs: 1_000 })).toBe(JSON.stringify(UNAVAILABLE));
});

test("services cancel running requests when the call ends, and wait for them", async () => {
  let hasEnded = false;
  const services = open(
    (_call, { signal }) =>
      new Promise((settle) => {
        signal.addEventListener("abort", () => {
          hasEnded = true;
          settle({ error: { code: "cancelled", message: "", effect: "none" } });
        });
      }),
  );
  const answer = services.answer(CALL, 1_000);
  expect(services.effect).toBe("unknown");
  await services.end();
  expect(hasEnded).toBe(true);
  expect(services.effect).toBe("none");
  expect(await answer).toMatchObject({ error: { code: "cancelled" } });
});
