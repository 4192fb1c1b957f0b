/** Handlers that change nothing, so that it does not matter when they end. */
const READS = [
  "list",
  "read",
  "ping",
  "cancelledTurns",
  "turnIds",
  "isForgotten",
  "messages",
  "calls",
  "execution",
];

/** Names the calling of a handler, a step of a message: `accept`, `Inquiry.add`. Returns `undefined` if it is none. */
export function nameOf(path: string): string | undefined {
  const service = /\/Sandgate(\w+)\//.exec(path)?.[1];
  const handler = path.split("/").at(-1) as string;
  if (service === undefined || READS.includes(handler)) return undefined;
  return service === "Session" ? handler : `${service}.${handler}`;
}
