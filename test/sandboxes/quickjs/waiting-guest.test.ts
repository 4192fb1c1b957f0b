import { expect, test } from "vitest";
import type { TaskSuspension } from "../../../src/sandboxes/contract/suspension.ts";
// Inside: its stored bytes are broken, which the engine never stores.
import { WaitingGuest } from "../../../src/sandboxes/quickjs/suspension/waiting-guest.ts";

/** A guest whose stored bytes are no heap. */
function broken(resume: () => Promise<void>): WaitingGuest {
  const suspension = { resume } as TaskSuspension;
  const template = { digest: "d", bytes: () => new Uint8Array(), dictionary: new Uint8Array(8) };
  return new WaitingGuest(
    new Uint8Array([1, 2, 3]),
    suspension,
    () => template,
    2 ** 24,
    () => {},
  );
}

test("a guest that must not go on is refused for that, whatever its bytes are", async () => {
  const guest = broken(() => Promise.reject(new Error("it went on before")));
  await expect(guest.resume(false)).rejects.toThrow("it went on before");
});

test("a guest whose bytes are no heap has been taken when it is refused", async () => {
  let taken = 0;
  const guest = broken(async () => void taken++);
  await expect(guest.resume(false)).rejects.toThrow("its heap cannot be decompressed");
  expect(taken).toBe(1);
});
