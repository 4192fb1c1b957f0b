import { describe, expect, test } from "vitest";
import { ReplayMemory } from "../../../src/remote-protocol/signatures/verifier.ts";

describe("ReplayMemory", () => {
  test("each nonce of each key is accepted once until its signature expires", () => {
    const memory = new ReplayMemory(2);
    expect(memory.take("a", "n", 100, 50)).toBe("fresh");
    expect(memory.take("a", "n", 100, 100)).toBe("seen");
    expect(memory.take("b", "n", 100, 50)).toBe("fresh");
  });

  test("nonces are refused at full capacity, until other signatures expire", () => {
    const memory = new ReplayMemory(1, 2);
    expect(memory.take("a", "1", 100, 50)).toBe("fresh");
    expect(memory.take("a", "2", 110, 50)).toBe("fresh");
    expect(memory.take("a", "3", 120, 60)).toBe("full");
    expect(memory.take("a", "1", 100, 60)).toBe("seen");
    expect(memory.take("a", "3", 120, 101)).toBe("fresh");
    expect(memory.take("a", "2", 110, 102)).toBe("seen");
  });

  test("a key that uses up the memory does not shut out the other keys", () => {
    const memory = new ReplayMemory(2, 10);
    for (let index = 0; index < 10; index++) expect(memory.take("a", String(index), 100, 50)).toBe("fresh");
    expect(memory.take("a", "10", 100, 50)).toBe("full");
    for (let index = 0; index < 5; index++) expect(memory.take("b", String(index), 100, 50)).toBe("fresh");
    expect(memory.take("b", "5", 100, 50)).toBe("full");
  });
});
