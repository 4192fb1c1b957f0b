/**
 * Prints which files of `src` a turn over HTTP enters, from the message to the event with its end: one read call, or with the
 * argument `confirm` a call about which a person is asked, who allows it over HTTP. Other turns ran before it.
 */
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { startServer } from "../../src/server/server.ts";
import { enteredFiles } from "./entered-files.ts";

const WARM_UP = 30;
const TOKENS = { alice: "token-of-the-agent-alice", carol: "token-of-the-person-carol" };
const isConfirmed = process.argv[2] === "confirm";

await using sandboxes = await openSandboxes();
const registry = new ToolRegistry().register({
  name: "echo",
  description: "",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  sideEffects: isConfirmed ? "write" : "read",
  host: (input) => input,
});
await using server = await startServer({
  registry,
  policy: new HostPolicy(),
  sandboxes,
  listen: "127.0.0.1:0",
  sessions: {},
  credentials: [
    { id: "alice", token: TOKENS.alice, roles: ["caller"] },
    { id: "carol", token: TOKENS.carol, roles: ["approver"], approves: ["alice"] },
  ],
});
const [host, port] = server.address.split(":");
const { id } = JSON.parse(await text(await send("alice", "POST", "/v1/sessions", {}))) as { id: string };
const entered = await enteredFiles(runTurn, WARM_UP);
process.stdout.write(JSON.stringify(entered));

async function runTurn(): Promise<void> {
  const message = { calls: [{ id: "c1", name: "echo", arguments: '{"text":"x"}' }] };
  const events = await send("alice", "POST", `/v1/sessions/${id}/turns`, message);
  let read = "";
  for await (const chunk of events.setEncoding("utf8") as AsyncIterable<string>) {
    read += chunk;
    const [, requested] = /^event: tool\.confirmation_requested\ndata: (.*)\n/m.exec(chunk) ?? [];
    if (requested === undefined) continue;
    const { turnId, requestId, digest } = JSON.parse(requested) as Record<string, string>;
    const path = `/v1/sessions/${id}/turns/${turnId}/confirmations/${requestId}`;
    await text(await send("carol", "POST", path, { decision: "allow", digest }));
  }
  if (!read.includes('"success":true') || read.includes("confirmation") !== isConfirmed)
    throw new Error(read);
}

function send(by: keyof typeof TOKENS, method: string, path: string, body: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({
      host,
      port,
      method,
      path,
      headers: {
        authorization: `Bearer ${TOKENS[by]}`,
        accept: "text/event-stream",
        "content-type": "application/json",
      },
    });
    const written = JSON.stringify(body);
    sent.setHeader("content-length", Buffer.byteLength(written));
    sent.on("response", resolve).on("error", reject).end(written);
  });
}
