import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalText } from "../../src/json/canonical.ts";
import type { JsonValue } from "../../src/json/value.ts";
import {
  BodyError,
  readDispatchRequest,
  readExecution,
  readProblem,
  readResultOf,
  readTools,
  writeDispatchRequest,
} from "../../src/remote-protocol/bodies.ts";
import { PROBLEMS, remoteProblem } from "../../src/remote-protocol/problems.ts";

const REQUEST = {
  call: { id: "c1", name: "echo", arguments: { a: 1 } },
  session: "s",
  grant: { limits: { wallTimeMs: 5_000 }, capabilities: { clock: true, tools: ["read_*"] } },
  timeoutMs: 6_000,
};
const EXECUTION = {
  callId: "c1",
  toolName: "echo",
  arguments: { a: 1 },
  success: true,
  output: { a: 1 },
  durationMs: 1.5,
  sandbox: "host",
  receipt: { enforced: { wallTimeMs: 5_000 }, used: { wallTimeMs: 1, attempts: 2 } },
};
const FAILURE = { code: "timeout", message: "Tool exceeded 5s wall time limit", effect: "unknown" };

test("a body with a repeated member name is refused, in requests and in responses", () => {
  const twice = (body: object): string => JSON.stringify(body).replace("{", '{"session":1,"success":1,');
  expect(() => readDispatchRequest(twice(REQUEST))).toThrow(/a member name that the object already has/);
  expect(() => readExecution(twice(EXECUTION))).toThrow(/a member name that the object already has/);
  const nested = JSON.stringify(EXECUTION).replace('"output":{"a":1}', '"output":{"a":1,"a":2}');
  expect(() => readExecution(nested)).toThrow(/a member name that the object already has/);
});

describe("dispatch requests", () => {
  test("a dispatch request is read as it was written", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ maxLength: 50 }), fc.jsonValue(), (id, session, value) => {
        const args = JSON.parse(JSON.stringify(value)) as JsonValue;
        fc.pre(JSON.stringify([id, session, value]).isWellFormed());
        fc.pre(!JSON.stringify(value).includes("__proto__") && !/\d{16}|e/.test(JSON.stringify(value)));
        const { limits, capabilities } = REQUEST.grant;
        const text = writeDispatchRequest(
          { id, name: "echo", argumentsText: canonicalText(args) },
          session,
          { limits, capabilities },
          6_000,
        );
        expect(readDispatchRequest(text)).toEqual({
          call: { id, name: "echo", arguments: args },
          session,
          grant: { limits, capabilities },
          timeoutMs: 6_000,
        });
      }),
      { numRuns: 200 },
    );
  });

  test.each<[string, unknown, RegExp]>([
    ["an unknown member", { ...REQUEST, user: "me" }, /^\/ has an unknown member$/],
    ["an unknown member of the call", { ...REQUEST, call: { ...REQUEST.call, x: 1 } }, /^\/call has/],
    ["no session", { ...REQUEST, session: undefined }, /must have required property 'session'/],
    [
      "an id that is not a string",
      { ...REQUEST, call: { ...REQUEST.call, id: 1 } },
      /^\/call\/id must be string/,
    ],
    ["an unknown limit", withLimits({ moonMs: 1 }), /^\/grant\/limits has an unknown member/],
    ["a limit of zero", withLimits({ wallTimeMs: 0 }), /^\/grant\/limits\/wallTimeMs must be >= 1/],
    ["a limit that is too long", withLimits({ wallTimeMs: 2 ** 40 }), /^\/grant: limit 'wallTimeMs'/],
    ["an unknown capability", withCapabilities({ root: true }), /^\/grant\/capabilities/],
    ["an invalid capability", withCapabilities({ clock: "yes" }), /^\/grant: capability 'clock'/],
    ["a timeout that is not an integer", { ...REQUEST, timeoutMs: 1.5 }, /^\/timeoutMs must be integer/],
    ["a list instead of an object", [REQUEST], /^\/ must be object/],
  ])("a dispatch request is refused with %s", (_, body, message) => {
    expect(() => readDispatchRequest(JSON.stringify(body))).toThrow(BodyError);
    expect(() => readDispatchRequest(JSON.stringify(body))).toThrow(message);
  });

  test("a dispatch request is refused if it is not valid JSON, or contains __proto__", () => {
    expect(() => readDispatchRequest('{"call":')).toThrow(/invalid JSON: .* at position 8/);
    const hidden = JSON.stringify(REQUEST).replace('{"a":1}', '{"__proto__":{}}');
    expect(() => readDispatchRequest(hidden)).toThrow(/refused: .*__proto__/);
  });
});

function withLimits(limits: unknown): unknown {
  return { ...REQUEST, grant: { ...REQUEST.grant, limits } };
}

function withCapabilities(capabilities: unknown): unknown {
  return { ...REQUEST, grant: { ...REQUEST.grant, capabilities } };
}

