/** How urgent a log line is. */
export type LogLevel = "debug" | "info" | "warn" | "error";
