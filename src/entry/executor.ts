// Running an executor

export { type Executor, type ExecutorOptions, startExecutor } from "../executor/executor.ts";
export type { RefusedCall, RefusedRequest } from "../executor/http/refused-request.ts";
export type { CallWindowBounds, ExecutorLimits } from "../executor/load/limits.ts";
export type { ProblemCode } from "../remote-protocol/problems.ts";

// Errors

export { ListenError } from "../executor/http/listen-address.ts";
