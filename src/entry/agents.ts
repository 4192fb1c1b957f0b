export type { AgentToolsOptions, WorkerOptions } from "../agents/agent-tools.ts";
export { agentTools } from "../agents/agent-tools.ts";
export type { AgentRequest, RunAgent } from "../agents/run-agent.ts";
export { MAX_AGENT_DEPTH } from "../sessions/agents/open-agent.ts";
