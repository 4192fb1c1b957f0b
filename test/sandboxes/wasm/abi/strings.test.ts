import { describe, expect, test } from "vitest";
// Inside: reads strings of 1.2 MB in encodings that few compilers write, without a component for each.
import { Handles } from "../../../../src/sandboxes/wasm/abi/handles.ts";
import { LiftBudget } from "../../../../src/sandboxes/wasm/abi/lift-budget.ts";
import {
  loadString,
  MemoryAccess,
  type MemoryAccessOptions,
} from "../../../../src/sandboxes/wasm/abi/memory-access.ts";
import { AbiError } from "../../../../src/sandboxes/wasm/abi/value.ts";

/** Longer than what Node.js allocates in V8's heap at a time. */
const LENGTH = 1_200_000;

const UTF16_TAG = 0x8000_0000;

function accessTo(bytes: Uint8Array, encoding: MemoryAccessOptions["encoding"]): MemoryAccess {
  const memory = new WebAssembly.Memory({ initial: 64 });
  new Uint8Array(memory.buffer).set(bytes);
  const budget = new LiftBudget({ memoryBytes: 2 ** 30, textBytes: 2 ** 30 });
  return new MemoryAccess({
    component: 0,
    memory,
    realloc: undefined,
    encoding,
    handles: new Handles(),
    budget,
  });
}

describe("a long string", () => {
  const characters = ["a", "ä", "€", "😀", "\ufeff"].flatMap((character) =>
    [0, 1, 2, 3].map((offset) => ({
      title: `${JSON.stringify(character)} after ${offset} bytes`,
      text: "-".repeat(offset) + character.repeat(LENGTH / Buffer.byteLength(character)),
    })),
  );

  test.each(characters)("of $title is read from UTF-8 and UTF-16 as it was written", ({ text }) => {
    const utf8 = Buffer.from(text);
    expect(loadString(accessTo(utf8, "utf8"), 0, utf8.length) === text).toBe(true);
    const utf16 = Buffer.from(text, "utf16le");
    expect(loadString(accessTo(utf16, "utf16"), 0, text.length) === text).toBe(true);
    const tagged = accessTo(utf16, "latin1+utf16");
    expect(loadString(tagged, 0, text.length + UTF16_TAG) === text).toBe(true);
  });

  test("of Latin-1 is read as it was written", () => {
    const text = "aé\u0000ÿ".repeat(LENGTH / 4);
    const bytes = Buffer.from(text, "latin1");
    expect(loadString(accessTo(bytes, "latin1+utf16"), 0, bytes.length) === text).toBe(true);
  });

  test.each([
    ["a lone continuation byte", "utf8", [0x80]],
    ["many continuation bytes", "utf8", [0xf0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]],
    ["a lead byte without continuation", "utf8", [0xe2, 0x82]],
    ["a lone high surrogate", "utf16", [0x00, 0xd8]],
    ["a lone low surrogate", "utf16", [0x00, 0xdc]],
  ] as const)("with %s is refused wherever that is", (_, encoding, invalid) => {
    for (const at of [0, 524_280, 524_284, 524_286, 524_288, 1_048_576, LENGTH - 8]) {
      const bytes = new Uint8Array(LENGTH).fill(0x20);
      bytes.set(invalid, at);
      const length = encoding === "utf8" ? LENGTH : LENGTH / 2;
      expect(() => loadString(accessTo(bytes, encoding), 0, length)).toThrow(
        new AbiError("a string is not valid Unicode"),
      );
    }
  });
});
