// Running an executor

export { type Executor, type ExecutorOptions, startExecutor } from "../executor/executor.ts";
export type { CallWindowBounds, ExecutorLimits } from "../executor/load/limits.ts";

// Errors

export { ListenError } from "../executor/http/listen-address.ts";
