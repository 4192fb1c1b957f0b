// Supervised agents

export type { AgentEnd, AgentHandle } from "../supervisor/agent.ts";
export type { Slug } from "../supervisor/messages.ts";
export {
  type AgentOptions,
  openSupervisor,
  type Supervisor,
  type SupervisorOptions,
} from "../supervisor/supervisor.ts";

// What agents may have done for them

export type { AgentCapabilities } from "../policy/agent-capabilities.ts";
export { CapabilityKernel, type KernelChange } from "../policy/capability-kernel.ts";
export { kernelPolicy } from "../supervisor/access/kernel-policy.ts";
