import { expect, test } from "vitest";
// Inside: shares 10 bytes between callers; machines take hundreds of MiB each.
import { MachineMemory } from "../../../src/sandboxes/microvm/machine-pool.ts";

const never = new AbortController().signal;

test("memory is given in the order in which machines asked for it, and never more than there is", async () => {
  const memory = new MachineMemory(10);
  expect(memory.tryAcquire(6)).toBe(true);
  const order: string[] = [];
  const large = memory.acquire(8, never).then(() => order.push("large"));
  const small = memory.acquire(2, never).then(() => order.push("small"));
  // There would be room for it, but another machine waits.
  expect(memory.tryAcquire(1)).toBe(false);
  memory.release(6);
  await Promise.all([large, small]);
  expect(order).toEqual(["large", "small"]);
  expect(memory.tryAcquire(1)).toBe(false);
  memory.release(8);
  expect(memory.tryAcquire(8)).toBe(true);
});

test("callers take turns for memory", async () => {
  const memory = new MachineMemory(10);
  memory.tryAcquire(10);
  const order: string[] = [];
  const taking = ["ann 1", "ann 2", "ann 3", "bob 1"].map(async (name) => {
    await memory.acquire(5, never, { principal: name.slice(0, 3) });
    order.push(name);
    memory.release(5);
  });
  memory.release(10);
  await Promise.all(taking);
  expect(order).toEqual(["ann 1", "bob 1", "ann 2", "ann 3"]);
});

test("a machine that does not wait any longer lets those behind it go on", async () => {
  const memory = new MachineMemory(10);
  memory.tryAcquire(6);
  const impatient = new AbortController();
  const large = memory.acquire(8, impatient.signal);
  const small = memory.acquire(4, never);
  impatient.abort();
  expect(await Promise.all([large, small])).toEqual([false, true]);
  expect(await memory.acquire(1, AbortSignal.abort())).toBe(false);
});

test("a machine that would never have room is refused", async () => {
  await expect(new MachineMemory(10).acquire(11, never)).rejects.toThrow("needs 11 bytes");
});
