import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import type { CallTrace, CallTracer } from "../../src/engine/call/events.ts";
import { deny } from "../../src/policy/policy.ts";
import { Redaction, type RedactionOptions } from "../../src/redaction/redaction.ts";
import { call, tool as sessionTool, testSessions } from "../sessions/harness.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const SECRET = "hunter2";

function boom(): never {
  throw new Error(`about ${SECRET}`);
}

/** A redaction of an embedder, whose methods all do the same. */
class OddRedaction extends Redaction {
  readonly #does: () => unknown;

  constructor(does: () => unknown, options?: RedactionOptions) {
    super(options);
    this.#does = does;
  }

  override text(): string {
    return this.#does() as string;
  }

  override json<Value>(): Value {
    return this.#does() as Value;
  }

  override narrow(): never {
    return this.#does() as never;
  }

  override finds(): boolean {
    return this.#does() as boolean;
  }
}

const ODD = [
  ["throws", boom],
  ["returns nothing", () => undefined],
  ["returns what is not JSON", () => ({ shown: () => SECRET })],
  ["returns another kind of value", () => 7],
] as const;

const rejections: unknown[] = [];
const keep = (reason: unknown): unknown => rejections.push(reason);
beforeEach(() => {
  rejections.length = 0;
  process.on("unhandledRejection", keep);
});
afterEach(() => {
  process.off("unhandledRejection", keep);
});

/** Rejections are reported after the microtasks. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each(ODD)("with a redaction that %s", (_text, does) => {
  const ends = (seen: readonly { type: string }[]): number =>
    seen.filter(({ type }) => type === "tool.completed" || type === "tool.failed").length;

  test.each([
    ["a tool that returns a secret", () => ({ note: SECRET })],
    ["a tool that throws one", () => boom()],
  ] as const)("a call of %s has one result, which hides it, and one last event", async (_name, tool) => {
    const { events, seen } = recordEvents();
    const redaction = new OddRedaction(does, { results: true });
    const ctx = await contextFor([hostTool(tool)], { events, redaction, partialOutput: redaction });
    const execution = await dispatchTool(ctx, { note: SECRET });
    expect(JSON.stringify([execution.output, execution.error])).not.toContain(SECRET);
    expect(Object.isFrozen(execution)).toBe(true);
    expect(ends(seen)).toBe(1);
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  });

  test("a denied call, and one whose arguments might hold a secret, has one result", async () => {
    const { events, seen } = recordEvents();
    const denied = { policy: { check: () => deny(SECRET) }, redaction: new OddRedaction(does) };
    const first = await dispatchTool(await contextFor([hostTool(() => 1)], { events, ...denied }));
    expect(first.error).toMatchObject({ code: "permission_denied", effect: "none" });
    let ran = false;
    const tool = hostTool(() => {
      ran = true;
    });
    const redaction = new OddRedaction(does, { onSecretArgument: "deny" });
    const second = await dispatchTool(await contextFor([tool], { events, redaction }), { note: SECRET });
    expect([second.success, ran]).toEqual([false, false]);
    expect(ends(seen)).toBe(2);
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  });

  test("a session's call has one result, and nobody is asked about what cannot be read", async () => {
    const redaction = new OddRedaction(does, { results: true });
    const confirmations = { default: { read: "auto", write: "prompt" } } as const;
    const reads = sessionTool("look", "read", () => ({ note: SECRET }));
    const writes = sessionTool("change", "write", () => ({ note: SECRET }));
    const { sessions, events } = await testSessions([reads, writes], { redaction, confirmations });
    const session = await sessions.open({ id: "s" });
    const turn = session.turn();
    const read = await turn.dispatch(call("1", "look", { note: SECRET }));
    const written = await turn.dispatch(call("2", "change", { note: SECRET }));
    expect(JSON.stringify(read?.output)).not.toContain(SECRET);
    expect(written?.error?.effect).toBe("none");
    expect(ends(events)).toBe(2);
    expect(JSON.stringify(events)).not.toContain(SECRET);
  });
});

test("what a redaction of an embedder's own returns is shown", async () => {
  class OwnRedaction extends Redaction {
    override text(text: string): string {
      return text.replaceAll("Ada", "[name]");
    }

    override json<Value>(value: Value): Value {
      return JSON.parse(JSON.stringify(value).replaceAll("Ada", "[name]")) as Value;
    }
  }
  const redaction = new OwnRedaction({ results: true });
  const ctx = await contextFor([hostTool(() => ({ by: "Ada" }))], { redaction });
  const execution = await dispatchTool(ctx);
  expect(execution.output).toEqual({ by: "[name]" });
  expect(Object.isFrozen(execution.output)).toBe(true);
});

test("a redaction without its methods is refused", async () => {
  const redaction = { text: String } as unknown as Redaction;
  const ctx = await contextFor([hostTool(() => 1)], { redaction });
  await expect(async () => dispatchTool(ctx)).rejects.toThrow("redaction of the context must be a Redaction");
});

test("a stream of events that throws does not affect the call", async () => {
  const events = { listening: true, emit: boom } as unknown as NonNullable<DispatchContext["events"]>;
  const execution = await dispatchTool(await contextFor([hostTool(() => 1)], { events }));
  expect(execution.output).toBe(1);
});

test("a journal may return promises where none is awaited, and reject them", async () => {
  const later = (): Promise<never> => Promise.reject(new Error("the disk is full"));
  const journal = { begin: async () => {}, end: later, deny: later };
  const ran = await dispatchTool(await contextFor([hostTool(() => 1)], { journal }));
  const policy = { check: () => deny("no") };
  const denied = await dispatchTool(await contextFor([hostTool(() => 1)], { journal, policy }));
  await settled();
  expect([ran.success, denied.success, rejections]).toEqual([true, false, []]);
});

const later = (): Promise<never> => Promise.reject(new Error("no trace"));
const thrown = { decided: boom, ended: boom, headers: boom, run: boom };
const ODD_TRACES: readonly (readonly [string, unknown])[] = [
  ["throws", thrown],
  ["throws after its work", { ...thrown, run: (work: () => unknown) => [work(), boom()] }],
  ["runs its work twice", { ...thrown, run: (work: () => unknown) => [work(), work()] }],
  ["never runs its work", { decided: later, ended: later, headers: later, run: later }],
  ["has no methods", {}],
  ["is not an object", 7],
  ["is null", null],
];

test.each(ODD_TRACES)("a call whose trace %s runs once, and has its result", async (_text, trace) => {
  const tracer: CallTracer = { begin: () => trace as CallTrace, continue: boom };
  let runs = 0;
  const tool = hostTool(async () => {
    await settled();
    return ++runs;
  });
  const execution = await dispatchTool(await contextFor([tool], { tracer }));
  await settled();
  expect([execution.output, runs, rejections]).toEqual([1, 1, []]);
});
