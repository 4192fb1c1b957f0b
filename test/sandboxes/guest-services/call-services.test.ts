import { expect, test } from "vitest";
import type { CallTool, SandboxTask } from "../../../src/sandboxes/contract/task.ts";
import { CallServices } from "../../../src/sandboxes/guest-services/call-services.ts";
import type { ServiceRequest } from "../../../src/sandboxes/guest-services/service-request.ts";

const UNAVAILABLE = { error: { code: "unavailable", message: "the service is not available" } };

/** The services of a call that may call two other tools, and is granted nothing else. */
function open(callTool?: CallTool): CallServices {
  const task = { capabilities: {}, sessionId: "session", callTool } as unknown as SandboxTask;
  const openEgress = (): Promise<never> => Promise.reject(new Error("nothing may be sent"));
  const rules = { maxBodyBytes: 1_000, trustsSafeMethods: true };
  return new CallServices(task, { openEgress }, { nestedCalls: 2, netBytes: 1_000 }, rules);
}

const CALL: ServiceRequest = { kind: "call-tool", name: "tool", input: "{}" };

test("services deny everything that a call was not granted", async () => {
  const services = open();
  const url = "http://api.test/";
  const answers = await Promise.all([
    services.answer(CALL, 1_000),
    services.answer({ kind: "get", store: "notes", key: "a" }, 1_000),
    services.answer(
      {
        kind: "http",
        method: "GET",
        url,
        headers: [],
        body: undefined,
        encoding: "utf8",
        followRedirects: false,
      },
      1_000,
    ),
  ]);
  expect(answers).toEqual([
    { error: expect.objectContaining({ code: "permission_denied" }) },
    { error: expect.objectContaining({ code: "permission_denied" }) },
    { error: "origin_denied" },
  ]);
  expect(services).toMatchObject({ effect: "none", used: {} });
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
