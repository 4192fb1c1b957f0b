import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { StoredProgram } from "../../../src/programs/stores/suspension-store.ts";
import { Lives } from "./lives.ts";
import { program } from "./setting.ts";

const DAY_MS = 24 * 3_600_000;

/** A tool on the host whose calls end when the test says so. */
function held(name: string, more: Partial<Tool> = {}) {
  const begun: string[] = [];
  const tool = {
    name,
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "write",
    ...more,
    host: () => {
      begun.push(name);
      return new Promise(() => {});
    },
  } as Tool;
  return { tool, begun };
}

const pay = {
  name: "pay",
  description: "",
  inputSchema: { type: "object" },
  sideEffects: "write",
  host: () => 7,
} as unknown as Tool;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** A program that waits for a person, goes on, and then never ends. */
const PAYS_FIRST = `export default async (input, { tools }) => {
  await tools.call("pay", { to: "x" });
  await tools.call("slow_write", {});
}`;

/** Has a program go on in a process that is lost while it computes. */
async function lostWhileItRuns(): Promise<Lives> {
  const slow = held("slow_write");
  const lives = new Lives([program(PAYS_FIRST), pay, slow.tool]);
  const first = await lives.begin({ afterMs: 2 ** 30 });
  await first.call();
  await first.answer((await first.waits(1))[0] as never);
  await until(() => slow.begun.length === 1);
  expect(await lives.programStore.list()).toMatchObject([{ state: "taken" }]);
  return lives;
}

describe("What no process goes on with is removed when sessions are opened", () => {
  test("a program that had gone on in a process that was lost, whose call ends as interrupted", async () => {
    const lives = await lostWhileItRuns();
    const [{ template = "" } = {}] = await lives.programStore.list();
    const second = await lives.begin();
    expect(await lives.programStore.list()).toEqual([]);
    expect(await lives.programStore.hasTemplate(template)).toBe(false);
    expect((await second.result()).error).toMatchObject({
      code: "execution_error",
      effect: "unknown",
      message: "Tool 'program' was interrupted; whether it took effect is not known",
    });
  });

  test("but not what still waits, nor its template", async () => {
    const lives = new Lives([program(PAYS_FIRST), pay, held("slow_write").tool]);
    const first = await lives.begin();
    await first.call();
    await first.waits(1);
    const [kept] = await lives.programStore.list();
    await lives.programStore.addTemplate("of no program", new Uint8Array(1));
    await (await lives.begin()).waits(1);
    expect(await lives.programStore.list()).toMatchObject([{ id: kept?.id, state: "waiting" }]);
    expect(await lives.programStore.hasTemplate(kept?.template ?? "")).toBe(true);
    expect(await lives.programStore.hasTemplate("of no program")).toBe(false);
  });

  test("nor programs of sessions that another process has, until long after their time", async () => {
    const lives = await lostWhileItRuns();
    const [own] = await lives.programStore.list();
    const others = { ...own, sessionId: "of another process", sealed: new Uint8Array(1), revision: 1 };
    const now = Date.now();
    const programs: readonly [id: string, state: "waiting" | "taken", waitUntil: number][] = [
      ["waits", "waiting", now - DAY_MS],
      ["runs", "taken", now - 29 * DAY_MS],
      ["was forgotten", "waiting", now - 31 * DAY_MS],
      ["was lost", "taken", now - 31 * DAY_MS],
    ];
    for (const [id, state, waitUntil] of programs) {
      await lives.programStore.put({ ...others, id, callId: id, state, waitUntil } as StoredProgram, []);
    }
    await lives.begin();
    expect((await lives.programStore.list()).map(({ id }) => id)).toEqual(["waits", "runs"]);
  });

  test("a program that ended, and was not removed any more", async () => {
    const lives = new Lives([program(PAYS_FIRST), pay, held("slow_write").tool]);
    const first = await lives.begin();
    const [results] = await first.call();
    await first.waits(1);
    const [header] = await lives.programStore.list();
    const stored = (await lives.programStore.get(header?.id ?? "")) as StoredProgram;
    await first.sessions.get("s1")?.cancel();
    await results;
    await lives.programStore.put(stored, []);
    await lives.begin();
    expect(await lives.programStore.list()).toEqual([]);
  });

  test("a program below one that goes on, so that it can be made again, and wait again", async () => {
    const outer = `export default async (input, { tools }) => (await Promise.all([
      tools.call("program_inner", {}), tools.call("pay", { to: "outer" })])).join();`;
    const inner = `export default async (input, { tools }) => {
      const paid = await tools.call("pay", { to: "inner" });
      return [paid, await tools.call("slow_read", {})];
    }`;
    const slow = held("slow_read", { sideEffects: "read" });
    const tools = [program(outer), program(inner, { name: "program_inner", idempotent: true }), pay];
    const lives = new Lives([...tools, slow.tool]);
    const first = await lives.begin({ afterMs: 2 ** 30 });
    await first.call();
    const asked = await first.waits(2, 2);
    await first.answer(asked.find(({ parent }) => parent === "c1/1") as never);
    await until(() => slow.begun.length === 1);
    const quick = { ...slow.tool, host: () => 8 } as unknown as Tool;
    const second = await lives.begin({ tools: [...tools, quick] });
    const again = await second.waits(2, 2);
    for (const confirmation of again) await second.answer(confirmation);
    expect((await second.result()).output).toBe("7,8,7");
    expect(await lives.programStore.list()).toEqual([]);
  });
});

test("a store that cannot be cleaned keeps no session from being opened", async () => {
  const lives = await lostWhileItRuns();
  lives.programStore.remove = () => {
    throw new Error("the disk is full");
  };
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const second = await lives.begin();
  expect((await second.result()).error?.effect).toBe("unknown");
  expect((await warned).message).toContain("the disk is full");
});
