import { describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { toToolResult } from "../../src/engine/call/messages.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { allow } from "../../src/policy/policy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "./helpers.ts";

const KEY = "AKIAIOSFODNN7EXAMPLE";

/** Dispatches a call that streams the chunks, and is cancelled then. */
async function cancelAfter(chunks: Iterable<string>, more: object = {}): Promise<ToolExecution> {
  const cancelling = new AbortController();
  const tool = hostTool((_input: JsonObject, { signal, onOutput }) => {
    for (const chunk of chunks) onOutput(chunk);
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(new Error("stopped")));
    cancelling.abort();
    return promise;
  });
  const { signal } = cancelling;
  return dispatchTool(await contextFor([tool], { signal, partialOutput: new Redaction(), ...more }));
}

const textOf = (execution: ToolExecution): string => {
  const [block] = toToolResult(execution).content;
  return block?.type === "text" ? block.text : "";
};

describe("the partial output of a cancelled call", () => {
  test("is in the execution and its event, and the model reads it after the message", async () => {
    const { events, seen } = recordEvents();
    const execution = await cancelAfter(["one\n", "two\n"], { events });
    expect(execution).toMatchObject({ error: { code: "cancelled" }, partialOutput: "one\ntwo\n" });
    expect(textOf(execution)).toBe("Tool call was cancelled\none\ntwo\n");
    expect(seen.at(-1)).toMatchObject({ type: "tool.failed", execution: { partialOutput: "one\ntwo\n" } });
    expect(seen.filter(({ type }) => type === "tool.output")).toHaveLength(2);
  });

  test("has no secrets, not even one that comes in pieces", async () => {
    const { partialOutput } = await cancelAfter(["key ", KEY.slice(0, 9), KEY.slice(9), " end"]);
    expect(partialOutput).toBe("key [redacted: aws-key] end");
  });

  test.each([
    ["the beginning of what is left out", 17_952],
    ["the end of what is left out", 200_000 - 11_944],
  ])("shows no part of a secret at %s", async (_where, at) => {
    const text = `${"a".repeat(at)} ${KEY} ${"b".repeat(200_000 - at)}`;
    const { partialOutput = "" } = await cancelAfter(text.match(/.{1,1000}/gs) ?? []);
    expect(partialOutput).not.toMatch(/AKIA|EXAMPLE/);
  });

  test.each([40_000, 1_000_000])("is the beginning and the end of %d characters", async (length) => {
    const execution = await cancelAfter([
      "first ",
      ...("x".repeat(length).match(/.{1,999}/g) ?? []),
      " last",
    ]);
    const { partialOutput = "" } = execution;
    expect(partialOutput).toMatch(/^first x+\n\[… [\d,]+ characters left out …\]\nx+ last$/);
    expect(textOf(execution).length).toBeLessThanOrEqual(30_000);
    expect(textOf(execution).length).toBeGreaterThan(29_900);
    expect(textOf(execution).endsWith(partialOutput)).toBe(true);
  });

  test("is also in a call that timed out", async () => {
    const tool = hostTool((_input: JsonObject, { onOutput }) => {
      onOutput("half");
      return new Promise(() => {});
    });
    const policy = { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 20 } }) } as const;
    const execution = await dispatchTool(
      await contextFor([tool], { policy, partialOutput: new Redaction() }),
    );
    expect(execution).toMatchObject({ error: { code: "timeout" }, partialOutput: "half" });
    expect(textOf(execution)).toBe("Tool exceeded 20ms wall time limit\nhalf");
  });

  test("is absent if the tool streamed nothing, or the context does not ask for it", async () => {
    expect(await cancelAfter([])).not.toHaveProperty("partialOutput");
    expect(await cancelAfter(["text"], { partialOutput: undefined })).not.toHaveProperty("partialOutput");
  });
});
