import { CALLS } from "./calls.ts";
import { CONFIRMATIONS } from "./confirmations.ts";
import { EXECUTOR } from "./executor.ts";
import { JOURNAL } from "./journal.ts";
import { type Operation, type Operations, problems } from "./operation.ts";
import { PAGES } from "./pages.ts";
import { SERVER } from "./server.ts";
import { SESSIONS } from "./sessions.ts";
import { TURNS } from "./turns.ts";

/** Every route, by its name. */
export const OPERATIONS: Operations = Object.freeze({
  ...EXECUTOR,
  ...SESSIONS,
  ...TURNS,
  ...CONFIRMATIONS,
  ...JOURNAL,
  ...CALLS,
  ...SERVER,
  ...PAGES,
});

/** The routes of a server of sessions, which check a client as {@link problemsOf} says. */
const OF_CLIENTS: ReadonlySet<Operation> = new Set<Operation>(
  [SESSIONS, TURNS, CONFIRMATIONS, JOURNAL, CALLS, SERVER].flatMap((group) => Object.values(group)),
);

/** Why the route of an operation refuses a request, by status: a code, and when. */
export function problemsOf(operation: Operation): Readonly<Record<number, string>> {
  const { problems: own = {}, body, query, isAlwaysThere = false } = operation;
  if (!OF_CLIENTS.has(operation)) return own;
  const malformed = [
    ...(body === undefined ? [] : ["the body is not valid JSON or does not match the schema"]),
    ...(query === undefined ? [] : ["a parameter of the query is not valid"]),
    "the `host` header is missing or not a single host",
  ].join(", or ");
  return {
    ...problems(["unauthenticated", "expired", "altered", "replayed"]),
    ...(body !== undefined && problems(["length_required", "unsupported_media_type"])),
    400: `bad_request. ${malformed.charAt(0).toUpperCase()}${malformed.slice(1)}.`,
    403: "forbidden. The client's roles do not allow this. Or unknown_key.",
    ...(!isAlwaysThere && { 404: "not_found. It does not exist, or the client may not know about it." }),
    ...(body !== undefined && { 413: "too_large. The body is larger than the server accepts." }),
    421: "misdirected. The `host` header is not a name of the server, or the origin is not listed.",
    429: "overloaded. There are too many requests, sessions or messages.",
    500: "internal_error. The server failed unexpectedly.",
    ...own,
  };
}
