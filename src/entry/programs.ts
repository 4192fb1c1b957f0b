export { describe } from "../programs/catalogue/describe-tools.ts";
export { CodeExecutor } from "../programs/code-executor.ts";
export type { ProgramOptions } from "../programs/program-tools.ts";
export { registerPrograms } from "../programs/program-tools.ts";
export {
  type AiSdkProgramOptions,
  readAllowedCallers,
  toAiSdkTool,
  withAllowedCallers,
} from "../programs/provider-adapters.ts";

// Waiting

export { MemorySuspensionStore } from "../programs/stores/recorded-store.ts";
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
