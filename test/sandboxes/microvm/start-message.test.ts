import { expect, test } from "vitest";
// Inside: reads the bytes of a message, and the bounds on it, without a machine that runs the program.
import { startMessage } from "../../../src/sandboxes/microvm/control-port.ts";
import { MESSAGE, START_MESSAGE_BYTES } from "../../../src/sandboxes/microvm/guest/first-process.ts";

const START = { token: "f".repeat(32), env: {}, memoryBytes: 1_000, processes: 3 };

function places(message: Buffer, part: keyof typeof MESSAGE): number[] {
  const [offset, bytes] = MESSAGE[part];
  return Array.from({ length: bytes / 8 }, (_, index) => Number(message.readBigUInt64LE(offset + index * 8)));
}

function stringAt(message: Buffer, start: number): string {
  return message.toString("utf8", start, message.indexOf(0, start));
}

function listAt(message: Buffer, start: number): string[] {
  const strings: string[] = [];
  for (let at = start; ; at += 8) {
    const place = Number(message.readBigUInt64LE(at));
    if (place === 0) return strings;
    strings.push(stringAt(message, place));
  }
}

test("has the arguments, the variables and where to look for the program", () => {
  const args = ["", "a'b $HOME", "ü\n"];
  const message = startMessage({ ...START, command: "tool", args, env: { A: "=x", HOME: "/data" } });
  const [argv = 0, env = 0] = places(message, "lists");
  expect(message.length).toBe(START_MESSAGE_BYTES);
  expect(listAt(message, argv)).toEqual(["tool", ...args]);
  expect(listAt(message, env)).toEqual([
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "HOME=/data",
    "LANG=C.UTF-8",
    "A==x",
  ]);
  expect(places(message, "paths").map((path) => stringAt(message, path))).toEqual([
    "/usr/local/bin/tool",
    "/usr/bin/tool",
    "/bin/tool",
  ]);
  const [failure = 0, length = 0] = places(message, "failure");
  expect(stringAt(message, failure)).toHaveLength(length);
});

test("looks up only commands without a slash", () => {
  const message = startMessage({ ...START, command: "/opt/tool", args: [] });
  const [path = 0, ...others] = places(message, "paths");
  expect([stringAt(message, path), ...others]).toEqual(["/opt/tool", 0, 0]);
});

test("has other random bytes each time", () => {
  const seeds = Array.from({ length: 20 }, () =>
    startMessage({ ...START, command: "tool", args: [] })
      .subarray(MESSAGE.seed[0], MESSAGE.seed[0] + MESSAGE.seed[1])
      .toString("hex"),
  );
  expect(new Set(seeds).size).toBe(20);
});

test("has room for what a definition may have, however it is cut into arguments", () => {
  for (const size of [0, 1, 10, 1_990]) {
    const args = Array.from({ length: Math.floor(1_996 / (size + 1)) }, () => "x".repeat(size));
    const message = startMessage({ ...START, command: "tool", args });
    expect(listAt(message, places(message, "lists")[0] ?? 0)).toEqual(["tool", ...args]);
  }
  expect(startMessage({ ...START, command: "x".repeat(2_000), args: [] })).toHaveLength(START_MESSAGE_BYTES);
});

test("refuses what is too long or cannot be passed on", () => {
  expect(() => startMessage({ ...START, command: "tool", args: ["x".repeat(30_000)] })).toThrow("too long");
  expect(() => startMessage({ ...START, command: "tool", args: ["a\0b"] })).toThrow("NUL");
  expect(() => startMessage({ ...START, command: "tool", args: [], env: { "A B": "" } })).toThrow("A B");
});
