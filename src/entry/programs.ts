export { type AiSdkProgramOptions, toAiSdkTool } from "../programs/adapters/ai-sdk-tool.ts";
export {
  type AllowedCaller,
  type CallableDefinition,
  type CallerPatterns,
  type CodeExecution,
  readAllowedCallers,
  withAllowedCallers,
} from "../programs/adapters/allowed-callers.ts";
export {
  CodeExecutor,
  type CodeExecutorOptions,
  type CodeFunctions,
  type CodeProvider,
  type CodeResult,
} from "../programs/adapters/code-executor.ts";
export { type DescribeOptions, describe } from "../programs/catalogue/describe-tools.ts";
export type { ProgramOptions } from "../programs/program-tools.ts";
export { registerPrograms } from "../programs/register-programs.ts";

// Waiting

export { MemorySuspensionStore } from "../programs/stores/memory-store.ts";
export { SqliteSuspensionStore } from "../programs/stores/sqlite-store.ts";
export type {
  ProgramHeader,
  StoredCall,
  StoredProgram,
  SuspensionStore,
} from "../programs/stores/suspension-store.ts";
export { SuspensionStoreError } from "../programs/stores/suspension-store.ts";
export type { SuspensionKey } from "../programs/suspension/keys.ts";
export { readSuspensionKeys } from "../programs/suspension/keys.ts";
export type { SuspensionRefusal } from "../programs/suspension/suspension-error.ts";
export { SuspensionRefusedError } from "../programs/suspension/suspension-error.ts";
export type { Suspensions, SuspensionsOptions } from "../programs/suspension/suspensions.ts";
export { openSuspensions } from "../programs/suspension/suspensions.ts";
