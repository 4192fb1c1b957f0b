export type { RunAgent } from "../agents/agent-tools.ts";
export { type AgentToolsOptions, agentTools } from "../agents/agent-tools.ts";
export { MAX_AGENT_DEPTH } from "../sessions/agent-session.ts";
