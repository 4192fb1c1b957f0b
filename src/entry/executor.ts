// Running an executor

export { type Executor, startExecutor } from "../executor/executor.ts";
export type { ExecutorLimits } from "../executor/load/limits.ts";
export type { ExecutorOptions } from "../executor/options.ts";
export type { ServerTls } from "../executor/tls/server-tls.ts";
export type { ProblemCode } from "../remote-protocol/problems.ts";

// Errors

export { ListenError } from "../executor/http/listen-address.ts";
