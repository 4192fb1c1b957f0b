import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { RulePolicy } from "../../src/policy/rule/rule-policy.ts";
import { registerPrograms } from "../../src/programs/program-tools.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { startExecutor } from "../executor/harness.ts";
import { unavailable } from "../sandboxes/process/availability.ts";

/** Values that JSON cannot hold, as JavaScript, and what the model reads of them. */
const LOST: readonly (readonly [code: string, what: string])[] = [
  ["new Map([['a', 1]])", "a Map"],
  ["new Set([1])", "a Set"],
  ["new WeakMap()", "a WeakMap"],
  ["new Error('quota exceeded')", "an Error"],
  ["Object.assign(new TypeError('quota'), { code: 7 })", "an Error"],
  ["/x/", "a RegExp"],
  ["Promise.resolve(1)", "a Promise"],
  ["NaN", "NaN"],
  ["1 / 0", "Infinity"],
  ["-1 / 0", "-Infinity"],
  ["10n", "a BigInt"],
  ["Symbol('x')", "a symbol"],
  ["() => 1", "a function"],
  ["new Date(NaN)", "an invalid Date"],
  ["new Uint8Array([137, 80])", "bytes (a Uint8Array)"],
  ["new Float64Array(1)", "bytes (a Float64Array)"],
  ["new ArrayBuffer(2)", "bytes (an ArrayBuffer)"],
  ["new DataView(new ArrayBuffer(2))", "bytes (a DataView)"],
  ["new URLSearchParams('a=1')", "a URLSearchParams"],
];

/** Where a value stands in a result. */
const PLACES: readonly (readonly [wrap: (code: string) => string, at: string])[] = [
  [(code) => `(${code})`, ""],
  [(code) => `({ a: [1, ${code}] })`, " at /a/1"],
  [(code) => `({ "x/y": { "~": ${code} } })`, " at /x~1y/~0"],
];

/** Values that JSON holds, and what becomes of them. */
const HELD: readonly (readonly [code: string, output: unknown])[] = [
  ["undefined", null],
  ["[1, undefined]", [1, null]],
  ["({ a: undefined, b: -0 })", { b: 0 }],
  ["new Date(0)", "1970-01-01T00:00:00.000Z"],
  ["Object.assign(new Map(), { toJSON: () => ({ written: true }) })", { written: true }],
  ["new (class Page { title = 'Home'; show() {} })()", { title: "Home" }],
  ["Object.create(null)", {}],
  ["[[], {}, new Boolean(true), new Number(1), new String('x')]", [[], {}, true, 1, "x"]],
];

let sandboxes: Awaited<ReturnType<typeof openSandboxes>>;
beforeAll(async () => {
  sandboxes = await openSandboxes();
});
const folder = mkdtempSync(join(tmpdir(), "lost-values-"));
afterAll(async () => {
  await sandboxes.close();
  rmSync(folder, { recursive: true });
});

/** Returns what a tool gives whose code returns a value, by the way that it takes to the model. */
const ROUTES: Readonly<Record<string, (code: string) => Promise<{ output?: unknown; message?: string }>>> = {
  "a host function": (code) => run({ host: new Function(`return ${code}`) as () => never }),
  "a module in a thread": (code) => {
    const path = join(folder, `${createHash("sha256").update(code).digest("hex")}.mjs`);
    writeFileSync(path, `export default () => (${code});`);
    return run({ host: { module: path } });
  },
  ...(!unavailable && {
    "the function result of a program": (code: string) => {
      const result = new Function(`return ${code}`) as () => never;
      return run({ process: { command: "true", input: "none", output: "completion", result } });
    },
  }),
  "a JavaScript tool": (code) => run({ quickjs: { source: `export default () => (${code})` } }),
  "a JavaScript tool that waits": (code) =>
    run({ quickjs: { source: `export default async () => (${code})` } }),
  "a host function on an executor": (code) =>
    runOnExecutor({ host: new Function(`return ${code}`) as () => never }),
  "a JavaScript tool on an executor": (code) =>
    runOnExecutor({ quickjs: { source: `export default () => (${code})` } }),
  "a program": (code) => run({}, `return ${code};`),
  "the input of a nested call": async (code) => {
    const { output, message } = await run({}, `return await tools.echo({ value: ${code} });`);
    const value = (output as { value?: unknown } | undefined)?.value ?? null;
    return message === undefined ? { output: value } : { message };
  },
};

