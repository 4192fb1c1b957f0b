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
