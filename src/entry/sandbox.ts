// Programs that run for long

export type {
  ConfinedProgram,
  ConfinedProgramOptions,
} from "../sandboxes/process/long-running/running-program.ts";

// The contract of a sandbox

export { BoundGrant, type GrantedTask, type GrantedWork } from "../sandboxes/contract/bound-grant.ts";
export type {
  CallEffect,
  FailedOutcome,
  ResourceUse,
  SandboxOutcome,
  TaskEnd,
} from "../sandboxes/contract/outcome.ts";
export type {
  CallTool,
  NestedCall,
  NestedResult,
  Sandbox,
  SandboxRouter,
  SandboxStats,
  SandboxTask,
  TaskObserver,
} from "../sandboxes/contract/sandbox.ts";
export type { PauseWallTime } from "../tool/wall-time.ts";