/** Runs a tool of an executor of its own, which is closed when the test finishes. */
async function runOnExecutor(implementation: object): Promise<{ output?: unknown; message?: string }> {
  const tool = { name: "tool", description: "", inputSchema: { type: "object" }, ...implementation };
  const rule = { tools: ["tool"], effect: "allow", sandboxes: ["host", "quickjs"] } as const;
  const policy = new RulePolicy({ rules: [rule] });
  const { address } = await startExecutor([tool as never], { policy, sandboxes });
  return run({ remote: { executor: `http://${address}` } });
}

async function run(
  implementation: object,
  program?: string,
): Promise<{ output?: unknown; message?: string }> {
  const registry = new ToolRegistry();
  const inputSchema = { type: "object" };
  const common = { description: "", inputSchema, sideEffects: "none" } as const;
  registry.register({ ...common, name: "echo", host: (input: unknown) => input as never });
  if (program === undefined) registry.register({ ...common, name: "tool", ...implementation } as never);
  else registerPrograms(registry);
  const programs = {
    tools: ["run_program"],
    effect: "allow",
    sandboxes: ["quickjs"],
    capabilities: { tools: ["echo"] },
  } as const;
  const others = {
    tools: ["echo", "tool"],
    effect: "allow",
    sandboxes: ["host", "quickjs", "process", "remote"],
  } as const;
  const ctx = {
    registry,
    policy: new RulePolicy({ rules: program === undefined ? [others] : [programs, others] }),
    sandboxes,
    sessionId: "test",
  };
  const call = {
    id: "1",
    name: program === undefined ? "tool" : "run_program",
    arguments: program === undefined ? {} : { code: program },
  };
  const execution = await new ToolDispatchEngine().dispatch(call, ctx);
  return execution?.success ? { output: execution.output } : { message: execution?.error?.message ?? "none" };
}

describe.each(Object.entries(ROUTES))("%s", (route, returned) => {
  // Programs await the promises in their results, and describe errors: see test/programs/run.
  const isLost = ([, what]: (typeof LOST)[number]): boolean =>
    route !== "a program" || !["an Error", "a Promise"].includes(what);

  test.each(LOST.filter(isLost))("that has %s fails, and its place is named", async (code, what) => {
    for (const [wrap, at] of PLACES) {
      // A promise is awaited, and a function that a program returns is called.
      if (at === "" && /^(?:Promise|\(\) =>)/.test(code)) continue;
      const place = route === "the input of a nested call" ? ` at /value${at.slice(" at ".length)}` : at;
      const { message } = await returned(wrap(code));
      expect(message).toContain(`${what}${place}, which is not JSON-serialisable`);
      expect(message?.includes("base64")).toBe(what.startsWith("bytes"));
    }
  });

  test("that holds itself fails", async () => {
    const circle = "(() => { const a = { b: {} }; a.b.c = a; return a; })()";
    const before = route === "the input of a nested call" ? "/value" : "";
    expect((await returned(circle)).message).toContain(`a circular reference at ${before}/b/c, which`);
  });

  test.each(HELD)("that has %s is written as JSON writes it", async (code, output) => {
    expect(await returned(code)).toEqual({ output });
  });
});

test("JSON of an endpoint may begin with a byte order mark", async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('\ufeff{"a":1}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registry = new ToolRegistry().register({
    name: "get",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "read",
    remote: { http: { method: "GET", url: `${origin}/` } },
  });
  const rule = {
    tools: ["*"],
    effect: "allow",
    sandboxes: ["remote"],
    capabilities: { net: [{ origin, addresses: ["127.0.0.1/32"] }] },
  } as const;
  const ctx = { registry, policy: new RulePolicy({ rules: [rule] }), sandboxes, sessionId: "test" };
  const execution = await new ToolDispatchEngine().dispatch({ id: "1", name: "get", arguments: {} }, ctx);
  server.close();
  expect(execution?.output).toEqual({ a: 1 });
});
