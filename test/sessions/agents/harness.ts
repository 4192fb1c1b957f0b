import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { type AgentRequest, type AgentToolsOptions, agentTools } from "../../../src/sessions/agent-tools.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import type { Session } from "../../../src/sessions/session.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { call, type TestSessions, testSessions, tool } from "../harness.ts";

/** Tools of four classes. */
export const TOOLS: readonly Tool[] = [
  tool("look", "none"),
  tool("read", "read"),
  tool("write", "write"),
  tool("shell", "execute", undefined, { confirm: "prompt" }),
];

/** Opens sessions with these tools and those that run agents. */
export async function agentSessions(
  runAgent: AgentToolsOptions["runAgent"],
  {
    tools = TOOLS,
    worker,
    timeoutMs,
    ...more
  }: Partial<SessionsOptions> &
    Partial<Pick<AgentToolsOptions, "worker" | "timeoutMs">> & { readonly tools?: readonly Tool[] } = {},
): Promise<TestSessions> {
  let sessions: Sessions | undefined;
  const own = agentTools({
    sessions: () => sessions as Sessions,
    runAgent,
    ...(worker && { worker }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const opened = await testSessions([...tools, ...own], more);
  sessions = opened.sessions;
  return opened;
}

/** Makes one call in a turn of its own. */
export async function run(session: Session, name: string, args: JsonObject = {}): Promise<ToolExecution> {
  const execution = await session.turn().dispatch(call("c", name, args));
  if (execution === null) throw new Error("the call was aborted");
  return execution;
}

/** Has an agent run that does what `act` does. Returns the execution of the call that runs it. */
export async function spawn(
  act: (request: AgentRequest) => unknown,
  options: Parameters<typeof agentSessions>[1] & { readonly session?: Parameters<Sessions["open"]>[0] } = {},
  args: JsonObject = {},
): Promise<ToolExecution> {
  const { session: how, ...more } = options;
  const { sessions } = await agentSessions(async (request) => String(await act(request)), more);
  const session = await sessions.open({ mode: "autonomous", ...how });
  const execution = await run(session, "spawn_agent", { prompt: "Do it.", ...args });
  await sessions.close();
  return execution;
}
