import { FairBudget } from "../../base/fair-budget.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { Client } from "../../http/clients.ts";
import type { Exchange } from "../../http/exchange.ts";
import {
  badRequest,
  revoked as credentialRevoked,
  draining,
  notFound,
  overloaded,
  unavailable,
} from "../../http/refusals.ts";
import type { JournalHistory } from "../../journal/history/journal-history.ts";
import type { HistoryQuery } from "../../journal/history/list-calls.ts";
import { JournalError } from "../../journal/journal-error.ts";
import { type JournalOverview, OVERVIEW_RANGES } from "../../journal/overview/overview.ts";
import { CALL_OUTCOMES, principalIn } from "../../journal/read/record-members.ts";
import type { JsonValue } from "../../json/value.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { OverviewNumbers, RecordedCall, RecordedOverview } from "../../shapes/journal.ts";
import { JOURNAL, MAX_LISTED_RECORDS } from "../../shapes/journal.ts";
import { callDetail, callView, reportView, shownName } from "../journal-views.ts";
import type { Inspected, SessionService } from "../service.ts";
import { mcpServersOf } from "../session-metrics.ts";
import { type App, pageOf, serve } from "./serve.ts";

/** Milliseconds after which a verification ends. */
const MAX_VERIFICATION_MS = 600_000;
const MAX_FILTER_CHARS = 2_048;
const ANSWERS = ["any", "allow", "deny", "quick"] as const;
const MAX_KNOWN_NAMES = 1_000;
const FILTERS = ["tool", "session", "code", "rule", "sandbox", "reached", "answeredBy"] as const;
const SEQ = /^[1-9]\d{0,15}$/;

/** Shows what the journal has of calls. */
export function journalRoutes(app: App, service: SessionService): void {
  const { inspected } = service;
  const reads = new Reads();
  const { redaction } = inspected;

  serve(app, JOURNAL.describeJournal, async ({ env, json }) => {
    const history = historyOf(inspected);
    const { isHealthy, isSigned, ...others } = await reads.run(env, () => orUnavailable(history.summary()));
    return json({
      health: isHealthy ? "healthy" : "unhealthy",
      checkpoints: isSigned ? "signed" : "none",
      ...others,
    });
  });

  serve(app, JOURNAL.listRecordedCalls, async ({ env, req, json }) => {
    const history = historyOf(inspected);
    const query = req.query();
    const page = {
      ...pageOf(query, MAX_LISTED_RECORDS),
      ...filtersIn(query),
      isVisible: visibleTo(env.client),
      shown: shownNames(redaction),
    };
    const { calls, next } = await reads.run(env, (signal) =>
      orUnavailable(history.calls({ ...page, signal })),
    );
    return json({
      calls: calls.map((call) => callView(call, redaction)),
      ...(next !== undefined && { next }),
    });
  });

  let isVerifying = false;
  serve(app, JOURNAL.verifyJournal, async ({ env, json }) => {
    const { closed, revoked } = env;
    const history = historyOf(inspected);
    service.refuseIfEnding();
    if (isVerifying) throw overloaded("the journal is being verified: retry when that has ended");
    isVerifying = true;
    const timeout = AbortSignal.timeout(MAX_VERIFICATION_MS);
    try {
      const signal = AbortSignal.any([closed, revoked, service.ending, timeout]);
      return json(reportView(await orUnavailable(history.verify(signal)), redaction));
    } catch (error) {
      if (revoked.aborted) throw credentialRevoked();
      if (service.ending.aborted) throw draining();
      if (timeout.aborted) throw unavailable("verifying the journal took too long: use the command", error);
      throw error;
    } finally {
      isVerifying = false;
    }
  });

  serve(app, JOURNAL.readRecordedCall, async ({ env, req, json }) => {
    const history = historyOf(inspected);
    const seq = seqOf(req.param("seq"));
    return json(
      await reads.run(env, (signal) =>
        orUnavailable(detail(history, seq, { client: env.client, inspected, signal })),
      ),
    );
  });
}

interface DetailOptions {
  readonly client: Client;
  readonly inspected: Inspected;
  readonly signal: AbortSignal;
}

async function detail(
  history: JournalHistory,
  seq: number,
  { client, inspected: { redaction }, signal }: DetailOptions,
): Promise<RecordedCall> {
  const call = await history.call(seq, signal);
  if (call === undefined || !visibleTo(client)(principalIn(call.begin))) throw notFound();
  const isSealed = call.begin["sealed"] !== undefined;
  const opened = isSealed && client.is("admin") ? await history.openArguments(call.begin, signal) : undefined;
  const value = opened && "text" in opened ? (JSON.parse(opened.text) as JsonValue) : undefined;
  return callDetail(call, redaction, value);
}

/** @throws {RequestRefusal} 400. */
function filtersIn(query: Readonly<Record<string, string>>): Partial<HistoryQuery> {
  const given = FILTERS.filter((name) => query[name] !== undefined);
  const long = given.find((name) => (query[name] ?? "").length > MAX_FILTER_CHARS);
  if (long !== undefined) throw badRequest(`${long} must have at most ${MAX_FILTER_CHARS} characters`);
  const ruled = oneOf(query, "ruled", ["true", "false"] as const);
  return {
    ...Object.fromEntries(given.map((name) => [name, query[name]])),
    ...(ruled && { isRuled: ruled === "true" }),
    outcome: oneOf(query, "outcome", CALL_OUTCOMES),
    answer: oneOf(query, "answer", ANSWERS),
    since: timeIn(query, "since"),
    until: timeIn(query, "until"),
  };
}

