import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import { openSuspensions } from "../../../src/programs/suspension/suspensions.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { Suspended } from "./fuzz.ts";
import { type Life, Lives } from "./lives.ts";
import { KEY, program } from "./setting.ts";

const SOURCE = `export default async (input, { tools }) => tools.call("pay", { to: "x" });`;
const pay = {
  name: "pay",
  description: "",
  inputSchema: { type: "object" },
  sideEffects: "write",
  host: () => 7,
} as Tool;

/** A store whose methods fail once they are named, as often as it says. */
class FailingStore extends MemorySuspensionStore {
  readonly failing = new Map<"get" | "take" | "calls", number>();

  override get(id: string): ReturnType<MemorySuspensionStore["get"]> {
    this.#check("get");
    return super.get(id);
  }

  override take(id: string, revision: number): ReturnType<MemorySuspensionStore["take"]> {
    this.#check("take");
    return super.take(id, revision);
  }

  override calls(id: string): ReturnType<MemorySuspensionStore["calls"]> {
    this.#check("calls");
    return super.calls(id);
  }

  #check(method: "get" | "take" | "calls"): void {
    const left = this.failing.get(method) ?? 0;
    this.failing.set(method, left - 1);
    if (left > 0) throw new Error("connect ECONNREFUSED 10.0.0.1:8080");
  }
}

/** Suspends a program in one life. Returns the next one, in which a method of the store fails so many times. */
async function nextLife(failing: "get" | "take" | "calls", times = Number.POSITIVE_INFINITY): Promise<Life> {
  const store = new FailingStore();
  const lives = new Lives([program(SOURCE), pay], { sessions: new MemorySessionStore(), programs: store });
  const first = await lives.begin();
  await first.call();
  await first.waits(1);
  store.failing.set(failing, times);
  return lives.begin();
}

describe("If its store fails, a suspended program", () => {
  test.each([
    "get",
    "calls",
    "take",
  ] as const)("goes on if it fails three times only (%s)", async (method) => {
    const life = await nextLife(method, 3);
    const [confirmation] = await life.waits(1);
    if (confirmation !== undefined) await life.answer(confirmation);
    expect((await life.result()).output).toBe(7);
  });

  test.each([
    "get",
    "calls",
  ] as const)("does not go on, and the model does not read why (%s)", async (method) => {
    const life = await nextLife(method);
    const { error } = await life.result();
    expect(error).toMatchObject({ code: "execution_error", effect: "unknown" });
    expect(error?.message).toBe(
      "The suspended call of tool 'program' cannot continue: the store of programs failed; whether it took effect is not known",
    );
  });

  test("does not go on after an answer, and the model does not read why", async () => {
    const life = await nextLife("take");
    const [confirmation] = await life.waits(1);
    if (confirmation !== undefined) await life.answer(confirmation);
    const { error } = await life.result();
    expect(error?.message).toBe("The suspended call cannot continue: the store of programs failed");
  });

  test("ends with a warning to the operator if it cannot be forgotten", async () => {
    const warnings: string[] = [];
    const warned = (warning: Error): unknown => warnings.push(warning.message);
    process.on("warning", warned);
    try {
      const life = await nextLife("get");
      expect((await life.result()).success).toBe(false);
      while (warnings.length === 0) await new Promise(setImmediate);
      expect(warnings).toEqual(["A program could not be removed: connect ECONNREFUSED 10.0.0.1:8080"]);
    } finally {
      process.off("warning", warned);
    }
  });
});

test("A program that went on elsewhere stays there when it ends here without having gone on", async () => {
  const stored = await new Suspended().begin("c1");
  const store = new MemorySuspensionStore();
  store.put(stored, []);
  const suspensions = openSuspensions({ store, keys: [KEY] });
  const describeCall = (): never => {
    throw new Error("it is not suspended again");
  };
  const here = await suspensions.reopen({ ...stored, describe: describeCall });
  const elsewhere = await suspensions.reopen({ ...stored, describe: describeCall });
  await elsewhere.resume();
  await here.close();
  expect((await store.get(stored.id))?.state).toBe("taken");
  await elsewhere.close();
  expect(await store.get(stored.id)).toBeUndefined();
});
