import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_CONFIG_LENGTH, readConfigFile } from "../../src/config/source.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandgate-config-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("readConfigFile keeps the name that the operator gave the file", async () => {
  const path = join(folder, "a.yaml");
  await writeFile(path, "a: ä\n");
  const source = await readConfigFile(path, "shown.yaml");
  expect(source.value).toEqual({ a: "ä" });
  expect(source.file).toBe("shown.yaml");
});

test("readConfigFile rejects with the reason if the file cannot be read", async () => {
  const missing = readConfigFile(join(folder, "none.yaml"), "none.yaml");
  await expect(missing).rejects.toThrow("none.yaml:1:1: the file cannot be read: no such file or directory");
  await expect(readConfigFile(folder, "folder")).rejects.toThrow(
    /^folder:1:1: the file cannot be read: .*directory/,
  );
});

test("readConfigFile refuses invalid UTF-8 and files that are too long", async () => {
  const binary = join(folder, "binary.yaml");
  await writeFile(binary, new Uint8Array([0xff, 0xfe, 0x00]));
  await expect(readConfigFile(binary, "b")).rejects.toThrow("b:1:1: the file is not valid UTF-8");
  const long = join(folder, "long.yaml");
  await writeFile(long, new Uint8Array(MAX_CONFIG_LENGTH + 1).fill(0x23));
  await expect(readConfigFile(long, "l")).rejects.toThrow("l:1:1: the file is longer than 1 MiB");
});
