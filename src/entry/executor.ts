// Running an executor

export { type Executor, startExecutor } from "../executor/executor.ts";
export type { ExecutorLimits } from "../executor/limits.ts";
export type { ExecutorOptions } from "../executor/options.ts";
export type { ServerTls } from "../http/tls/server-tls.ts";
export type { ProblemCode } from "../remote-protocol/problems.ts";

// Errors

export { ListenError } from "../http/listen-address.ts";
