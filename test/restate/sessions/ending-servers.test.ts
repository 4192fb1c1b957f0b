import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { WorkerRelay } from "../kill-points/worker-relay.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let restate: RestateNodes;
beforeAll(async () => {
  restate = await startRestate();
});
afterAll(() => restate[Symbol.asyncDispose]());

/** Long enough for a server to end in the meantime. */
const ON_THE_WAY_MS = 100;

describe("A server that ends while it runs calls that must not run twice", () => {
  test("ends when Restate has what came of them, and not before", async () => {
    const node = restate.nodes[0] as RestateNode;
    const [port = 0] = await freePorts(1);
    const relay = new WorkerRelay({ delayMs: ON_THE_WAY_MS });
    const advertise = await relay.listen();
    relay.use({ workerPort: port, steps: undefined });
    const effects: string[] = [];
    let isClosed = false;
    let close = async (): Promise<void> => {};
    const note = hostTool(
      ({ text }: JsonObject) => {
        effects.push(String(text));
        void close().then(() => {
          isClosed = true;
        });
        return "noted";
      },
      { name: "note", confirm: "auto", sideEffects: "write" },
    );
    const server = { node, port, advertise, tools: [note], drainMs: 30_000 };
    const first = await openServer(server);
    const session = await first.open();
    close = () => first.close();
    const calls = [{ id: "c", name: "note", arguments: { text: "once" } }];
    // The connections of the server end with it: what became of the call is read on another one.
    const lost = session.turn({ id: "t" }).dispatchAll(calls, { messageId: "m" });
    lost.catch(() => {});
    await expect.poll(() => isClosed, { timeout: 20_000 }).toBe(true);
    close = async () => {};
    await using second = await openServer(server);
    const turn = await (await second.find(session.id))?.findTurn("t");
    const [result] = (await turn?.dispatchAll(calls, { messageId: "m" })) ?? [];
    expect(result).toMatchObject({ success: true, output: "noted" });
    expect(effects).toEqual(["once"]);
    relay.close();
  });
});
