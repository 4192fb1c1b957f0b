import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ERROR_CODES, type ErrorCode, type ToolError } from "../../src/engine/failure/errors.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { allow, ask, deny } from "../../src/policy/decision.ts";
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
    error("execution_error", "Tool returned a value that is not JSON-serialisable", "committed", true),
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

  test("the table has every code that the engine itself can give", () => {
    // Nobody is asked yet, so only an executor gives these two.
    const elsewhere: ErrorCode[] = ["user_denied", "confirmation_timeout"];
    const covered = new Set<string>(["not_found", ...elsewhere, ...TABLE.map(([, , { code }]) => code)]);
    expect(ERROR_CODES.filter((code) => !covered.has(code))).toEqual([]);
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

describe("Each class of side effects", () => {
  const DEFAULTS: Record<SideEffects, number> = {
    none: 60_000,
    read: 60_000,
    write: 60_000,
    execute: 600_000,
    network: 600_000,
    destructive: 600_000,
  };

  test.each(SIDE_EFFECTS)("has its default time-out: %s", async (sideEffects) => {
    const timeouts = { quick: 60_000, slow: 600_000 };
    const ctx = await contextFor([hostTool(() => 1, { sideEffects })], { sandboxes, timeouts });
    expect((await dispatchTool(ctx)).receipt.enforced.wallTimeMs).toBe(DEFAULTS[sideEffects]);
  });

  test("is described in README.md, in the order from the mildest to the worst", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const [, table = ""] = readme.split("| class | the tool |\n");
    const rows = (table.split("\n\n")[0] ?? "").split("\n").slice(1);
    expect(rows.map((row) => /^\| `(\w+)` \|/.exec(row)?.[1])).toEqual(SIDE_EFFECTS);
  });
});
