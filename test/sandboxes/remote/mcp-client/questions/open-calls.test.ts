import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/json/value.ts";
import { OpenCalls } from "../../../../../src/sandboxes/remote/mcp-client/questions/open-calls.ts";

const FORM = { method: "elicitation/create", params: { message: "Which city?" } };
const LIVE = new AbortController().signal;

function message(id: number): Parameters<OpenCalls["cameAlone"]>[0] {
  return { jsonrpc: "2.0", id, ...FORM };
}

/** Calls whose clients answer with their names. */
function open(...names: readonly string[]) {
  const calls = new OpenCalls();
  const withdrawn: string[] = [];
  const byName = new Map(
    names.map((name) => {
      const ending = Promise.withResolvers<void>();
      const stopping = new AbortController();
      const link = {
        capabilities: {},
        ask: (_key: string, _request: object, signal: AbortSignal): Promise<JsonObject> => {
          if (name !== "waits") return Promise.resolve({ name });
          return new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              withdrawn.push(name);
              reject(new Error("the request was withdrawn"));
            });
          });
        },
      };
      let current: ReturnType<() => typeof calls.current>;
      const ended = calls.during({ link, signal: stopping.signal }, async () => {
        current = calls.current;
        await ending.promise;
      });
      const came = (id: number): void => {
        if (current !== undefined) calls.came(message(id), current);
      };
      const end = (): Promise<void> => {
        ending.resolve();
        return ended;
      };
      return [name, { came, end, stop: () => stopping.abort() }] as const;
    }),
  );
  const of = (name: string) => {
    const call = byName.get(name);
    if (call === undefined) throw new Error(`there is no call ${name}`);
    return call;
  };
  const ask = (id: number, signal = LIVE) => calls.ask(FORM, { id, signal });
  return { calls, withdrawn, of, ask };
}

describe("A request of a server", () => {
  test("on no call's stream asks the client of the only call", async () => {
    const { calls, ask } = open("a");
    calls.cameAlone(message(1));
    expect(await ask(1)).toEqual({ name: "a" });
  });

  test("on no call's stream asks nobody if several calls are under way, and one again when one is left", async () => {
    const { calls, ask, of } = open("a", "b");
    calls.cameAlone(message(1));
    await expect(ask(1)).rejects.toThrow("no client of a call can be asked");
    await of("a").end();
    // Which call it belongs to was decided when it came.
    await expect(ask(1)).rejects.toThrow("no client of a call can be asked");
    calls.cameAlone(message(2));
    expect(await ask(2)).toEqual({ name: "b" });
  });

  test("on a call's stream asks that call's client, however many are under way", async () => {
    const { ask, of } = open("a", "b");
    of("b").came(1);
    of("a").came(2);
    expect(await Promise.all([ask(1), ask(2)])).toEqual([{ name: "b" }, { name: "a" }]);
  });

  test("on the stream of a call that has ended asks nobody, although another one is under way", async () => {
    const { ask, of } = open("a", "b");
    of("a").came(1);
    await of("a").end();
    of("a").came(2);
    await expect(ask(1)).rejects.toThrow("no client");
    await expect(ask(2)).rejects.toThrow("no client");
  });

  test("is withdrawn from the client if the server withdraws it, and if the call is cancelled", async () => {
    const { ask, of, withdrawn } = open("waits");
    const withdrawing = new AbortController();
    of("waits").came(1);
    of("waits").came(2);
    const asked = Promise.allSettled([ask(1, withdrawing.signal), ask(2)]);
    setTimeout(() => withdrawing.abort(), 60);
    await expect.poll(() => withdrawn).toEqual(["waits"]);
    of("waits").stop();
    expect(await asked).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
    expect(withdrawn).toEqual(["waits", "waits"]);
  });

  test("is refused when the call has asked 64 times", async () => {
    const { ask, of } = open("a");
    const ends: string[] = [];
    for (let id = 0; id < 66; id += 6) {
      const ids = Array.from({ length: 6 }, (_, index) => id + index);
      for (const each of ids) of("a").came(each);
      ends.push(...(await Promise.allSettled(ids.map((each) => ask(each)))).map(({ status }) => status));
    }
    expect(ends.indexOf("rejected")).toBe(64);
    expect(ends).toHaveLength(66);
  });
});
