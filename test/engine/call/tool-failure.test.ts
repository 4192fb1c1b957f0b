import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { buildToolResultMessages } from "../../../src/engine/call/messages.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { SIDE_EFFECTS } from "../../../src/tool/side-effects.ts";
import { ToolFailure, type ToolFailureCode } from "../../../src/tool/tool-failure.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const CODES = ["execution_error", "permission_denied", "validation_error", "timeout", "cancelled"] as const;

function throwing(thrown: unknown, more: Partial<Tool> = {}): Tool {
  return hostTool(() => {
    throw thrown;
  }, more);
}

async function run(tool: Tool, more: Partial<DispatchContext> = {}) {
  const { events, seen } = recordEvents();
  const ctx = await contextFor([tool], { sandboxes, events, ...more });
  const execution = await dispatchTool(ctx);
  const [, { results }] = buildToolResultMessages([{ id: "call", name: "tool", arguments: {} }], [execution]);
  return { execution, failed: seen.at(-1), shown: JSON.stringify(results) };
}

describe("A ToolFailure", () => {
  test.each(
    CODES,
  )("with the code %s fails the call with it, and the model reads its message", async (code) => {
    const { execution } = await run(throwing(new ToolFailure(code, "no such record")));
    expect(execution.error).toEqual({
      code,
      message: "no such record",
      effect: "unknown",
      userVisible: true,
    });
  });

  test("with any other code is an execution error", async () => {
    const { execution } = await run(throwing(new ToolFailure("not_found" as ToolFailureCode, "gone")));
    expect(execution.error).toMatchObject({ code: "execution_error", message: "gone" });
  });

  test("of a host tool can claim that nothing happened, hide from users and carry metadata and a cause", async () => {
    const failure = new ToolFailure("permission_denied", "not yours", {
      userVisible: false,
      effect: "none",
      metadata: { owner: "ada" },
      cause: new Error("row 7 belongs to ada"),
    });
    const { execution, failed, shown } = await run(throwing(failure));
    expect(execution).toMatchObject({
      error: { code: "permission_denied", message: "not yours", effect: "none", userVisible: false },
      metadata: { owner: "ada" },
    });
    expect(Object.isFrozen(execution.metadata)).toBe(true);
    expect(failed).toMatchObject({ type: "tool.failed", detail: expect.stringContaining("not yours") });
    expect(shown).not.toContain("ada");
  });

  test("of a module in a worker thread arrives whole", async () => {
    const module = new URL("../../fixtures/worker/tool-failure.ts", import.meta.url);
    const tool = { name: "tool", description: "", inputSchema: {}, host: { module } };
    const { execution } = await run(tool);
    expect(execution).toMatchObject({
      error: { code: "validation_error", message: "no such column", effect: "none", userVisible: true },
      metadata: { column: "x" },
    });
    expect(Object.isFrozen(execution.metadata)).toBe(true);
  });

  test("is recognised if another copy of the package made it", async () => {
    const copy = Object.assign(new Error("elsewhere"), {
      code: "timeout",
      userVisible: true,
      [Symbol.for("sandgate.ToolFailure")]: true,
    });
    expect((await run(throwing(copy))).execution.error).toMatchObject({
      code: "timeout",
      message: "elsewhere",
    });
  });

  test("with metadata that is no JSON still fails the call", async () => {
    const failure = new ToolFailure("timeout", "late", { metadata: { big: 1n } as unknown as JsonObject });
    expect((await run(throwing(failure))).execution.error).toMatchObject({ message: "late" });
  });
});

describe("An object with a code that a QuickJS tool throws", () => {
  const quickjs = (thrown: string): Tool => ({
    name: "tool",
    description: "",
    inputSchema: {},
    quickjs: { source: `export default () => { throw ${thrown} }` },
  });
  const policy = { check: () => allow({ sandbox: "quickjs" }) };

  test.each(CODES)("fails the call with the code %s", async (code) => {
    const { execution } = await run(quickjs(`{ code: "${code}", message: "said", effect: "none" }`), {
      policy,
    });
    expect(execution.error).toMatchObject({ code, message: "said", userVisible: true });
  });

  test("is an execution error with any other code, or none", async () => {
    for (const thrown of [
      '{ code: "not_found", message: "m" }',
      'Object.assign(new Error("m"), { code: 7 })',
    ]) {
      const { execution } = await run(quickjs(thrown), { policy });
      expect(execution.error).toMatchObject({ code: "execution_error", message: "m", userVisible: false });
    }
  });

  test("has no say in the effect, which the sandbox knows", async () => {
    const claiming = quickjs('{ code: "timeout", message: "m", effect: "committed" }');
    expect((await run(claiming, { policy })).execution.error?.effect).toBe("none");
  });
});

