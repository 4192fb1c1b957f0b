import { CALLS } from "./calls.ts";
import { CONFIRMATIONS } from "./confirmations.ts";
import { EXECUTOR } from "./executor.ts";
import { JOURNAL } from "./journal.ts";
import { type Operation, operations, REFUSALS, type Reason } from "./operation.ts";
import { PAGES } from "./pages.ts";
import { SERVER } from "./server.ts";
import { SESSIONS } from "./sessions.ts";
import { TURNS } from "./turns.ts";

/** Every route, by its name. */
export const OPERATIONS = operations({
  ...EXECUTOR,
  ...SESSIONS,
  ...TURNS,
  ...CONFIRMATIONS,
  ...JOURNAL,
  ...CALLS,
  ...SERVER,
  ...PAGES,
});

/** The routes of a server of sessions, which check a client as {@link refusalsOf} says. */
const OF_CLIENTS: ReadonlySet<Operation> = new Set<Operation>(
  [SESSIONS, TURNS, CONFIRMATIONS, JOURNAL, CALLS, SERVER].flatMap((group) => Object.values(group)),
);

/** Why a request of any client of such a server is refused. */
const OF_ANY = [
  REFUSALS.Unauthenticated,
  REFUSALS.Forbidden,
  REFUSALS.Expired,
  REFUSALS.Misdirected,
  REFUSALS.Altered,
  REFUSALS.Replayed,
  REFUSALS.Overloaded,
  REFUSALS.InternalError,
];
/** Why a request with a body is refused, too. */
const OF_BODIES = [
  REFUSALS.BodyInvalid,
  REFUSALS.LengthRequired,
  REFUSALS.TooLarge,
  REFUSALS.UnsupportedMediaType,
];

/** Why the route of an operation refuses a request: one reason for each status, in their order. */
export function refusalsOf(operation: Operation): readonly Reason[] {
  const { refusals: own = [], body, query, isAlwaysThere = false } = operation;
  const others = !OF_CLIENTS.has(operation)
    ? []
    : [
        ...OF_ANY,
        ...(body !== undefined
          ? OF_BODIES
          : [query === undefined ? REFUSALS.HostInvalid : REFUSALS.QueryInvalid]),
        ...(isAlwaysThere ? [] : [REFUSALS.NotFound]),
      ];
  const byStatus = new Map([...others, ...own].map((each) => [each.status, each]));
  return [...byStatus.values()].sort((one, other) => one.status - other.status);
}
