import { parseJson } from "../../src/json/parse.ts";
import { readMessage } from "../../src/sandboxes/remote/mcp-client/wire-message.ts";
import type { StallCase } from "./turn-meter.ts";

/** Texts that take as long to read as a sender can make them take. */
const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  "one long text": (length) => `["${"x".repeat(length)}"]`,
  "nothing but white space": (length) => `{"a":1${" ".repeat(length)}}`,
  "a number that may be too small, and white space": (length) => `{"a":0,"b":"e-"${" ".repeat(length)}}`,
  "escaped quotes": (length) => `["${'\\"'.repeat(length / 2)}"]`,
  "escaped quotes without an end": (length) => `["${'\\"'.repeat(length / 2)}`,
  "escaped backslashes": (length) => `["${"\\\\".repeat(length / 2)}"]`,
  "surrogate pairs": (length) => `["${"\\ud83d\\ude00".repeat(length / 12)}"]`,
  "surrogate pairs, and half a pair": (length) => `["${"\\ud83d\\ude00".repeat(length / 12)}\\ud83d"]`,
  "numbers with many digits": () => `[${Array(90_000).fill("1.123456789012345678").join()}]`,
  "as many texts as there may be": () => JSON.stringify(Array.from({ length: 99_000 }, (_, i) => `a${i}`)),
  "as many members as there may be": () => {
    return JSON.stringify(Object.fromEntries(Array.from({ length: 19_000 }, (_, i) => [`a${i}`, i])));
  },
  "a member twice": () => {
    return `{${Array.from({ length: 19_000 }, (_, i) => `"a${i}":1`).join()},"a0":1}`;
  },
  "a wrong token at its end": (length) => `[${"1,".repeat(40_000)}${" ".repeat(length - 80_000)}x]`,
};

export const cases: readonly StallCase[] = Object.entries(TEXTS).flatMap(([kind, textOf]) => [
  {
    name: `${kind}, among the arguments of a call`,
    prepare: () => {
      const text = textOf(2_000_000);
      return () => parseJson(text);
    },
  },
  {
    name: `${kind}, from an MCP server`,
    prepare: () => {
      const text = `{"jsonrpc":"2.0","id":1,"result":{"x":${textOf(3_000_000)}}}`;
      return () => readMessage(text);
    },
  },
]);
