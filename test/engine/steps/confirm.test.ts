import { afterAll, describe, expect, test } from "vitest";
import type {
  Confirm,
  ConfirmationAnswer,
  ConfirmationRequest,
} from "../../../src/engine/call/confirmation.ts";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { toToolResult } from "../../../src/engine/call/messages.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow, ask, deny, type PolicyDecision, type PolicyRequest } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { recordEvents } from "../helpers.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

const engine = new ToolDispatchEngine();
const HOST = { sandbox: "host" } as const;

/** A setting whose tool `send` counts its runs, and whose policy asks about every call. */
class Setting {
  readonly ran: JsonObject[] = [];
  readonly asked: ConfirmationRequest[] = [];
  readonly requests: PolicyRequest[] = [];
  readonly registry = new ToolRegistry();
  output = "sent";
  decide: (request: PolicyRequest) => PolicyDecision = () => ask("Send it?", { grant: HOST });

  constructor() {
    this.register("Sends a mail.");
  }

  register(description: string): void {
    this.registry.register(
      {
        name: "send",
        description,
        sideEffects: "network",
        inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
        host: (input: JsonObject) => {
          this.ran.push(input);
          return this.output;
        },
      },
      { replace: true },
    );
  }

  async send(confirm: Confirm | undefined, more: Partial<DispatchContext> = {}): Promise<ToolExecution> {
    const ctx: DispatchContext = {
      registry: this.registry,
      sandboxes,
      sessionId: "s1",
      turnId: "t1",
      messageId: "m1",
      policy: {
        check: (request) => {
          this.requests.push(request);
          return this.decide(request);
        },
      },
      ...(confirm && {
        confirm: (request, signal) => {
          this.asked.push(request);
          return confirm(request, signal);
        },
      }),
      ...more,
    };
    const execution = await engine.dispatch({ id: "c1", name: "send", arguments: { to: "ann" } }, ctx);
    if (execution === null) throw new Error("the call was aborted");
    return execution;
  }
}

const answering =
  (answer: ConfirmationAnswer): Confirm =>
  async () =>
    answer;
const yes = answering({ decision: "allow", by: "eve" });

