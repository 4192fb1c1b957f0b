import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Backend } from "../../../src/record/backend.ts";
import { PostgresBackend } from "../../../src/record/postgres-backend.ts";
import { SqliteBackend } from "../../../src/record/sqlite-backend.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { sqliteKind } from "../sqlite-kind.ts";

/** How many batches a process writes. */
const COUNT = 8;

const folder = mkdtempSync(join(tmpdir(), "sandgate-record-"));
afterAll(() => rmSync(folder, { recursive: true }));
let server: Promise<PostgresServer> | undefined;
afterAll(async () => (await server)?.[Symbol.asyncDispose]());
let files = 0;

interface Place {
  /** As the child reads it. */
  readonly description: Readonly<Record<string, string>>;
  readonly open: () => Promise<Backend>;
}

const newFile = (isExclusive: boolean) => async (): Promise<Place> => {
  const file = join(folder, `${++files}.db`);
  return {
    description: { file, isExclusive: isExclusive ? "yes" : "no" },
    open: async () => new SqliteBackend(file, sqliteKind(isExclusive)),
  };
};

const TARGETS: readonly { name: string; atOnce: number; newPlace: () => Promise<Place> }[] = [
  { name: "in a file of one process", atOnce: 1, newPlace: newFile(true) },
  { name: "in a file of several processes", atOnce: 3, newPlace: newFile(false) },
  {
    name: "on PostgreSQL",
    atOnce: 3,
    newPlace: async () => {
      server ??= startPostgres();
      const { url, newSchema } = await server;
      const schema = newSchema();
      return { description: { url, schema }, open: () => PostgresBackend.open({ url, schema }) };
    },
  },
];

/** Runs a process, kills it (-9) after a line if that is named, and returns its lines. */
async function run({ description }: Place, name: string, killAfter?: string): Promise<readonly string[]> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "child.ts"), JSON.stringify(description), name, String(COUNT)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    if (killAfter !== undefined && `\n${printed}`.includes(`\n${killAfter}\n`)) child.kill("SIGKILL");
  });
  await once(child, "close");
  return printed.split("\n").filter((line) => line !== "");
}

/** Checks that every batch is there whole or not at all, and every one of which its process said that it was written. */
async function check(place: Place, lines: readonly string[]): Promise<void> {
  const backend = await place.open();
  const [log = [], [count] = [], again = []] = await backend.read([
    { below: ["log", "all"] },
    { key: ["count", "all"] },
    { below: ["again", "all"] },
  ]);
  const numbers = log.map(({ value }) => value as number).sort((one, other) => one - other);
  expect(numbers).toEqual(numbers.map((_, index) => index));
  expect(count?.value ?? 0).toBe(numbers.length);
  expect(again).toEqual([]);
  const written = lines.filter((line) => line.startsWith("written ")).length;
  const begun = lines.filter((line) => line.startsWith("begins ")).length;
  expect(numbers.length).toBeGreaterThanOrEqual(written);
  expect(numbers.length).toBeLessThanOrEqual(begun);
  await backend.close();
}

describe.each(
  TARGETS.filter(({ name }) => name !== "on PostgreSQL" || NO_POSTGRES === undefined),
)("A backend $name", ({ atOnce, newPlace }) => {
  const steps = Array.from({ length: COUNT }, (_, index) => [`begins a-${index}`, `written a-${index}`]);
  test("has each batch whole or not at all after kill -9 at any step of a process", async () => {
    for (const step of steps.flat()) {
      const place = await newPlace();
      const lines = await run(place, "a", step);
      expect(lines).toContain(step);
      await check(place, lines);
    }
  });

  test("loses and doubles nothing of several processes at once, some of which are killed", async () => {
    for (const round of [1, 2, 3]) {
      const place = await newPlace();
      const names = ["a", "b", "c"].slice(0, atOnce);
      const lines = await Promise.all(
        names.map((name, index) => run(place, name, index === 0 ? `begins ${name}-${round}` : undefined)),
      );
      // What those that were not killed have written comes on top of it.
      lines.push(await run(place, "last"));
      await check(place, lines.flat());
      for (const [index, name] of names.entries()) {
        if (index > 0) expect(lines.flat()).toContain(`written ${name}-${COUNT - 1}`);
      }
    }
  });
});
