import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import {
  allow,
  type DispatchContext,
  defineTool,
  type JsonObject,
  openSandboxes,
  ToolDispatchEngine,
  ToolRegistry,
} from "sandgate";
import { type AgentOptions, CapabilityKernel, openSupervisor } from "sandgate/supervisor";
import { NotHereError, type OpenCase } from "../harness/case.ts";
import { INPUT_SCHEMA } from "../setting.ts";
import { openRounds, type Pace, Rounds } from "./rounds.ts";

const AGENT = fileURLToPath(new URL("../fixtures/agent.mjs", import.meta.url));

/** The same function under the same schema for both. */
const echo = defineTool({
  name: "echo",
  description: "",
  inputSchema: INPUT_SCHEMA,
  sideEffects: "none",
  host: (input: unknown) => input,
});

/** Opens a case in which a supervisor answers agents. */
export async function openSupervised(
  pace: Pace,
  agents: number,
  confinement: NonNullable<AgentOptions["confinement"]>,
): Promise<OpenCase> {
  const byAgent = new Map<string, Rounds>();
  const next = defineTool({
    name: "next",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: (input, { agent }) => byAgent.get(agent?.id ?? "")?.next((input as { right: number }).right),
  });
  const registry = new ToolRegistry().register(echo).register(next);
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const supervisor = openSupervisor({ registry, kernel: new CapabilityKernel(), sandboxes });
  for (let index = 0; index < agents; index++) {
    const id = `agent-${index}`;
    byAgent.set(id, new Rounds(pace));
    await supervisor
      .start({
        id,
        command: process.execPath,
        args: [AGENT],
        cwd: dirname(AGENT),
        confinement,
        capabilities: { tools: ["echo", "next"] },
      })
      .catch((error) => {
        throw new NotHereError(String(error));
      });
  }
  return {
    ...(await openRounds([...byAgent.values()], pace)),
    close: async () => {
      await supervisor.close();
      await sandboxes.close();
    },
  };
}

/** Opens a case in which each line is parsed, its call dispatched, and the result written as a line. */
export async function openBare(pace: Pace, agents: number): Promise<OpenCase> {
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const registry = new ToolRegistry().register(echo);
  const decision = allow({ sandbox: "host" });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const children = Array.from({ length: agents }, () => startBare(pace, engine, ctx));
  return {
    ...(await openRounds(
      children.map(({ rounds }) => rounds),
      pace,
    )),
    close: async () => {
      await Promise.all(children.map(({ end }) => end()));
      await sandboxes.close();
    },
  };
}

function startBare(
  pace: Pace,
  engine: ToolDispatchEngine,
  ctx: DispatchContext,
): { readonly rounds: Rounds; end(): Promise<unknown> } {
  const rounds = new Rounds(pace);
  const child = spawn(process.execPath, [AGENT], { cwd: dirname(AGENT), stdio: ["pipe", "pipe", "inherit"] });
  const answer = async (line: string): Promise<void> => {
    const { tool_call_id: id, tool, args } = JSON.parse(line);
    const result =
      tool === "next"
        ? await rounds.next((args as { readonly right: number }).right)
        : (await engine.dispatch({ id, name: tool, arguments: args as JsonObject }, ctx))?.output;
    child.stdin.write(`${JSON.stringify({ op: "tool_response", tool_call_id: id, ok: true, result })}\n`);
  };
  let rest = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) void answer(line);
  });
  return {
    rounds,
    end: () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      return ended;
    },
  };
}
