import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../../src/json/value.ts";
import type { ResourceUse, SandboxOutcome } from "../../../../src/sandboxes/contract/outcome.ts";
import type { SandboxTask } from "../../../../src/sandboxes/contract/sandbox.ts";
import { WasmSandbox } from "../../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { outsideComponent } from "../../../fixtures/wasm/outside-component.ts";
import { logKeeper, wasmTask } from "../../../fixtures/wasm/task.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-reuse-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
const component = await outsideComponent();
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

const REUSE: Partial<SandboxTask> = { capabilities: { reuse: "instance" } };

/** Has the one tool `act` do something. */
function act(
  sessionId: string,
  what: string,
  overrides: Partial<SandboxTask> = REUSE,
): Promise<SandboxOutcome> {
  return sandbox.run(wasmTask(component, "act", [what], { sessionId, ...overrides }));
}

/** How often the instance was called, and what the receipt says of it. */
async function count(sessionId: string, overrides?: Partial<SandboxTask>): Promise<[JsonValue, unknown]> {
  const outcome = await act(sessionId, "count", overrides);
  const { instance } = outcome.used as ResourceUse;
  return [outcome.status === "completed" ? outcome.output : outcome.status, instance];
}

describe("an instance", () => {
  test("is shared by the calls of a session that are granted it, and the receipt says so", async () => {
    expect(await count("a")).toEqual([1, "fresh"]);
    expect(await count("a")).toEqual([2, "reused"]);
    expect(await count("a")).toEqual([3, "reused"]);
  });

  test("is fresh in each call without the grant, and the receipt says nothing", async () => {
    expect(await count("b", {})).toEqual([1, undefined]);
    expect(await count("b", {})).toEqual([1, undefined]);
  });

  test("is not shared with another session, another tool or another grant", async () => {
    expect(await count("c")).toEqual([1, "fresh"]);
    expect(await count("d")).toEqual([1, "fresh"]);
    const implementations = { wasm: { component, tool: "act" } };
    expect(await count("c", { ...REUSE, toolName: "another", implementations })).toEqual([1, "fresh"]);
    expect(await count("c", { capabilities: { reuse: "instance", clock: true } })).toEqual([1, "fresh"]);
    expect(await count("c", { ...REUSE, limits: { memoryBytes: 2 ** 24, wallTimeMs: 9_999 } })).toEqual([
      1,
      "fresh",
    ]);
    expect(await count("c")).toEqual([2, "reused"]);
  });

  test("is fresh where its random numbers are to be the same in each call", async () => {
    const capabilities = { reuse: "instance", random: true, randomSeed: "seed" } as const;
    expect(await count("e", { capabilities })).toEqual([1, "fresh"]);
    expect(await count("e", { capabilities })).toEqual([1, "fresh"]);
  });

  test("stays after an error that the tool reports", async () => {
    expect(await count("f")).toEqual([1, "fresh"]);
    expect(await act("f", "fail")).toMatchObject({ status: "failed", message: "no such record" });
    expect(await count("f")).toEqual([3, "reused"]);
  });

  test("writes into the log of the call that it serves", async () => {
    const [first, second] = [logKeeper(), logKeeper()];
    await act("g", "log_and_count", { ...REUSE, observer: first });
    expect(await act("g", "log_and_count", { ...REUSE, observer: second })).toMatchObject({
      output: 2,
      used: { logLines: 1 },
    });
    await expect.poll(() => second.lines).toEqual([["info", "call 2"]]);
    expect(first.lines).toEqual([["info", "call 1"]]);
  });

  test.each([
    ["trapped", "trap", { status: "failed" }],
    ["has its memory full", "fill", { status: "completed" }],
    ["gave too much", "large", { status: "limit_exceeded" }],
    ["was ended by its deadline", "loop", { status: "timeout" }],
  ])("that %s is not used again", async (_what, tool, expected) => {
    const limits = { memoryBytes: 4 * 2 ** 20, wallTimeMs: 500, outputBytes: 1_000 };
    const overrides = { ...REUSE, limits };
    expect(await count(tool, overrides)).toEqual([1, "fresh"]);
    expect(await count(tool, overrides)).toEqual([2, "reused"]);
    expect(await act(tool, tool, overrides)).toMatchObject(expected);
    expect(await count(tool, overrides)).toEqual([1, "fresh"]);
  });

  test("is one of a few: the ones that were not used for longest go", async () => {
    for (let session = 0; session < 9; session++)
      expect(await count(`many-${session}`)).toEqual([1, "fresh"]);
    expect(await count("many-8")).toEqual([2, "reused"]);
    expect(await count("many-0")).toEqual([1, "fresh"]);
  });
});