describe("a call that the policy asks about", () => {
  test("runs after a person allowed it, and its execution names them", async () => {
    const setting = new Setting();
    const execution = await setting.send(yes);
    expect(execution).toMatchObject({ success: true, output: "sent" });
    const [request] = setting.asked;
    expect(request).toMatchObject({
      callId: "c1",
      sessionId: "s1",
      turnId: "t1",
      messageId: "m1",
      question: "Send it?",
      input: { to: "ann" },
      grant: HOST,
      tool: { name: "send", sideEffects: "network" },
    });
    expect(execution.confirmation).toEqual({ by: "eve", digest: request?.digest });
    expect(Object.isFrozen(request)).toBe(true);
  });

  test("does not run if a person denies it", async () => {
    const setting = new Setting();
    const { error } = await setting.send(answering({ decision: "deny", by: "eve" }));
    expect(error).toMatchObject({
      code: "user_denied",
      effect: "none",
      message: "User denied this operation.",
    });
    expect(setting.ran).toEqual([]);
  });

  test("has the model read at most 1,000 characters of a reason, and nothing that is no text", async () => {
    for (const [reason, read] of [
      ["Not this file.", ' Their reason: "Not this file."'],
      ["x".repeat(5_000), ` Their reason: "${"x".repeat(1_000)}"`],
      ["", ""],
      [{ toString: () => "text" }, ""],
    ]) {
      const { error } = await new Setting().send(answering({ decision: "deny", by: "eve", reason } as never));
      expect(error?.message).toBe(`User denied this operation.${read}`);
    }
  });

  test.each([
    [300_000, "within 5min"],
    [90_000, "within 90s"],
    [1_000, "within 1s"],
    [0, "within 0ms"],
    // A program without types may leave it out.
    [undefined, "in time"],
    [Number.NaN, "in time"],
  ])("says after %s ms that nobody confirmed it %s", async (afterMs, text) => {
    const setting = new Setting();
    const { error } = await setting.send(answering({ decision: "timeout", afterMs: afterMs as number }));
    expect(error).toMatchObject({ code: "confirmation_timeout", effect: "none" });
    expect(error?.message).toBe(`Nobody confirmed this operation ${text}`);
    expect(setting.ran).toEqual([]);
  });

  test.each<[string, Confirm | undefined]>([
    ["there is no confirm", undefined],
    ["nobody can be asked", answering({ decision: "nobody" })],
    ["confirm throws", () => Promise.reject(new Error("the terminal is gone"))],
    [
      "confirm throws synchronously",
      () => {
        throw new Error("the terminal is gone");
      },
    ],
    ["the answer is not one", answering("yes" as never)],
    ["the answer does not say who gave it", answering({ decision: "allow" } as never)],
  ])("fails closed if %s", async (_case, confirm) => {
    const setting = new Setting();
    const { error } = await setting.send(confirm);
    expect(error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect(error?.message).toMatch(/requires confirmation, and no approver is available/);
    expect(setting.ran).toEqual([]);
  });

  test("is denied without asking if the policy grants nothing", async () => {
    const setting = new Setting();
    setting.decide = () => ask("Send it?");
    expect((await setting.send(yes)).error?.code).toBe("permission_denied");
    expect(setting.asked).toEqual([]);
  });

  test("is not asked about if it could not run", async () => {
    const setting = new Setting();
    setting.decide = () => ask("Send it?", { grant: { sandbox: "quickjs" } });
    expect((await setting.send(yes)).error?.code).toBe("sandbox_unavailable");
    setting.decide = () => ask("Send it?", { grant: { ...HOST, limits: { memoryBytes: 1 } } });
    expect((await setting.send(yes)).error?.code).toBe("limit_unenforceable");
    expect(setting.asked).toEqual([]);
  });

  test("ends as cancelled while a person thinks", async () => {
    const setting = new Setting();
    const cancel = new AbortController();
    const confirm: Confirm = () => {
      setImmediate(() => cancel.abort());
      return new Promise(() => {});
    };
    const { error } = await setting.send(confirm, { signal: cancel.signal });
    expect(error).toMatchObject({ code: "cancelled", effect: "none" });
    expect(setting.ran).toEqual([]);
  });

  test("is not held to the time that hooks and policies have", async () => {
    const setting = new Setting();
    const confirm: Confirm = () =>
      new Promise((resolve) => setTimeout(resolve, 30, { decision: "allow", by: "eve" }));
    expect((await setting.send(confirm, { decisionTimeoutMs: 1 })).success).toBe(true);
  });

  test("has a digest that names session, turn, message, arguments, definition and grant", async () => {
    const digests = new Set<string | undefined>();
    const digestWith = async (more: Partial<DispatchContext>, change?: (setting: Setting) => void) => {
      const setting = new Setting();
      change?.(setting);
      await setting.send(yes, more);
      digests.add(setting.asked[0]?.digest);
    };
    await digestWith({});
    await digestWith({});
    expect(digests.size).toBe(1);
    await digestWith({ sessionId: "s2" });
    await digestWith({ turnId: "t2" });
    await digestWith({ messageId: "m2" });
    await digestWith({}, (setting) => setting.register("Sends a letter."));
    await digestWith({}, (setting) => {
      setting.decide = () => ask("?", { grant: { ...HOST, limits: { wallTimeMs: 1_000 } } });
    });
    expect(digests.size).toBe(6);
  });
});

describe("after an answer, the policy decides once more", () => {
  test("and learns who confirmed the call", async () => {
    const setting = new Setting();
    await setting.send(yes);
    expect(setting.requests.map(({ confirmedBy }) => confirmedBy)).toEqual([undefined, "eve"]);
  });

  test("and may still deny it", async () => {
    const setting = new Setting();
    setting.decide = ({ confirmedBy }) =>
      confirmedBy === undefined ? ask("Send it?", { grant: HOST }) : deny("not by eve");
    expect((await setting.send(yes)).error?.code).toBe("permission_denied");
    expect(setting.ran).toEqual([]);
  });

  test("and a narrower grant is used without a question", async () => {
    const setting = new Setting();
    setting.decide = ({ confirmedBy }) =>
      confirmedBy === undefined
        ? ask("Send it?", { grant: HOST })
        : allow({ ...HOST, limits: { wallTimeMs: 1_000 } });
    expect((await setting.send(yes)).receipt.enforced).toEqual({ wallTimeMs: 1_000 });
    expect(setting.asked).toHaveLength(1);
  });

  test("and a wider grant is shown first, once", async () => {
    const setting = new Setting();
    let wallTimeMs = 1_000;
    setting.decide = () => ask("Send it?", { grant: { ...HOST, limits: { wallTimeMs } } });
    const widening =
      (times: number): Confirm =>
      async () => {
        if (times-- > 0) wallTimeMs *= 2;
        return { decision: "allow", by: "eve" };
      };
    expect((await setting.send(widening(1))).receipt.enforced).toEqual({ wallTimeMs: 2_000 });
    expect(setting.asked.map(({ grant }) => grant.limits.wallTimeMs)).toEqual([1_000, 2_000]);
    expect(new Set(setting.asked.map(({ digest }) => digest)).size).toBe(2);
    const { error } = await setting.send(widening(2));
    expect(error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect(setting.ran).toHaveLength(1);
  });

  test("and another definition of the tool is shown first", async () => {
    const setting = new Setting();
    const { success } = await setting.send(async () => {
      setting.register("Sends a mail to all.");
      return { decision: "allow", by: "eve" };
    });
    expect(success).toBe(true);
    expect(setting.asked).toHaveLength(2);
    expect(setting.requests.map(({ confirmedBy }) => confirmedBy)).toEqual([undefined, undefined, "eve"]);
  });

  test("and a tool that was unregistered does not run", async () => {
    const setting = new Setting();
    const { error } = await setting.send(async () => {
      setting.registry.unregister("send");
      return { decision: "allow", by: "eve" };
    });
    expect(error?.code).toBe("not_found");
    expect(setting.ran).toEqual([]);
  });
});

describe("arguments that a person changed", () => {
  const edited = (args: JsonObject): Confirm => answering({ decision: "allow", by: "eve", arguments: args });

  test("are the ones that run, and the model reads them first", async () => {
    const setting = new Setting();
    const execution = await setting.send(edited({ to: "bob" }));
    expect(setting.ran).toEqual([{ to: "bob" }]);
    expect(execution.arguments).toEqual({ to: "bob" });
    const { digest, editedDigest } = execution.confirmation ?? {};
    expect(digest).toBe(setting.asked[0]?.digest);
    expect(editedDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(editedDigest).not.toBe(digest);
    expect(toToolResult(execution).content).toEqual([
      { type: "text", text: '[A person changed the arguments to {"to":"bob"}]' },
      { type: "text", text: "sent" },
    ]);
  });

  test("are told whole, however long the result is that they share the model's attention with", async () => {
    const setting = new Setting();
    setting.output = "x".repeat(100_000);
    const execution = await setting.send(edited({ to: "bob" }), { resultBudget: { chars: 200 } });
    const { content, truncated } = toToolResult(execution);
    const [told, result] = content.map((block) => (block.type === "text" ? block.text : ""));
    expect(told).toBe('[A person changed the arguments to {"to":"bob"}]');
    expect(result).toContain("characters left out");
    expect(truncated).toEqual({ from: 100_048, to: `${told}${result}`.length });
    expect(truncated?.to).toBeLessThanOrEqual(200);
  });

  test("take at most half of what the model reads", async () => {
    const setting = new Setting();
    setting.output = "x".repeat(1_000);
    const execution = await setting.send(edited({ to: "b".repeat(1_000) }), { resultBudget: { chars: 400 } });
    const lengths = toToolResult(execution).content.map(
      (block) => block.type === "text" && block.text.length,
    );
    expect(lengths).toEqual([expect.closeTo(200, -1), expect.closeTo(200, -1)]);
  });

  test("are dropped if the tool was replaced meanwhile, and the person is shown the new one", async () => {
    const setting = new Setting();
    let asked = 0;
    const execution = await setting.send(async () => {
      if (++asked > 1) return { decision: "allow", by: "eve" };
      setting.register("Sends a mail to all.");
      return { decision: "allow", by: "eve", arguments: { to: "bob" } };
    });
    expect(execution.success).toBe(true);
    expect(setting.asked.map(({ input }) => input)).toEqual([{ to: "ann" }, { to: "ann" }]);
    expect(setting.ran).toEqual([{ to: "ann" }]);
  });

  test("are validated like any others", async () => {
    const setting = new Setting();
    expect((await setting.send(edited({ to: 7 }))).error?.code).toBe("validation_error");
    expect((await setting.send(edited({ to: (() => {}) as never }))).error?.code).toBe("validation_error");
    expect(setting.ran).toEqual([]);
  });

  test("are decided on by the policy, whose grant for them holds", async () => {
    const setting = new Setting();
    setting.decide = ({ input }) => {
      const { to } = input as { to: string };
      return to === "root"
        ? deny("never")
        : ask("?", { grant: to === "ann" ? HOST : { sandbox: "quickjs" } });
    };
    expect((await setting.send(edited({ to: "root" }))).error?.code).toBe("permission_denied");
    expect((await setting.send(edited({ to: "bob" }))).error?.code).toBe("sandbox_unavailable");
    expect(setting.ran).toEqual([]);
  });
});

describe("an answer of foreign code", () => {
  const throwing = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
    },
  );

  test("is read once, whatever it says the next time", async () => {
    const setting = new Setting();
    const reads = { decision: 0, by: 0, arguments: 0, to: 0 };
    const answer = {
      get decision() {
        return ++reads.decision === 1 ? "allow" : "deny";
      },
      get by() {
        return ++reads.by === 1 ? "eve" : { toString: "mallory" };
      },
      get arguments() {
        reads.arguments++;
        return {
          get to() {
            return ++reads.to === 1 ? "bob" : "root";
          },
        };
      },
    };
    const execution = await setting.send(answering(answer as never));
    expect(execution.confirmation?.by).toBe("eve");
    expect(setting.ran).toEqual([{ to: "bob" }]);
    expect(reads).toEqual({ decision: 1, by: 1, arguments: 1, to: 1 });
  });

  test.each<[string, unknown, string]>([
    ["throws whatever is read", throwing, "permission_denied"],
    ["is a time-out without a time", { decision: "timeout", afterMs: throwing }, "confirmation_timeout"],
    ["is a time-out after a big integer", { decision: "timeout", afterMs: 5n }, "confirmation_timeout"],
    ["is denied by what has no text", { decision: "deny", by: throwing }, "user_denied"],
    ["is the word for a cancelled call", "aborted", "permission_denied"],
    ["has arguments that throw", { decision: "allow", by: "eve", arguments: throwing }, "validation_error"],
  ])("fails closed if it %s", async (_case, answer, code) => {
    const setting = new Setting();
    const { error } = await setting.send(answering(answer as never));
    expect(error).toMatchObject({ code, effect: "none" });
    expect(setting.ran).toEqual([]);
  });

  test("fails closed if it is a promise whose then throws", async () => {
    const setting = new Setting();
    const promise = Promise.resolve({ decision: "allow", by: "eve" } as const);
    // biome-ignore lint/suspicious/noThenProperty: a promise that is hostile
    Object.defineProperty(promise, "then", {
      get: () => {
        throw new Error("no");
      },
    });
    const { error } = await setting.send(() => promise);
    expect(error?.code).toBe("permission_denied");
    expect(setting.ran).toEqual([]);
  });
});

describe("a nested call that the policy asks about", () => {
  const source = "export default async (input, { tools }) => { return await tools.call('send', input); }";
  const outer = (name: string, quickjs: string) => ({
    name,
    description: "",
    inputSchema: { type: "object" },
    quickjs: { source: quickjs },
  });
  const decide = ({ tool }: PolicyRequest): PolicyDecision =>
    tool.name === "send"
      ? ask("Send it?", { grant: HOST })
      : allow({ sandbox: "quickjs", limits: { wallTimeMs: 400 }, capabilities: { tools: ["*"] } });

  const dispatchOuter = async (
    setting: Setting,
    confirm: Confirm,
    name = "outer",
  ): Promise<ToolExecution> => {
    setting.registry.register(outer("outer", source));
    setting.registry.register(outer("outermost", source.replace("'send'", "'outer'")));
    const ctx = {
      registry: setting.registry,
      sandboxes,
      sessionId: "s1",
      policy: { check: decide },
      confirm,
    };
    return (await engine.dispatch({ id: "c1", name, arguments: { to: "ann" } }, ctx)) as ToolExecution;
  };

  test.each([
    "outer",
    "outermost",
  ])("stops the wall time of its callers while a person thinks: %s", async (name) => {
    const setting = new Setting();
    const slow: Confirm = () =>
      new Promise((resolve) => setTimeout(resolve, 900, { decision: "allow", by: "eve" }));
    const execution = await dispatchOuter(setting, slow, name);
    expect(execution).toMatchObject({ success: true, output: "sent" });
    // Of all the time since the dispatch, the person's is not in the wall time.
    expect(execution.durationMs - execution.receipt.used.wallTimeMs).toBeGreaterThan(800);
    expect(setting.ran).toEqual([{ to: "ann" }]);
  });

  test("ends as cancelled with its caller", async () => {
    const setting = new Setting();
    const cancel = new AbortController();
    const { events } = recordEvents();
    setting.registry.register(outer("outer", source));
    let isAborted: Promise<unknown> | undefined;
    const ctx: DispatchContext = {
      registry: setting.registry,
      sandboxes,
      sessionId: "s1",
      policy: { check: decide },
      events,
      signal: cancel.signal,
      confirm: (_request, signal) => {
        isAborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
        setImmediate(() => cancel.abort());
        return new Promise(() => {});
      },
    };
    const execution = await engine.dispatch({ id: "c1", name: "outer", arguments: { to: "ann" } }, ctx);
    expect(execution?.error?.code).toBe("cancelled");
    await isAborted;
    expect(setting.ran).toEqual([]);
  });
});

test("tool.decided has the decision, its rules and the policy's revision, before the call starts", async () => {
  const setting = new Setting();
  const { events } = recordEvents();
  const seen: unknown[] = [];
  events.on((event) => seen.push(event));
  setting.decide = () => ask("Send it?", { grant: HOST, rules: ["mails"] });
  const policy = { revision: "r7", check: setting.decide };
  await setting.send(yes, { events, policy: policy as never });
  expect(seen).toMatchObject([
    { type: "tool.decided", decision: "ask", rules: ["mails"], reason: "Send it?", policyRevision: "r7" },
    { type: "tool.decided", decision: "ask", confirmedBy: "eve" },
    { type: "tool.started" },
    { type: "tool.completed" },
  ]);
});
