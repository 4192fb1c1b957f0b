export { MAX_AGENT_DEPTH } from "../sessions/agent-session.ts";
export type { RunAgent } from "../sessions/agent-tools.ts";
export { type AgentToolsOptions, agentTools } from "../sessions/agent-tools.ts";
