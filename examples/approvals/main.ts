/**
 * An agent loop that dispatches calls on a Sandgate server, and a person who answers the server's questions. The script
 * plays the person, unless there is a terminal and `--ask` is given. Run it from the root of the repository, after
 * `npm run build`: `node examples/approvals/main.ts --ask`.
 */
import { HostPolicy, openSandboxes } from "sandgate";
import { startServer } from "sandgate/server";
import { runAgent } from "./agent.ts";
import { Approver, askOnTerminal, decideByRule } from "./approver.ts";
import { registerTools } from "./tools.ts";

// Real ones come from files: each client has its own.
const tokens = { agent: "the-token-of-the-agent", ann: "the-token-of-ann-the-person" };

await using sandboxes = await openSandboxes();
await using server = await startServer({
  registry: registerTools(),
  policy: new HostPolicy(),
  sandboxes,
  listen: "127.0.0.1:0",
  credentials: [
    { id: "agent", token: tokens.agent, roles: ["caller"] },
    { id: "ann", token: tokens.ann, roles: ["approver"], approves: ["agent"] },
  ],
  sessions: {},
});
const url = `http://${server.address}`;

const asks = process.argv.includes("--ask") && process.stdin.isTTY;
const approver = new Approver(url, tokens.ann, asks ? askOnTerminal : decideByRule);
const ended = new AbortController();
const approving = approver.run(ended.signal);
for (const line of await runAgent(url, tokens.agent)) console.log(line);
ended.abort();
await approving;
