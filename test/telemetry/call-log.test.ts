import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { ask } from "../../src/policy/policy.ts";
import { logCalls } from "../../src/telemetry/call-log.ts";
import { Log } from "../../src/telemetry/log.ts";
import { entriesOf } from "../cli/sandgate.ts";
import { contextFor, hostTool } from "../engine/helpers.ts";

/** Dispatches a call of a tool, and returns the entries of its log. */
async function logOf(
  tool: Tool,
  more: Partial<DispatchContext> = {},
  input: object = {},
): Promise<Record<string, unknown>[]> {
  const stream = new PassThrough();
  const events = new EventStream();
  events.on(logCalls(new Log({ stream, format: "json" })));
  const ctx = await contextFor([tool], { events, ...more });
  await new ToolDispatchEngine().dispatch({ id: "c1", name: "tool", arguments: input as never }, ctx);
  return entriesOf(await text(stream.end()));
}

const tool = hostTool(() => 1);

describe("The log of a call has", () => {
  test("the reason of a hook that denies it", async () => {
    const hooks = { onToolCall: () => ({ deny: "maintenance until noon" }) };
    expect(await logOf(tool, { hooks })).toMatchObject([
      { level: "warn", event: "tool.failed", code: "permission_denied", detail: "maintenance until noon" },
    ]);
  });

  test("that a hook aborted it", async () => {
    const hooks = { onToolCall: () => "abort" as const };
    expect(await logOf(tool, { hooks })).toMatchObject([
      { level: "warn", event: "tool.aborted", call: "c1" },
    ]);
  });

  test("why a policy could not decide", async () => {
    const check = (): never => {
      throw new Error("the rules are gone");
    };
    const [failed] = (await logOf(tool, { policy: { check } })).slice(-1);
    expect(failed).toMatchObject({ detail: expect.stringMatching(/^Error: the rules are gone\n {4}at /) });
  });

  test("the question that nobody could be asked", async () => {
    const policy = { check: () => ask("Deploy to production?", { rules: ["production"] }) };
    expect(await logOf(tool, { policy })).toMatchObject([
      { level: "info", event: "tool.decided", decision: "ask", reason: "Deploy to production?" },
      { level: "warn", event: "tool.failed", detail: "Deploy to production?", rules: ["production"] },
    ]);
  });

  test("who confirmed it", async () => {
    const policy = { check: () => ask("sure?", { grant: { sandbox: "host" } }) };
    const confirm = async () => ({ decision: "allow", by: "ada" }) as const;
    const entries = await logOf(tool, { policy, confirm });
    expect(entries).toContainEqual(expect.objectContaining({ event: "tool.decided", confirmedBy: "ada" }));
    expect(entries.at(-1)).toMatchObject({ level: "info", event: "tool.completed" });
  });

  test("that its record could not be written, or its end could not", async () => {
    const full = (): never => {
      throw new Error("no space left on device");
    };
    const refused = await logOf(tool, { journal: { begin: full, end: full, deny: full } });
    expect(refused.at(-1)).toMatchObject({
      level: "error",
      code: "sandbox_unavailable",
      detail: expect.stringContaining("no space left on device"),
    });
    const unfinished = await logOf(tool, { journal: { begin: () => undefined, end: full, deny: full } });
    expect(unfinished.at(-1)).toMatchObject({ level: "error", event: "tool.completed", recorded: false });
  });
});
