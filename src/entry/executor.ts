// Running an executor

export { type Executor, startExecutor } from "../executor/executor.ts";
export type { NamedCertificate, NamedToken } from "../executor/http/authentication.ts";
export type { RefusedCall, RefusedRequest } from "../executor/http/refused-request.ts";
export type { CallWindowBounds, ExecutorLimits } from "../executor/load/limits.ts";
export type { ExecutorOptions } from "../executor/options.ts";
export type { ServerTls } from "../executor/tls/server-tls.ts";
export type { RefusedHandshake } from "../executor/tls/tls-connections.ts";
export type { ProblemCode } from "../remote-protocol/problems.ts";

// Errors

export { ListenError } from "../executor/http/listen-address.ts";
