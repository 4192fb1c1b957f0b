import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { ConfigError } from "../../src/config/problem.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { type DefinitionLock, formatLock, pinned, readLock, writeLock } from "../../src/pins/lock-file.ts";

const LOCK: DefinitionLock = {
  tools: new Map([
    ["b", pinned({ name: "b", description: "Second." })],
    ["a", pinned({ name: "a", description: "First." })],
  ]),
  servers: new Map([["files", pinned({ instructions: "Ask first." })]]),
};

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function readText(text: string): Promise<DefinitionLock | undefined> {
  const file = join(await createFolder(), "sandgate.lock");
  await writeFile(file, text);
  return readLock(file);
}

describe("sandgate.lock", () => {
  test("is read as it was written, and leaves no other file", async () => {
    const folder = await createFolder();
    const file = join(folder, "sandgate.lock");
    await writeLock(file, LOCK);
    expect(await readLock(file)).toEqual(LOCK);
    expect(await readdir(folder)).toEqual(["sandgate.lock"]);
  });

  test("does not depend on the order in which the tools were registered", () => {
    const reversed = { ...LOCK, tools: new Map([...LOCK.tools].reverse()) };
    expect(formatLock(reversed)).toBe(formatLock(LOCK));
  });

  test("survives any definition", async () => {
    const file = join(await createFolder(), "sandgate.lock");
    const definitions = fc.dictionary(
      fc.string({ unit: "grapheme" }).filter((name) => name !== "__proto__"),
      fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('"__proto__"')),
    );
    await fc.assert(
      fc.asyncProperty(definitions, async (definition) => {
        const lock = { tools: new Map([["tool", pinned(definition as JsonObject)]]), servers: new Map() };
        await writeLock(file, lock);
        expect((await readLock(file))?.tools.get("tool")?.digest).toBe(lock.tools.get("tool")?.digest);
      }),
      { numRuns: 50 },
    );
  });

  test("is not read if it does not exist", async () => {
    expect(await readLock(join(await createFolder(), "sandgate.lock"))).toBeUndefined();
  });

  test("fails closed if a definition was edited, and its digest was not", async () => {
    const text = formatLock(LOCK).replace("First.", "Last.");
    await expect(readText(text)).rejects.toThrow("the definition of 'a' in tools does not match its digest");
  });

  test.each([
    ["no JSON", "{", "the lock is not valid JSON"],
    ["a list", "[]", "the lock must be an object"],
    [
      "another version",
      '{"lockVersion":2}',
      "the lock has format 2, and this version of sandgate reads formats up to 1: use the version that wrote it",
    ],
    ["a repeated member", '{"lockVersion":1,"tools":{},"tools":{}}', "the lock is not valid JSON"],
    ["tools in a list", '{"lockVersion":1,"tools":[]}', "tools must be an object"],
    ["a tool without a digest", '{"lockVersion":1,"tools":{"a":{}}}', "'a' in tools must have a digest"],
    ["no UTF-8", "\ud800", "does not match"],
  ])("is refused with %s", async (what, text, message) => {
    if (what !== "no UTF-8") return expect(readText(text)).rejects.toThrow(message);
    const file = join(await createFolder(), "sandgate.lock");
    await writeFile(file, Uint8Array.of(0x7b, 0xff));
    await expect(readLock(file)).rejects.toThrow(ConfigError);
  });

  test("keeps the old content if the new one cannot be written", async () => {
    const file = join(await createFolder(), "sandgate.lock");
    await writeLock(file, LOCK);
    const before = await readFile(file, "utf8");
    const broken = { ...LOCK, tools: new Map([["c", { digest: "", definition: { a: 1n } as never }]]) };
    await expect(writeLock(file, broken)).rejects.toThrow();
    expect(await readFile(file, "utf8")).toBe(before);
  });
});
