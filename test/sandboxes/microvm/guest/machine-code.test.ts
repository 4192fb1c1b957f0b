import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  addResult,
  BUFFER,
  BUFFER_BYTES,
  type Code,
  copyAll,
  DATA,
  fillBuffer,
  SCRATCH,
  staticProgram,
  store,
  storeResult,
  systemCall,
  unless,
  unlessPositive,
  unlessZero,
  writeLetters,
} from "../../../../src/sandboxes/microvm/guest/machine-code.ts";

const isHere = process.platform === "linux" && process.arch === "x64";
if (!isHere) console.warn("The tests of machine code are skipped: they need Linux on x86-64");

const directory = mkdtempSync(join(tmpdir(), "machine-code-"));
afterAll(() => rmSync(directory, { recursive: true }));

function run(code: Code, { input = "" as string | Buffer, data = "" } = {}): [string, number | null] {
  const file = join(directory, "program");
  writeFileSync(file, staticProgram(code, Buffer.from(data)), { mode: 0o755 });
  const { stdout, status } = spawnSync(file, { input, maxBuffer: 1 << 24 });
  return [stdout.toString("latin1"), status];
}

const exit = (code: number): Code => systemCall("exit", code);

test.skipIf(!isHere)("a program finds its data, and refuses to be longer than its memory", () => {
  expect(run([...systemCall("write", 1, DATA, 5), ...exit(7)], { data: "hello" })).toEqual(["hello", 7]);
  expect(() => staticProgram(Array.from({ length: 4_096 }, () => 0x90))).toThrow("too long");
});

test.skipIf(!isHere)("code runs unless a result is a value, is positive, or memory is zero", () => {
  const read = systemCall("read", 0, SCRATCH, 4);
  expect(run([...read, ...unless(4, exit(1)), ...exit(2)], { input: "abcd" })[1]).toBe(2);
  expect(run([...read, ...unless(4, exit(1)), ...exit(2)], { input: "abc" })[1]).toBe(1);
  expect(run([...read, ...unlessPositive(exit(1)), ...exit(2)], { input: "a" })[1]).toBe(2);
  expect(run([...read, ...unlessPositive(exit(1)), ...exit(2)])[1]).toBe(1);
  expect(run([...systemCall("close", 99), ...unlessPositive(exit(1)), ...exit(2)])[1]).toBe(1);
  expect(run([...unlessZero(SCRATCH, exit(1)), ...exit(2)])[1]).toBe(2);
  expect(run([...store(5, SCRATCH), ...unlessZero(SCRATCH, exit(1)), ...exit(2)])[1]).toBe(1);
});

test.skipIf(!isHere)("results are stored, added and used as arguments", () => {
  const code = [
    ...systemCall("read", 0, BUFFER, 3),
    ...storeResult(SCRATCH),
    ...addResult(SCRATCH),
    ...systemCall("write", 1, BUFFER, { at: SCRATCH }),
    ...exit(0),
  ];
  expect(run(code, { input: "abc" })).toEqual(["abc\0\0\0", 0]);
});

test.skipIf(!isHere)("a number becomes letters", () => {
  const code = [
    ...store(0x01f9, SCRATCH),
    ...writeLetters(SCRATCH, BUFFER),
    ...systemCall("write", 1, BUFFER, 4),
    ...exit(0),
  ];
  expect(run(code)).toEqual(["abpj", 0]);
});

test.skipIf(!isHere)("a message is read completely, or what to do at its end is done", () => {
  const code = [...fillBuffer(0, exit(1)), ...systemCall("write", 1, BUFFER, BUFFER_BYTES), ...exit(0)];
  const message = Buffer.alloc(BUFFER_BYTES, "abc");
  expect(run(code, { input: message })).toEqual([message.toString(), 0]);
  for (const length of [0, 1, BUFFER_BYTES - 1])
    expect(run(code, { input: message.subarray(0, length) })).toEqual(["", 1]);
});

test.skipIf(!isHere)("everything is copied up to the end", () => {
  const input = Buffer.alloc(1_000_001, "abc");
  expect(run(copyAll(0, 1), { input })).toEqual([input.toString(), 0]);
});
