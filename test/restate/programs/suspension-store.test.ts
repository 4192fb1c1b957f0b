import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Ingress } from "../../../src/restate/connection/ingress.ts";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import { RestateSuspensionStore } from "../../../src/restate/store/suspension-store.ts";
import { Lives } from "../../programs/suspension/lives.ts";
import { program } from "../../programs/suspension/setting.ts";
import { type RestateStores, startRestateStores } from "../store/restate-stores.ts";

let restate: RestateStores;
beforeAll(async () => {
  restate = await startRestateStores();
});
afterAll(() => restate[Symbol.asyncDispose]());

const ALL = `export default async ({ to }, { tools }) => ({
  paid: await Promise.all(to.map((each) => tools.call("pay", { to: each }))),
});`;

describe("A program whose process keeps it on Restate", () => {
  test("can wait for 64 answers in any order, in two processes", async () => {
    const calls: string[] = [];
    const pay = {
      name: "pay",
      description: "",
      inputSchema: { type: "object" },
      sideEffects: "write" as const,
      host: ({ to }: { readonly to: string }) => {
        calls.push(to);
        return 7;
      },
    };
    const options = { ingress: restate.ingress, prefix: restate.newPrefix() };
    const lives = new Lives([program(ALL), pay as never], {
      sessions: new RestateSessionStore(options),
      programs: new RestateSuspensionStore(options),
    });
    const to = Array.from({ length: 64 }, (_, index) => `${index}`);
    const first = await lives.begin();
    await first.call({ to });
    await first.waits(32);
    const second = await lives.begin();
    for (let left = 64; left > 0; left--) {
      const open = await second.waits(Math.min(left, 32));
      await second.answer(open[(left * 7) % open.length] as never);
    }
    expect((await second.result()).output).toMatchObject({ paid: to.map(() => 7) });
    expect(calls.toSorted()).toEqual(to.toSorted());
    // The result does not wait until the program is removed.
    await vi.waitFor(async () => expect(await second.suspensions.list()).toEqual([]), 20_000);
  });
});

describe("Stores of programs of two servers on one Restate", () => {
  const PROGRAM = {
    ...({
      id: "a".repeat(32),
      revision: 1,
      state: "waiting",
      sessionId: "s1",
      turnId: "",
      messageId: "",
    } as const),
    callId: "c1",
    toolName: "run_program",
    digest: "d1",
    build: "b1",
    template: "t1",
    definitions: "e1",
    suspendedAt: 1_000,
    waitUntil: 9_000,
    keyId: "k1",
    open: [],
    sealed: new Uint8Array(2_000_000).fill(7),
  };

  test("give a program to one of them, and have it after the node was killed", async () => {
    const prefix = restate.newPrefix();
    const [one, other] = [1, 2].map(() => {
      const ingress = new Ingress({ urls: [restate.node.ingress] });
      return { ingress, store: new RestateSuspensionStore({ ingress, prefix }) };
    }) as [
      { ingress: Ingress; store: RestateSuspensionStore },
      { ingress: Ingress; store: RestateSuspensionStore },
    ];
    const template = new Uint8Array(700_000).map((_, index) => index % 251);
    await one.store.addTemplate("t1", template);
    await one.store.put(PROGRAM, []);
    const taken = await Promise.all([one, other].map(({ store }) => store.take(PROGRAM.id, 1)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    await restate.node.kill();
    await restate.node.start();
    expect(await other.store.get(PROGRAM.id)).toEqual({ ...PROGRAM, state: "taken" });
    expect(await other.store.template("t1")).toEqual(template);
    for (const { ingress, store } of [one, other]) {
      store.close();
      await ingress.close();
    }
  });
});
