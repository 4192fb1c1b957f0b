import { randomUUID } from "node:crypto";
import { type Context, service } from "@restatedev/restate-sdk";
import { defineTool, HostPolicy, openSandboxes, ToolRegistry } from "sandgate";
import { Ingress, openRestate } from "sandgate/restate";
import { openSessions } from "sandgate/sessions";
import { register } from "../../src/restate/connection/registration.ts";
import { openWorker, type RestateService } from "../../src/restate/connection/worker.ts";
import { freePorts } from "../../test/restate/free-ports.ts";
import { type RestateNode, startRestate } from "../../test/restate/restate-nodes.ts";
import type { OpenCase } from "../harness/case.ts";

const INPUT = { text: "x".repeat(100) };

/** Opens a case with a handler of Restate without Sandgate, whose work is a number of steps that are kept. */
export async function openBare(steps: number): Promise<OpenCase> {
  const restate = await startRestate();
  const { ingress: url, admin } = restate.nodes[0] as RestateNode;
  const run = async (ctx: Context, input: typeof INPUT): Promise<string> => {
    for (let step = 1; step < steps; step++) await ctx.run(`step ${step}`, () => ({ step }));
    return ctx.run("effect", () => input.text);
  };
  const bare = service({ name: "bare", handlers: { run } }) as RestateService;
  const worker = await openWorker({ services: [bare], host: "127.0.0.1", port: 0 });
  await register({ admin: [admin], advertise: `http://127.0.0.1:${worker.port}`, services: ["bare"] });
  const ingress = new Ingress({ urls: [url] });
  return {
    run: () => ingress.call({ service: "bare", handler: "run", input: INPUT, idempotencyKey: randomUUID() }),
    check: (answer) => {
      if (answer !== INPUT.text) throw new Error("a wrong answer");
    },
    close: async () => {
      await ingress.close();
      await worker[Symbol.asyncDispose]();
      await restate[Symbol.asyncDispose]();
    },
  };
}

/** A call alone, as an invocation of Restate, or as a message of a session. */
export type Way = "call" | "message";

/** Opens a case in which a host function is called durably. */
export async function openDurable(way: Way): Promise<OpenCase> {
  const restate = await startRestate();
  const { ingress: url, admin } = restate.nodes[0] as RestateNode;
  const [port] = (await freePorts(1)) as [number];
  const durable = await openRestate({ ingress: url, admin, listen: { port } });
  const registry = new ToolRegistry().register(
    defineTool({
      name: "note",
      description: "",
      inputSchema: { type: "object" },
      confirm: "auto",
      host: ({ text }) => text,
    }),
  );
  const sandboxes = await openSandboxes();
  const sessions = await openSessions({ registry, sandboxes, policy: new HostPolicy(), durable });
  const session = await sessions.open();
  const ingress = new Ingress({ urls: [url] });
  const call = { id: "c", name: "note", arguments: INPUT };
  const address = { service: "SandgateSession", key: session.id, handler: "call" };
  const runCall = (): Promise<unknown> => {
    const messageId = randomUUID();
    // As a message gives it to its calls.
    const known = {
      record: { id: session.id, mode: "cautious", kind: "main", openedAt: 0 },
      readAt: Date.now(),
    };
    const input = { sessionId: session.id, turnId: "t", messageId, call, session: known };
    return ingress.call({ ...address, input, idempotencyKey: messageId });
  };
  const turn = session.turn();
  return {
    run: way === "call" ? runCall : () => turn.dispatch(call),
    check: (answer) => {
      const { output } = answer as { readonly output?: unknown };
      if (output !== INPUT.text) throw new Error("a wrong answer");
    },
    close: async () => {
      await sessions.close();
      await ingress.close();
      await sandboxes.close();
      await restate[Symbol.asyncDispose]();
    },
  };
}
