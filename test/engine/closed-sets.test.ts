import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import type { ConfirmationAnswer } from "../../src/engine/call/confirmation.ts";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import type { CallJournal } from "../../src/engine/call/journal.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import {
  type DenialCause,
  deniedText,
  ERROR_CODES,
  type ErrorCode,
  type ToolError,
} from "../../src/engine/errors.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { allow, ask, deny } from "../../src/policy/policy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../src/tool/side-effects.ts";
import { TOOL_FAILURE_CODES, ToolFailure } from "../../src/tool/tool-failure.ts";
import { contextFor, dispatchTool, hostTool } from "./helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
const server = createServer((_request, response) => {
  response.writeHead(500).end(JSON.stringify({ error: "connection refused" }));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
afterAll(async () => {
  await sandboxes.close();
  server.closeAllConnections();
  server.close();
});

/** One way in which a call fails. */
interface Row {
  readonly tool: Tool;
  readonly more?: Partial<DispatchContext>;
  readonly input?: unknown;
}

const base = { name: "tool", description: "", inputSchema: { type: "object" } } as const;
const quickjs = (source: string): Tool => ({ ...base, quickjs: { source } });
const grant = (...given: Parameters<typeof allow>) => ({ policy: { check: () => allow(...given) } });
const fails = (thrown: unknown): Tool =>
  hostTool(() => {
    throw thrown;
  });
const aborted = AbortSignal.abort();
const throws = (): never => {
  throw new Error("out of order");
};
const brokenJournal: CallJournal = { begin: throws, end: throws, deny: throws };
/** A policy that asks, and the answer of the person. */
const asking = (answer: ConfirmationAnswer): Partial<DispatchContext> => ({
  policy: { check: () => ask("sure?", { grant: { sandbox: "host" } }) },
  confirm: async () => answer,
});

/** How calls fail: code, text, effect, and whether users may see the text. */
const TABLE: readonly [how: string, row: Row, error: Omit<ToolError, "limit">][] = [
  [
    "arguments that are no JSON",
    { tool: hostTool(() => 1), input: '{"a":t}' },
    error("validation_error", "Invalid JSON: unexpected token at position 6", "none", true),
  ],
  [
    "arguments against the schema",
    { tool: hostTool(() => 1, { inputSchema: { required: ["path"] } }) },
    error("validation_error", "Invalid arguments: must have required property 'path'", "none", true),
  ],
  [
    "a definition that was not approved",
    {
      tool: hostTool(() => 1),
      more: {
        registry: new ToolRegistry({ pins: { isApproved: () => false } }).register(hostTool(() => 1)),
      },
    },
    error(
      "permission_denied",
      "Permission denied: the definition of tool 'tool' is not the one that was approved",
      "none",
      true,
    ),
  ],
  [
    "a denial",
    { tool: hostTool(() => 1), more: { policy: { check: () => deny("rule 7") } } },
    error("permission_denied", "Permission denied: tool 'tool' is disabled by policy", "none", true),
  ],
  [
    "a question that nobody can be asked",
    { tool: hostTool(() => 1), more: { policy: { check: () => ask("sure?") } } },
    error(
      "permission_denied",
      "Permission denied: tool 'tool' requires confirmation, and no approver is available",
      "none",
      true,
    ),
  ],
  [
    "a question that a person answers with no",
    { tool: hostTool(() => 1), more: asking({ decision: "deny", by: "ada" }) },
    error("user_denied", "User denied this operation.", "none", true),
  ],
  [
    "a question that is not answered",
    { tool: hostTool(() => 1), more: asking({ decision: "timeout", afterMs: 300_000 }) },
    error("confirmation_timeout", "Nobody confirmed this operation within 5min", "none", true),
  ],
  [
    "a record that cannot be written",
    { tool: hostTool(() => 1), more: { journal: brokenJournal } },
    error("sandbox_unavailable", "Tool 'tool' was not run: its record could not be written", "none", true),
  ],
  [
    "a hook that refuses",
    { tool: hostTool(() => 1), more: { hooks: { onToolCall: () => ({ deny: "not today" }) } } },
    error("permission_denied", "Permission denied: tool 'tool' was refused by a hook", "none", true),
  ],
  [
    "a hook that throws",
    { tool: hostTool(() => 1), more: { hooks: { onToolStart: throws } } },
    error("permission_denied", "Permission denied: a hook could not decide on tool 'tool'", "none", true),
  ],
  [
    "a policy that throws",
    { tool: hostTool(() => 1), more: { policy: { check: throws } } },
    error("permission_denied", "Permission denied: the policy could not decide on tool 'tool'", "none", true),
  ],
  [
    "a secret in the arguments, where the context denies it",
    {
      tool: hostTool(() => 1),
      more: { redaction: new Redaction({ onSecretArgument: "deny" }) },
      input: { password: "hunter2" },
    },
    error("permission_denied", "Permission denied: the arguments of tool 'tool' hold a secret", "none", true),
  ],
  [
    "an invalid principal",
    { tool: hostTool(() => 1), more: { principal: {} as never } },
    error(
      "permission_denied",
      "Permission denied: the caller of tool 'tool' could not be identified",
      "none",
      true,
    ),
  ],
  [
    "a path that leads out of the workspace",
    {
      tool: hostTool(() => 1, { paths: [{ argument: "/path", access: "read" }] }),
      more: { workspace: process.cwd() },
      input: { path: "../../etc/passwd" },
    },
    error("permission_denied", "Path escapes workspace boundary", "none", true),
  ],
  [
    "a path where the workspace is gone",
    {
      tool: hostTool(() => 1, { paths: [{ argument: "/path", access: "read" }] }),
      more: { workspace: "/nowhere/at/all" },
      input: { path: "a.txt" },
    },
    error(
      "permission_denied",
      "Permission denied: the workspace for tool 'tool' cannot be opened",
      "none",
      true,
    ),
  ],
  [
    "a host function that is too slow",
    {
      tool: hostTool(() => new Promise(() => {})),
      more: grant({ sandbox: "host", limits: { wallTimeMs: 20 } }),
    },
    error("timeout", "Tool exceeded 20ms wall time limit", "unknown", true),
  ],
  [
    "a guest that is too slow",
    {
      tool: quickjs("export default () => { for (;;); }"),
      more: grant({ sandbox: "quickjs", limits: { wallTimeMs: 200 } }),
    },
    error("timeout", "Tool exceeded 200ms wall time limit", "none", true),
  ],
  [
    "a context that is cancelled",
    { tool: hostTool(() => 1), more: { signal: aborted } },
    error("cancelled", "Tool call was cancelled", "none", true),
  ],
  [
    "an error",
    { tool: fails(new Error("no such record")) },
    error("execution_error", "no such record", "unknown", false),
  ],
  [
    "nothing, thrown",
    { tool: fails(undefined) },
    error("execution_error", "Tool failed without a message", "unknown", false),
  ],
  [
    "a guest's error",
    {
      tool: quickjs("export default () => { throw new Error('oops') }"),
      more: grant({ sandbox: "quickjs" }),
    },
    error("execution_error", "oops", "none", false),
  ],
  [
    "an endpoint's error",
    { tool: { ...base, remote: { url } }, more: grant({ sandbox: "remote" }) },
    error("execution_error", "HTTP 500: connection refused", "unknown", false),
  ],
  [
    "an output that is no JSON",
    { tool: hostTool(() => ({ big: 1n })) },
    error(
      "execution_error",
      "Tool returned a BigInt at /big, which is not JSON-serialisable",
      "committed",
      true,
    ),
  ],
  [
    "a failure that the tool reports",
    { tool: hostTool(() => ({ content: [{ type: "text", text: "no rows" }], success: false })) },
    error("execution_error", "no rows", "committed", true),
  ],
  ...TOOL_FAILURE_CODES.map((code): (typeof TABLE)[number] => [
    `a ToolFailure with the code ${code}`,
    { tool: fails(new ToolFailure(code, "in its own words")) },
    error(code, "in its own words", "unknown", true),
  ]),
  [
    "a sandbox for which the tool has no implementation",
    { tool: hostTool(() => 1), more: grant({ sandbox: "wasm" }) },
    error(
      "sandbox_unavailable",
      "Tool 'tool' cannot run now: its 'wasm' sandbox is not available",
      "none",
      true,
    ),
  ],
  [
    "more output than the limit",
    { tool: hostTool(() => "x".repeat(100)), more: grant({ sandbox: "host", limits: { outputBytes: 10 } }) },
    error("limit_exceeded", "Tool exceeded 10 B output limit", "committed", true),
  ],
  [
    "a limit that cannot be enforced",
    { tool: hostTool(() => 1), more: grant({ sandbox: "host", limits: { memoryBytes: 10 } }) },
    error(
      "limit_unenforceable",
      "Tool 'tool' was not run: its memory limit cannot be enforced in the 'host' sandbox",
      "none",
      true,
    ),
  ],
];

function error(code: ErrorCode, message: string, effect: ToolError["effect"], userVisible: boolean) {
  return { code, message, effect, userVisible };
}

describe("A failed call has its code, text and effect, and says who may see the text:", () => {
  test.each(TABLE)("%s", async (_how, { tool, more = {}, input }, expected) => {
    const execution = await dispatchTool(await contextFor([tool], { sandboxes, ...more }), input);
    const { limit: _, ...found } = execution.error as ToolError;
    expect(found).toEqual(expected);
  });

  test("an unknown tool", async () => {
    const call = { id: "1", name: "b", arguments: {} };
    const ctx = await contextFor([hostTool(() => 1)], { sandboxes });
    const execution = await new ToolDispatchEngine().dispatch(call, ctx);
    expect(execution?.error).toEqual(
      error("not_found", "Tool 'b' not found. Available: [tool]", "none", true),
    );
  });

  test("a call whose message was cut off", async () => {
    const calls = [{ id: "1", name: "tool", arguments: {}, cutOff: true as const }];
    const ctx = await contextFor([hostTool(() => 1)], { sandboxes });
    const [execution] = await new ToolDispatchEngine().dispatchTurn({ calls }, ctx);
    expect(execution?.error).toEqual(
      error("cancelled", "Tool call was not run: its message was cut off", "none", true),
    );
  });

  test("an error that the context redacts", async () => {
    const ctx = await contextFor([fails(new Error("password is hunter2"))], {
      sandboxes,
      unhandledErrors: "redacted",
    });
    const { error: redacted } = await dispatchTool(ctx);
    const message = expect.stringMatching(/^Tool failed \(reference [0-9a-f]{6}\)$/);
    expect(redacted).toEqual(error("execution_error", message, "unknown", true));
  });

  test("the table has every code", () => {
    const covered = new Set<string>(["not_found", ...TABLE.map(([, , { code }]) => code)]);
    expect(ERROR_CODES.filter((code) => !covered.has(code))).toEqual([]);
  });

  test("the table has every cause of a denial", () => {
    // A record, so that the compiler reports a cause that is missing.
    const texts: Record<DenialCause, true> = {
      policy: true,
      "policy-failed": true,
      hook: true,
      "hook-failed": true,
      "no-approver": true,
      principal: true,
      secret: true,
      caller: true,
      workspace: true,
      definition: true,
    };
    // Only a tool that calls others meets this one: test/engine/rules-of-callers.test.ts.
    const elsewhere = deniedText("tool", "caller");
    const covered = new Set([elsewhere, ...TABLE.map(([, , { message }]) => message)]);
    const causes = Object.keys(texts) as DenialCause[];
    expect(causes.filter((cause) => !covered.has(deniedText("tool", cause)))).toEqual([]);
  });
});

describe("A limit that no sandbox enforces yet", () => {
  test.each([
    ["cpuMs", "CPU time"],
    ["processes", "processes"],
    ["processMemoryBytes", "process memory"],
  ])("is refused, not ignored: %s", async (limit, words) => {
    const tools: Record<string, Tool> = {
      host: hostTool(() => 1),
      quickjs: quickjs("export default () => 1"),
    };
    for (const [sandbox, tool] of Object.entries(tools)) {
      const more = grant({ sandbox: sandbox as "host", limits: { [limit]: 5 } });
      const { error: refused } = await dispatchTool(await contextFor([tool], { sandboxes, ...more }));
      expect(refused).toMatchObject({
        code: "limit_unenforceable",
        message: `Tool 'tool' was not run: its ${words} limit cannot be enforced in the '${sandbox}' sandbox`,
      });
    }
  });
});

/** What a class means for the calls of its tools, if nothing else is said. */
interface ClassDefaults {
  readonly timeoutMs: number;
  /** Whether `dispatchAll` runs neighbouring calls at the same time. */
  readonly concurrent: boolean;
  /** Whether a call waits until its record is durable. */
  readonly waitsForRecord: boolean;
  /** Whether a person is asked though the policy does not say so. */
  readonly asks: boolean;
}

describe("Each class of side effects", () => {
  const DEFAULTS: Record<SideEffects, ClassDefaults> = {
    none: { timeoutMs: 60_000, concurrent: true, waitsForRecord: false, asks: false },
    read: { timeoutMs: 60_000, concurrent: true, waitsForRecord: false, asks: false },
    write: { timeoutMs: 60_000, concurrent: false, waitsForRecord: true, asks: false },
    execute: { timeoutMs: 600_000, concurrent: false, waitsForRecord: true, asks: false },
    network: { timeoutMs: 600_000, concurrent: false, waitsForRecord: true, asks: false },
    destructive: { timeoutMs: 600_000, concurrent: false, waitsForRecord: true, asks: false },
  };

  test.each(SIDE_EFFECTS)("has its defaults: %s", async (sideEffects) => {
    const tool = hostTool(() => 1, { sideEffects });
    const timeouts = { quick: 60_000, slow: 600_000 };
    let asked = false;
    const confirm = async (): Promise<ConfirmationAnswer> => {
      asked = true;
      return { decision: "nobody" };
    };
    const ctx = await contextFor([tool], { sandboxes, timeouts, confirm });
    const { receipt } = await dispatchTool(ctx);
    const lost = Promise.reject(new Error("disk full"));
    const journal: CallJournal = { begin: () => lost, end: () => {}, deny: () => {} };
    const unrecorded = await dispatchTool({ ...ctx, journal });
    expect({
      timeoutMs: receipt.enforced.wallTimeMs,
      concurrent: await runsTwoAtOnce(sideEffects),
      waitsForRecord: unrecorded.error?.code === "sandbox_unavailable",
      asks: asked,
    }).toEqual(DEFAULTS[sideEffects]);
  });

  /** Whether `dispatchAll` starts a second call of a tool before the first one ends. */
  async function runsTwoAtOnce(sideEffects: SideEffects): Promise<boolean> {
    let running = 0;
    let most = 0;
    const tool = hostTool(
      async () => {
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
        return 1;
      },
      { sideEffects },
    );
    const ctx = await contextFor([tool], { sandboxes });
    const calls = ["1", "2"].map((id) => ({ id, name: "tool", arguments: {} }));
    await new ToolDispatchEngine().dispatchAll(calls, ctx);
    return most === 2;
  }
});