/** @throws {RequestRefusal} 400. */
function oneOf<Word extends string>(
  query: Readonly<Record<string, string>>,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const word = words.find((each) => each === query[name]);
  if (query[name] !== undefined && word === undefined)
    throw badRequest(`${name} must be one of ${words.join(", ")}`);
  return word;
}

/** @throws {RequestRefusal} 400. */
function timeIn(query: Readonly<Record<string, string>>, name: "since" | "until"): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`${name} must be milliseconds since the epoch`);
  return Number(text);
}

/** Returns how names of records are shown. A page has few of them, many times. */
function shownNames(redaction: Redaction): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const shown = known.get(name) ?? shownName(name, redaction);
    if (known.size < MAX_KNOWN_NAMES) known.set(name, shown);
    return shown;
  };
}

/** How many requests read the journal at once, and how many of them are of one client. */
const MAX_READS = 8;
const MAX_OWN_READS = 2;

/** Bounds how many requests read much at once. */
export class Reads {
  readonly #open = new FairBudget(MAX_READS, 1, MAX_OWN_READS);

  /**
   * Reads for a request.
   *
   * @param read Must end when the signal is aborted: the connection was closed, or the credential revoked.
   * @throws {RequestRefusal} 429 as a rejection, if too many requests read.
   */
  async run<Result>(
    { client: { name }, closed, revoked }: Pick<Exchange, "closed" | "revoked"> & { readonly client: Client },
    read: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (!this.#open.acquire(name, 1)) throw overloaded("too many requests read the journal: retry later");
    try {
      return await read(AbortSignal.any([closed, revoked]));
    } catch (error) {
      throw revoked.aborted ? credentialRevoked() : error;
    } finally {
      this.#open.release(name, 1);
    }
  }
}

/** @throws {RequestRefusal} 404 if the server has no journal. */
export function historyOf({ history }: Inspected): JournalHistory {
  if (history === undefined) throw notFound();
  return history;
}

/** Which calls a client may see: those that it would see in sessions. */
export function visibleTo(client: Client): (principal: string | undefined) => boolean {
  return (id) => client.inspects({ principal: id === undefined ? undefined : { id } });
}

/** @throws {RequestRefusal} 404. */
export function seqOf(text: string): number {
  if (!SEQ.test(text) || !Number.isSafeInteger(Number(text))) throw notFound();
  return Number(text);
}

/** @throws {RequestRefusal} 503 if the journal cannot be read. The cause, which can have paths, is for operators. */
export async function orUnavailable<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    throw unavailable("the journal cannot be read: the operator's log says why", error);
  }
}

/** Shows what happened and how things are, in numbers. */
export function overviewRoutes(app: App, { inspected, sessions }: SessionService): void {
  const reads = new Reads();
  const { history, redaction } = inspected;

  serve(app, JOURNAL.readOverview, async ({ env, req, json }) => {
    const { client } = env;
    const asked = req.query()["range"] ?? "day";
    const range = OVERVIEW_RANGES.find((each) => each === asked);
    if (range === undefined) throw badRequest(`range must be one of ${OVERVIEW_RANGES.join(", ")}`);
    const query = { range, now: Date.now(), isVisible: visibleTo(client) };
    const recorded = history && (await reads.run(env, () => orUnavailable(history.overview(query))));
    return json({
      sessions: await sessionCounts(sessions, client),
      mcpServers: mcpServers(inspected.registry, redaction),
      ...(recorded && { recorded: recordedView(recorded, redaction) }),
    });
  });
}

/** What a client may know about the sessions that are open, in numbers. */
async function sessionCounts(sessions: Sessions, client: Client): Promise<OverviewNumbers["sessions"]> {
  const open = (await sessions.findAll()).filter((session) => client.inspects(session));
  const waiting = sessions
    .openConfirmations()
    .filter(({ principal }) =>
      client.inspects({ principal: principal === undefined ? undefined : { id: principal } }),
    );
  return {
    open: open.length,
    running: open.reduce((sum, { lanes }) => sum + lanes.running, 0),
    waiting: waiting.length,
  };
}

/** The MCP servers of the tools, in the order of their names, with their current state. */
function mcpServers(registry: ToolRegistry, redaction: Redaction): OverviewNumbers["mcpServers"] {
  return mcpServersOf(registry)
    .map(({ name, state: { isConnected, isPaused, running, waiting }, tools }) => ({
      name: shownName(name, redaction),
      isConnected,
      isPaused,
      running,
      waiting,
      tools,
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** What a journal has of a range of time, with names as they are shown. */
function recordedView(overview: JournalOverview, redaction: Redaction): RecordedOverview {
  const named = <Item extends { readonly name?: string }>(items: readonly Item[]): readonly Item[] =>
    items.map((item) =>
      item.name === undefined ? item : { ...item, name: shownName(item.name, redaction) },
    );
  const { tools, rules, sandboxes, approvers, limits, ...numbers } = overview;
  return {
    ...numbers,
    tools: named(tools),
    rules: named(rules),
    sandboxes: named(sandboxes),
    approvers: named(approvers),
    limits: named(limits),
  };
}
