export { type AiSdkProgramOptions, toAiSdkTool } from "../programs/adapters/ai-sdk-tool.ts";
export { readAllowedCallers, withAllowedCallers } from "../programs/adapters/allowed-callers.ts";
export { CodeExecutor } from "../programs/adapters/code-executor.ts";
export { describe } from "../programs/catalogue/describe-tools.ts";
export type { ProgramOptions } from "../programs/program-tools.ts";
export { registerPrograms } from "../programs/register-programs.ts";

// Waiting

export { MemorySuspensionStore } from "../programs/stores/memory-store.ts";
export { SqliteSuspensionStore } from "../programs/stores/sqlite-store.ts";
export {
  type ProgramHeader,
  type StoredCall,
  type StoredProgram,
  type SuspensionStore,
  SuspensionStoreError,
} from "../programs/stores/suspension-store.ts";
export { readSuspensionKeys, type SuspensionKey } from "../programs/suspension/keys.ts";
export { type SuspensionRefusal, SuspensionRefusedError } from "../programs/suspension/suspension-error.ts";
export {
  openSuspensions,
  type Suspensions,
  type SuspensionsOptions,
} from "../programs/suspension/suspensions.ts";
