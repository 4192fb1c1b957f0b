import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { allow, ask, deny } from "../../../src/policy/policy.ts";
import type { PreflightContext } from "../../../src/tool/tool-traits.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

type Preflight = NonNullable<Tool["preflight"]>;

/** Dispatches a call of a tool with this check. Returns what came of it, and whether the tool ran. */
async function run(preflight: Preflight, more: Partial<DispatchContext> = {}, tools: readonly Tool[] = []) {
  let runs = 0;
  const tool = hostTool(() => ++runs, { preflight });
  const execution = await dispatchTool(await contextFor([tool, ...tools], more), { path: "a" });
  return { execution, runs };
}

/** What the check of a call learns, whose grant gives these tools. */
async function learned<T>(
  ask: (context: PreflightContext) => T,
  tools: readonly Tool[],
  granted: readonly string[],
): Promise<T | undefined> {
  let answer: T | undefined;
  const tool: Tool = {
    name: "tool",
    description: "",
    inputSchema: { type: "object" },
    quickjs: { source: "export default () => 1;" },
    preflight: (_, context) => {
      answer = ask(context);
      return [];
    },
  };
  const policy = { check: () => allow({ sandbox: "quickjs", capabilities: { tools: granted } }) };
  await dispatchTool(await contextFor([tool, ...tools], { policy }));
  return answer;
}

describe("A tool's own check of a call", () => {
  test("knows who calls, and the embedder's own data", async () => {
    const seen: unknown[] = [];
    const principal = { id: "ann", kind: "user" } as const;
    const preflight: Preflight = (_, context) => {
      seen.push(context.principal, context.embedder);
      return [];
    };
    await run(preflight, { principal, embedder: "acme" });
    expect(seen).toEqual([principal, "acme"]);
  });

  test("lets the call run if it finds no problem, at once or later", async () => {
    expect((await run(() => [])).runs).toBe(1);
    expect((await run(async () => [])).runs).toBe(1);
  });

  test("gets the input of the call", async () => {
    const inputs: unknown[] = [];
    await run((input: never) => {
      inputs.push(input);
      return [];
    });
    expect(inputs).toEqual([{ path: "a" }]);
  });

  test("ends the call with its problems, of which the model reads ten, and nothing runs", async () => {
    const problems = Array.from({ length: 12 }, (_, index) => `/path wrong ${index}`);
    const { execution, runs } = await run(async () => problems);
    expect(runs).toBe(0);
    expect(execution.error).toMatchObject({ code: "validation_error", effect: "none" });
    expect(execution.error?.message).toMatch(/^Invalid arguments: \/path wrong 0; .*\/path wrong 9$/);
  });

  test.each<[string, Preflight]>([
    ["throws", () => Promise.reject(new Error("secret detail"))],
    [
      "throws at once",
      () => {
        throw new Error("secret detail");
      },
    ],
    ["returns no list", (() => "fine") as never],
    ["returns a list of anything else", (() => [{ secret: "detail" }]) as never],
  ])("fails closed when it %s", async (_, preflight) => {
    const { execution, runs } = await run(preflight);
    expect(runs).toBe(0);
    expect(execution.error?.code).toBe("validation_error");
    expect(execution.error?.message).toBe("Invalid arguments: the tool could not validate them");
  });

  test("is over when the call is cancelled, even if it goes on itself", async () => {
    const cancelling = new AbortController();
    let signal: AbortSignal | undefined;
    const running = run(
      (_, context) => {
        signal = context.signal;
        queueMicrotask(() => cancelling.abort());
        return new Promise(() => {});
      },
      { signal: cancelling.signal },
    );
    const { execution, runs } = await running;
    expect(execution.error?.code).toBe("cancelled");
    expect(runs).toBe(0);
    expect(signal?.aborted).toBe(true);
  });

  test("comes before a person is asked, and after the policy", async () => {
    const order: string[] = [];
    const check =
      (problems: readonly string[]): Preflight =>
      () => {
        order.push("check");
        return problems;
      };
    const policy = { check: () => ask("Run it?", { grant: allow({ sandbox: "host" }).grant }) };
    const confirm = async () => {
      order.push("person");
      return { decision: "allow", by: "eve" } as const;
    };
    await run(check(["/ no"]), { policy, confirm });
    expect(order).toEqual(["check"]);
    await run(check([]), { policy, confirm });
    expect(order).toEqual(["check", "check", "person"]);
    await run(check([]), { policy: { check: () => deny("no") } });
    expect(order).toEqual(["check", "check", "person"]);
  });
});

describe("What the check knows of other tools", () => {
  const other = hostTool(() => 1, {
    name: "other",
    inputSchema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  });

  test("is why the call could not call them: they do not exist, or the grant does not give them", async () => {
    const refusals = (granted: readonly string[]) =>
      learned(({ refusalOf }) => [refusalOf("other"), refusalOf("gone")], [other], granted);
    expect(await refusals(["*"])).toEqual([undefined, expect.stringContaining("Tool 'gone' not found")]);
    expect(await refusals(["gone"])).toEqual([
      "Permission denied: the calling tool is not allowed to call tool 'other'",
      "Tool 'gone' not found. Available: []",
    ]);
  });

  test("is whether arguments are valid for them; nothing is wrong with those of an unknown tool", async () => {
    const problems = (name: string, args: JsonObject) =>
      learned(({ problemsOf }) => problemsOf(name, args).map(({ path }) => path), [other], ["*"]);
    expect(await problems("other", { a: "x" })).toEqual([]);
    expect(await problems("other", { a: 1 })).toEqual(["/a"]);
    expect(await problems("gone", { a: 1 })).toEqual([]);
  });
});
