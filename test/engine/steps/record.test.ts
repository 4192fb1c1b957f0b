import { afterAll, describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { EventStream } from "../../../src/engine/call/events.ts";
import type {
  CallJournal,
  DeniedRecord,
  DispatchedRecord,
  EndedRecord,
} from "../../../src/engine/call/journal.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { allow, ask, deny, type PolicyDecision } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../../src/tool/side-effects.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

const engine = new ToolDispatchEngine();

/** What happened, in order: records, and runs of the tool. */
type Entry =
  | { readonly begin: DispatchedRecord }
  | { readonly end: EndedRecord }
  | { readonly deny: DeniedRecord }
  | "ran";

class Log implements CallJournal {
  readonly entries: Entry[] = [];
  failure: "throws" | "rejects" | "end" | undefined;
  written: Promise<void> | undefined;

  begin(begin: DispatchedRecord): Promise<void> | undefined {
    if (this.failure === "throws") throw new Error("no space left on /var/journal");
    if (this.failure === "rejects") return Promise.reject(new Error("no space left on /var/journal"));
    this.entries.push({ begin });
    return this.written;
  }

  end(end: EndedRecord): void {
    if (this.failure === "end") throw new Error("closed");
    this.entries.push({ end });
  }

  deny(denied: DeniedRecord): void {
    if (this.failure !== undefined) throw new Error("closed");
    this.entries.push({ deny: denied });
  }
}

interface Setting {
  readonly sideEffects?: SideEffects;
  readonly decision?: PolicyDecision;
  readonly more?: Partial<DispatchContext>;
  readonly name?: string;
  readonly input?: unknown;
}

async function dispatch(
  log: Log,
  {
    sideEffects = "write",
    decision = allow({ sandbox: "host" }, { rules: ["r"] }),
    more,
    ...call
  }: Setting = {},
) {
  const registry = new ToolRegistry().register({
    name: "tool",
    description: "",
    inputSchema: { type: "object" },
    sideEffects,
    host: () => {
      log.entries.push("ran");
      return { done: true };
    },
  });
  const ctx: DispatchContext = {
    registry,
    sandboxes,
    sessionId: "s",
    turnId: "t",
    journal: log,
    principal: { id: "ann", kind: "user" },
    policy: { check: () => decision, revision: "r7" },
    ...more,
  };
  const { name = "tool", input = { a: 1 } } = call;
  return engine.dispatch({ id: "c", name, arguments: input as never }, ctx);
}

describe("a context with a journal", () => {
  test("records a call before it runs, and how it ended", async () => {
    const log = new Log();
    const execution = await dispatch(log);
    const identity = { callId: "c", sessionId: "s", turnId: "t", toolName: "tool", principal: { id: "ann" } };
    expect(log.entries).toMatchObject([
      {
        begin: {
          ...identity,
          sideEffects: "write",
          decision: "allow",
          rules: ["r"],
          policyRevision: "r7",
          grant: { sandbox: "host" },
          definitionDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
      "ran",
      { end: { ...identity, success: true } },
    ]);
    const [first, , last] = log.entries as [{ begin: DispatchedRecord }, "ran", { end: EndedRecord }];
    expect(first.begin.canonical.text).toBe('{"a":1}');
    expect(last.end.output.text).toBe('{"done":true}');
    expect(last.end.receipt).toEqual(execution?.receipt);
  });

  test("names the revision that decided, even if the policy is replaced before its answer comes", async () => {
    const log = new Log();
    const events = new EventStream();
    const seen: unknown[] = [];
    events.on((event) =>
      seen.push("policyRevision" in event ? [event.type, event.policyRevision] : event.type),
    );
    const policy = {
      revision: "old",
      check: async () => {
        await Promise.resolve();
        policy.revision = "new";
        return allow({ sandbox: "host" });
      },
    };
    await dispatch(log, { more: { policy, events } });
    expect(log.entries[0]).toMatchObject({ begin: { policyRevision: "old" } });
    expect(seen).toEqual([["tool.decided", "old"], ["tool.started", "old"], "tool.completed"]);
  });

  test.each(
    SIDE_EFFECTS,
  )("waits for the record of a call of the class %s unless it changes nothing", async (sideEffects) => {
    const log = new Log();
    const { promise, resolve } = Promise.withResolvers<void>();
    log.written = promise;
    const running = dispatch(log, { sideEffects });
    await new Promise(setImmediate);
    const waits = sideEffects !== "none" && sideEffects !== "read";
    expect(log.entries.includes("ran")).toBe(!waits);
    resolve();
    expect((await running)?.success).toBe(true);
    expect(log.entries).toContain("ran");
  });

  test.each([
    ["throws", "none"],
    ["throws", "destructive"],
    ["rejects", "write"],
  ] as const)("does not run a call if begin %s, for the class %s", async (failure, sideEffects) => {
    const log = new Log();
    log.failure = failure;
    const execution = await dispatch(log, { sideEffects });
    expect(execution?.error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(execution?.error?.message).toBe("Tool 'tool' was not run: its record could not be written");
    expect(log.entries).toEqual([]);
  });

  test("returns the execution if its end cannot be recorded, and the receipt says so", async () => {
    const log = new Log();
    log.failure = "end";
    const execution = await dispatch(log);
    expect(execution).toMatchObject({ success: true, receipt: { recorded: false } });
  });

  test("records the end of a call that was cancelled after its record", async () => {
    const log = new Log();
    const cancel = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    log.written = promise;
    const running = dispatch(log, { more: { signal: cancel.signal } });
    cancel.abort();
    resolve();
    expect((await running)?.error?.code).toBe("cancelled");
    expect(log.entries).toMatchObject([{ begin: {} }, { end: { code: "cancelled", effect: "none" } }]);
  });

  test("ends a call as cancelled whose record is never written", async () => {
    const log = new Log();
    const cancel = new AbortController();
    log.written = new Promise(() => {});
    const running = dispatch(log, { more: { signal: cancel.signal } });
    await new Promise(setImmediate);
    cancel.abort();
    expect((await running)?.error).toMatchObject({ code: "cancelled", effect: "none" });
    expect(log.entries).toMatchObject([{ begin: {} }, { end: { code: "cancelled", effect: "none" } }]);
  });

  test.each([
    "read",
    "write",
  ] as const)("takes any thenable of begin, for the class %s", async (sideEffects) => {
    const log = new Log();
    log.written = {
      // biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise
      then: (resolve: () => void) => void setImmediate(resolve),
    } as never;
    expect((await dispatch(log, { sideEffects }))?.success).toBe(true);
    expect(log.entries).toMatchObject([{ begin: {} }, "ran", { end: { success: true } }]);
  });

  test.each<[string, Setting, Partial<DeniedRecord>]>([
    [
      "denied",
      { decision: deny("rule 7", { rules: ["x"] }) },
      { code: "permission_denied", reason: "rule 7", rules: ["x"], decision: "deny" },
    ],
    [
      "not confirmed",
      { decision: ask("Sure?") },
      { code: "permission_denied", reason: "Sure?", decision: "ask" },
    ],
    ["invalid", { input: "{" }, { code: "validation_error", rules: [] }],
    ["unknown", { name: "other" }, { code: "not_found", toolName: "other" }],
    ["aborted", { more: { hooks: { onToolCall: () => "abort" } } }, { code: "aborted" }],
    ["without a sandbox", { decision: allow({ sandbox: "wasm" }) }, { code: "sandbox_unavailable" }],
  ])("records a call that is %s as one that did not run", async (_case, setting, record) => {
    const log = new Log();
    await dispatch(log, setting);
    expect(log.entries).toMatchObject([{ deny: { callId: "c", sessionId: "s", ...record } }]);
  });

  test("a failure to record a denial changes nothing", async () => {
    const log = new Log();
    log.failure = "end";
    const execution = await dispatch(log, { decision: deny("no") });
    expect(execution?.error?.code).toBe("permission_denied");
    expect(execution?.receipt).not.toHaveProperty("recorded");
  });
});