describe("responses", () => {
  test("an execution is read deeply frozen", () => {
    const execution = readExecution(JSON.stringify(EXECUTION));
    expect(execution).toEqual(EXECUTION);
    expect(Object.isFrozen(execution.output)).toBe(true);
    const failed = { ...EXECUTION, success: false, output: null, error: FAILURE };
    expect(readExecution(JSON.stringify(failed)).error).toMatchObject(FAILURE);
  });

  test.each<[string, unknown]>([
    ["succeeds and has an error", { ...EXECUTION, error: FAILURE }],
    ["fails without an error", { ...EXECUTION, success: false }],
    ["has no receipt", { ...EXECUTION, receipt: undefined }],
    ["has an unknown sandbox", { ...EXECUTION, sandbox: "root" }],
    ["has an unknown effect", { ...EXECUTION, success: false, error: { ...FAILURE, effect: "maybe" } }],
    ["has an unknown member", { ...EXECUTION, note: "" }],
    [
      "has an unknown enforced limit",
      { ...EXECUTION, receipt: { ...EXECUTION.receipt, enforced: { x: 1 } } },
    ],
  ])("an execution is refused if it %s", (_, body) => {
    expect(() => readExecution(JSON.stringify(body))).toThrow(BodyError);
  });

  test("an execution with a number that a double cannot hold is refused, and half a surrogate pair replaced", () => {
    const written = JSON.stringify({ ...EXECUTION, output: 7.25 });
    const withOutput = (text: string): string => written.replace('"output":7.25', `"output":${text}`);
    expect(() => readExecution(withOutput("9007199254740993"))).toThrow(/a double cannot hold exactly/);
    expect(readExecution(withOutput('"\\ud800"')).output).toBe("\ufffd");
  });

  test("an execution is refused if it is not valid JSON, or nested too deeply", () => {
    expect(() => readExecution("<html>")).toThrow("invalid JSON");
    const deep = JSON.stringify(EXECUTION).replace(
      '"output":{"a":1}',
      `"output":${"[".repeat(300)}${"]".repeat(300)}`,
    );
    expect(() => readExecution(deep)).toThrow(/nested deeper/);
  });

  test("the execution of a known call is read with its members in any order", () => {
    const call = { id: "c1", name: "echo", argumentsText: '{"a":1}' };
    const { callId, toolName, arguments: args, ...result } = EXECUTION;
    const usual = JSON.stringify(EXECUTION);
    expect(readResultOf(call, usual)).toEqual(result);
    expect(Object.isFrozen(readResultOf(call, usual)?.output)).toBe(true);
    const turned = JSON.stringify({ ...result, arguments: args, toolName, callId });
    expect(readResultOf(call, turned)).toMatchObject(result);
    expect(readResultOf(call, usual.replace(/,/g, " ,\n"))).toMatchObject(result);
  });

  test.each<[string, object]>([
    ["id", { callId: "c2" }],
    ["name", { toolName: "delete" }],
    ["arguments", { arguments: { a: 2 } }],
    ["arguments, which start the same", { arguments: { a: 1, b: 2 } }],
  ])("the execution of a known call is not accepted with other %s", (_, change) => {
    const call = { id: "c1", name: "echo", argumentsText: '{"a":1}' };
    expect(readResultOf(call, JSON.stringify({ ...EXECUTION, ...change }))).toBeUndefined();
  });

  test.each([
    ["repeats the call id", ',"success":true', ',"callId":"c2","success":true'],
    ["repeats the arguments", ',"success":true', ',"arguments":{"a":2},"success":true'],
    ["has an unknown member", ',"success":true', ',"note":"","success":true'],
    ["ends early", /,"success".*/s, ",}"],
    ["contradicts itself", ',"success":true', ',"success":false'],
  ])("the execution of a known call is refused if it %s", (_, part, instead) => {
    const call = { id: "c1", name: "echo", argumentsText: '{"a":1}' };
    const text = JSON.stringify(EXECUTION).replace(part, instead);
    expect(() => readResultOf(call, text)).toThrow(BodyError);
  });

  test("a list of tools is read as it was written, and refused if it is incomplete", () => {
    const tools = { tools: [{ name: "echo", description: "", inputSchema: { type: "object" } }] };
    expect(readTools(JSON.stringify(tools))).toEqual(tools);
    expect(() => readTools('{"tools":[{"name":"echo"}]}')).toThrow(BodyError);
  });
});

describe("problems", () => {
  test("a problem is read as it was written", () => {
    const problem = remoteProblem("overloaded", "retry later", 1);
    expect(readProblem(problem.text)).toEqual({
      error: { code: "overloaded", message: "retry later", effect: "none" },
    });
    expect(problem.headers).toMatchObject({ "retry-after": "1" });
  });

  test("each code of a problem has a different status", () => {
    const statuses = Object.values(PROBLEMS).map(({ status }) => status);
    expect(new Set(statuses).size).toBe(statuses.length);
  });

  test("a problem allows a retry only if the request cannot have had an effect", () => {
    const unsafe = Object.values(PROBLEMS).filter(({ retry, effect }) => retry && effect !== "none");
    expect(unsafe).toEqual([]);
  });
});
