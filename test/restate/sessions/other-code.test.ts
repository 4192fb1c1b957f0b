import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
// Inside: registers other code under the names of the sessions, which the face never does.
import { register } from "../../../src/restate/connection/registration.ts";
import { loadSdk, openWorker, type RestateService } from "../../../src/restate/connection/worker.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let restate: RestateNodes;
beforeAll(async () => {
  // Restate is asked every 30 seconds.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  restate = await startRestate();
});
afterAll(async () => {
  vi.useRealTimers();
  await restate[Symbol.asyncDispose]();
});

/** Serves other code under the name of our sessions. */
async function otherCode() {
  const { object } = await loadSdk();
  const service = object({ name: "SandgateSession", handlers: { read: async () => "not ours" } });
  return openWorker({ services: [service as RestateService], host: "127.0.0.1", port: 0 });
}

describe("A server under whose names other code was registered later", () => {
  test("accepts no message, and names the deployment, until that is removed", async () => {
    const node = restate.nodes[0] as RestateNode;
    const [port = 0] = await freePorts(1);
    const tools = [hostTool(() => "done", { name: "read", sideEffects: "read" })];
    await using sessions = await openServer({ node, port, tools });
    const warnings: string[] = [];
    const listen = (warning: Error): number => warnings.push(warning.message);
    process.on("warning", listen);
    const turn = (await sessions.open()).turn({ id: "t" });
    const calls = [{ id: "c", name: "read", arguments: {} }];
    await using other = await otherCode();
    const advertise = `http://127.0.0.1:${other.port}`;
    const taken = await register({ admin: [node.admin], advertise, services: ["SandgateSession"] });
    await vi.advanceTimersByTimeAsync(30_000);
    await vi.waitFor(() => expect(sessions.problem).toContain(`(deployment ${taken})`), 10_000);
    expect(warnings).toEqual([expect.stringContaining(taken)]);
    const refused = turn.dispatchAll(calls, { messageId: "m" });
    await expect(refused).rejects.toMatchObject({
      code: "session_store_failed",
      message: expect.stringContaining(taken),
    });
    await fetch(`${node.admin}/deployments/${taken}?force=true`, { method: "DELETE" });
    await vi.advanceTimersByTimeAsync(30_000);
    await vi.waitFor(() => expect(sessions.problem).toBeUndefined(), 10_000);
    expect((await turn.dispatchAll(calls, { messageId: "m" }))[0]).toMatchObject({ output: "done" });
    process.off("warning", listen);
  });
});
