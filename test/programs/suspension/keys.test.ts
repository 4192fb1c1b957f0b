import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readSuspensionKeys, SuspensionKeys } from "../../../src/programs/suspension/keys.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "keys");

test("keys are read from a file, the one that seals first", () => {
  writeFileSync(file, `# new\nk2 ${"ab".repeat(32)}\n\nk1 ${"01".repeat(32)}\n`, { mode: 0o600 });
  const keys = readSuspensionKeys(file);
  expect(keys.map(({ id }) => id)).toEqual(["k2", "k1"]);
  expect(new SuspensionKeys(keys).sealing.key).toEqual(new Uint8Array(32).fill(0xab));
});

test("a file that others can read, and an invalid line, are refused without the key in the message", () => {
  writeFileSync(file, `k1 ${"ab".repeat(31)}\n`, { mode: 0o600 });
  expect(() => readSuspensionKeys(file)).toThrow("line 1 of the file with the keys must have an id and 64");
  chmodSync(file, 0o644);
  expect(() => readSuspensionKeys(file)).toThrow("must be readable by its owner alone");
});

test("keys need ids that differ, and 32 bytes", () => {
  const key = new Uint8Array(32);
  expect(() => new SuspensionKeys([])).toThrow("suspended programs need a key");
  expect(
    () =>
      new SuspensionKeys([
        { id: "a", key },
        { id: "a", key },
      ]),
  ).toThrow("two keys have the same id");
  expect(() => new SuspensionKeys([{ id: "a b", key }])).toThrow("the id of a key is invalid");
  expect(() => new SuspensionKeys([{ id: "a", key: new Uint8Array(31) }])).toThrow("must have 32 bytes");
});
