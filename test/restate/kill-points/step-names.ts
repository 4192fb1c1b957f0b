/** Handlers that change nothing, so that it does not matter when they end. */
const READS = [
  ...["list", "read", "ping", "cancelledTurns", "turnIds", "isForgotten"],
  ...["messages", "calls", "execution"],
];

/** Whether calling a handler is a step of a message. */
export function isStep(path: string, handler: string): boolean {
  return path.includes("/Sandgate") && !READS.includes(handler);
}