describe("unhandledErrors", () => {
  const secret = throwing(new Error("password is hunter2"));

  test("message: the model reads what was thrown", async () => {
    const { execution } = await run(secret, { unhandledErrors: "message" });
    expect(execution.error).toMatchObject({ message: "password is hunter2", userVisible: false });
  });

  test("is redacted by default", async () => {
    const { unhandledErrors: _, ...ctx } = await contextFor([secret], { sandboxes });
    const execution = await dispatchTool(ctx);
    expect(execution.error?.message).toMatch(/^Tool failed \(reference [0-9a-f]{6}\)$/);
  });

  test("redacted: the code of a system error stays, with a text that names no file", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port: closedPort } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const failed = [
      () => readFileSync("/no/such/hunter2"),
      () => fetch(`http://127.0.0.1:${closedPort}/hunter2`),
      () =>
        Promise.reject(
          new AggregateError([], "hunter2", { cause: Object.assign(new Error(), { code: "EACCES" }) }),
        ),
      () => Promise.reject(Object.assign(new Error("hunter2"), { code: "hunter2" })),
    ].map(async (host) => {
      const { execution } = await run(hostTool(host as never), { unhandledErrors: "redacted" });
      return execution.error?.message.replace(/ \(reference [0-9a-f]{6}\)$/, "");
    });
    expect(await Promise.all(failed)).toEqual([
      "Tool failed: ENOENT, no such file or directory",
      "Tool failed: ECONNREFUSED, connection refused",
      "Tool failed: EACCES, permission denied",
      "Tool failed",
    ]);
  });

  test("redacted: the word is in no execution and no text; the operator finds it by the reference", async () => {
    const { execution, failed, shown } = await run(secret, { unhandledErrors: "redacted" });
    expect(JSON.stringify(execution)).not.toContain("hunter2");
    expect(shown).not.toContain("hunter2");
    const [, reference] =
      /^Tool failed \(reference ([0-9a-f]{6})\)$/.exec(execution.error?.message ?? "") ?? [];
    expect(failed).toMatchObject({ type: "tool.failed", reference, level: "error" });
    const { detail = "" } = failed as { detail?: string };
    expect(detail).toContain("password is hunter2");
    expect(detail).toContain("tool-failure.test.ts");
  });

  test("redacted holds for modules in worker threads", async () => {
    const module = new URL("../../fixtures/worker/tool-failure.ts", import.meta.url);
    const tool: Tool = {
      name: "tool",
      description: "",
      inputSchema: {},
      host: { module, export: "throwError" },
    };
    const { execution, failed } = await run(tool, { unhandledErrors: "redacted" });
    expect(execution.error?.message).toMatch(/^Tool failed \(reference/);
    expect(failed).toMatchObject({ detail: expect.stringContaining("no such record") });
  });

  test("a tool's own setting replaces that of the context", async () => {
    const open = await run(throwing(new Error("m"), { unhandledErrors: "message" }), {
      unhandledErrors: "redacted",
    });
    const closed = await run(throwing(new Error("m"), { unhandledErrors: "redacted" }));
    expect(open.execution.error?.message).toBe("m");
    expect(closed.execution.error?.message).toMatch(/^Tool failed/);
  });

  test("redacted lets a ToolFailure, a guest's error and a reported failure pass", async () => {
    const redacted = { unhandledErrors: "redacted" } as const;
    const report = { content: [{ type: "text", text: "reported" }], success: false };
    const guest: Tool = {
      name: "tool",
      description: "",
      inputSchema: {},
      quickjs: { source: "export default () => { throw new Error('guest') }" },
    };
    const messages = [
      await run(throwing(new ToolFailure(undefined, "meant")), redacted),
      await run(
        hostTool(() => report),
        redacted,
      ),
      await run(guest, { ...redacted, policy: { check: () => allow({ sandbox: "quickjs" }) } }),
    ].map(({ execution }) => execution.error?.message);
    expect(messages).toEqual(["meant", "reported", "guest"]);
  });
});

describe("The event of a call with invalid arguments", () => {
  const inputSchema = {
    type: "object",
    properties: { path: { type: "string" }, count: { type: "integer" } },
    required: ["path", "mode"],
  };

  test.each(SIDE_EFFECTS)("has every problem, for a tool of the class %s", async (sideEffects) => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => 1, { inputSchema, sideEffects });
    const ctx = await contextFor([tool], { events });
    const execution = await dispatchTool(ctx, { path: 1, count: "x" });
    expect(execution.error).toMatchObject({ code: "validation_error", userVisible: true });
    expect(seen).toMatchObject([
      {
        type: "tool.failed",
        problems: [
          { path: "", message: "must have required property 'mode'" },
          { path: "/path", message: "must be string" },
          { path: "/count", message: "must be integer" },
        ],
      },
    ]);
  });

  test("has more problems than the model reads", async () => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => 1, { inputSchema: { additionalProperties: { type: "string" } } });
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`m${index}`, index]));
    const execution = await dispatchTool(await contextFor([tool], { events }), many);
    expect(execution.error?.message).toContain("; and 20 more");
    expect((seen[0] as { problems?: unknown[] }).problems).toHaveLength(30);
  });

  test("has the problems that the tool's own validation found, with their paths", async () => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => 1, { validate: () => ["/to must be later than /from", "is too much"] });
    await dispatchTool(await contextFor([tool], { events }));
    expect(seen[0]).toMatchObject({
      problems: [
        { path: "/to", message: "must be later than /from" },
        { path: "", message: "is too much" },
      ],
    });
  });

  test("has what is wrong with arguments that are no JSON, or that the tool refuses", async () => {
    const { events, seen } = recordEvents();
    const tool = throwing(new ToolFailure("validation_error", "no such column"));
    const ctx = await contextFor([tool], { events });
    await dispatchTool(ctx, "{");
    await dispatchTool(ctx);
    const failed = seen.filter(({ type }) => type === "tool.failed");
    expect(failed).toMatchObject([
      { problems: [{ path: "", message: "Invalid JSON: unexpected end at position 1" }] },
      { problems: [{ path: "", message: "no such column" }] },
    ]);
  });
});
