import { expect, test } from "vitest";
import { callerOf } from "../../src/http/authentication.ts";
import { Client } from "../../src/http/clients.ts";
// Inside: its reads last as long as it says; those of a small journal end at once.
import { Reads } from "../../src/server/routes/journal.ts";

function requestOf(token: string) {
  const sender = { principal: undefined, caller: callerOf({ token }), credential: "", isSigned: false };
  const client = new Client(sender, { roles: ["reader"] });
  return { client, closed: new AbortController().signal, revoked: new AbortController().signal };
}

test("a client has two reads at once, all have eight, and each further client has one", async () => {
  const reads = new Reads();
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = (name: string): Promise<void> => reads.run(requestOf(name), () => promise);
  const all = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "f"].map(read);
  for (const name of ["a", "b", "e"]) {
    await expect(read(name)).rejects.toMatchObject({ code: "overloaded", status: 429 });
  }
  resolve();
  await Promise.all(all);
  await read("a");
});

test("a read whose credential is revoked ends with 401", async () => {
  const revoking = new AbortController();
  const reading = new Reads().run({ ...requestOf("a"), revoked: revoking.signal }, async (signal) => {
    revoking.abort();
    signal.throwIfAborted();
  });
  await expect(reading).rejects.toMatchObject({ code: "unauthenticated" });
});
