import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { SqliteSessionStore } from "../../../../src/sessions/store/sqlite-store.ts";
import { SCRIPT, statesOf } from "./script.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-kill-"));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Starts the script in a process and kills the process (-9) when it has printed a line.
 *
 * @param line The line, or its beginning.
 * @returns the number of writes of which the process was told that they are durable.
 */
async function killAt(file: string, line: string, count?: number): Promise<number> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "child.ts"), file, ...(count === undefined ? [] : [String(count)])],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    if (`\n${printed}`.includes(`\n${line}`)) child.kill("SIGKILL");
  });
  await once(child, "close");
  return printed.split("\n").filter((text) => /^[0-9]+$/.test(text)).length;
}

describe("After kill -9, each call is in one state and nothing is lost", () => {
  test.each(SCRIPT.map(({ name }, index) => [name, index] as const))("when %s", async (_, index) => {
    const file = join(folder, `${index}.db`);
    expect(await killAt(file, "still", index + 1)).toBe(index + 1);
    const store = new SqliteSessionStore(file);
    expect(await statesOf(store)).toEqual(SCRIPT[index]?.states);
    // What the killed process wrote does not change when the rest is written by another one.
    for (const { write } of SCRIPT) await write(store);
    expect(await statesOf(store)).toEqual(SCRIPT.at(-1)?.states);
    expect(await store.counts("s1")).toEqual(new Map([["write_file", 2]]));
    expect((await store.confirmation("q1"))?.resolution).toMatchObject({ decision: "allow", by: "bob" });
    store.close();
  });

  test("while the next write is under way", async () => {
    for (const index of SCRIPT.keys()) {
      const file = join(folder, `running-${index}.db`);
      const durable = await killAt(file, `${index}\n`);
      const store = new SqliteSessionStore(file);
      const states = await statesOf(store);
      const possible = SCRIPT.slice(durable - 1, durable + 1).map((step) => step.states);
      expect(possible).toContainEqual(states);
      store.close();
    }
  });
});
