export { type AgentToolsOptions, agentTools } from "../agents/agent-tools.ts";
export type { RunAgent } from "../agents/run-agent.ts";
export { MAX_AGENT_DEPTH } from "../sessions/agent-session.ts";
