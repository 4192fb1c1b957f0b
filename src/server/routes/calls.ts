import { basename } from "node:path";
import { ReadableStream as WebStream } from "node:stream/web";
import type { PolicyExplanation } from "../../policy/explanation.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { render, textOf } from "../../rendering/render.ts";
import type { Client } from "../access/client.ts";
import type { CallRecord } from "../console/calls/call-record.ts";
import type { CallSuggestion, CallSuggestions } from "../console/calls/call-suggestion.ts";
import { callSummary, numberOf, refOf, sees } from "../console/calls/call-view.ts";
import { missedInWords } from "../console/calls/missed-words.ts";
import type { Console } from "../console/console.ts";
import type { EventStreamOptions } from "../events/event-stream.ts";
import { badRequest, notFound } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import { consoleOf } from "./console.ts";
import { EVENT_STREAM_HEADERS } from "./events.ts";
import type { App } from "./session-app.ts";

/** Why a policy decided on a call as it did. */
interface CallExplanation {
  readonly decision: "allow" | "ask" | "deny";
  /** Why the call is denied, or what a person is asked. */
  readonly reason?: string;
  /** The rules that led to the decision. */
  readonly rules: readonly {
    readonly name: string;
    readonly matched: true;
    readonly because: readonly string[];
    /** The name of the file that has the rule, and the line; absent if the rule was made in code. */
    readonly file?: string;
    readonly line?: number;
  }[];
  /** The rules that would have allowed a denied call. */
  readonly near: readonly { readonly rule: string; readonly missed: readonly string[] }[];
  /** What the call was granted, as JSON text. */
  readonly grant?: string;
  readonly policyRevision?: string;
}

/** The most characters of one text. */
const CHARS = 20_000;

/** The most calls of one event. */
const MAX_CALLS = 500;

/** Milliseconds after which a silent stream sends a comment, so that dead connections are found. */
const KEEP_ALIVE_MS = 15_000;

const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

/** Options of {@link callFeed}. */
interface CallFeedOptions extends Pick<EventStreamOptions, "signal" | "unread" | "epoch"> {
  readonly console: Console;
  readonly client: Client;
}

const STATES: readonly string[] = ["running", "waiting", "ended"];
const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 500;

/** Lists the latest calls, and sends their changes. */
export function callRoutes(app: App, service: SessionService): void {
  const { epoch } = service;

  app.get("/v1/calls", ({ env, req, json }) => {
    const { calls, redaction } = consoleOf(service);
    const { state, tool, session, code, before, limit } = req.query();
    if (state !== undefined && !STATES.includes(state))
      throw badRequest(`state must be one of ${STATES.join(", ")}`);
    const matches = (record: CallRecord): boolean =>
      (state === undefined || (record.hasEnded ? "ended" : record.state) === state) &&
      hasPart(record.toolName, tool) &&
      (hasPart(record.sessionId, session) || hasPart(record.session?.name, session)) &&
      hasPart(record.error?.code, code) &&
      sees(env.client, record);
    const most = limitOf(limit);
    const found: CallRecord[] = [];
    for (const record of calls.before(before === undefined ? undefined : refNumber(before))) {
      if (matches(record)) found.push(record);
      if (found.length > most) break;
    }
    const last = found.length > most ? found[most - 1] : undefined;
    return json({
      calls: found.slice(0, most).map((record) => callSummary(record, epoch, redaction)),
      ...(last && { next: refOf(epoch, last.number) }),
    });
  });

  app.get("/v1/calls/events", ({ env }) => {
    const console = consoleOf(service);
    service.refuseIfEnding();
    const { client } = env;
    const stream = callFeed({ console, client, epoch, ...service.stream(env) });
    return new Response(stream, { headers: EVENT_STREAM_HEADERS });
  });

  app.get("/v1/calls/:ref", async ({ env, req, json }) => {
    const console = consoleOf(service);
    const record = console.calls.get(numberOf(epoch, req.param("ref")) ?? 0);
    if (record === undefined || !sees(env.client, record)) throw notFound();
    return json(await callDetails(record, epoch, console));
  });

  function refNumber(ref: string): number {
    const number = numberOf(epoch, ref);
    if (number === undefined) throw badRequest("before must be a reference of a call of this server");
    return number;
  }
}

function hasPart(text: string | undefined, part: string | undefined): boolean {
  return part === undefined || (text?.includes(part) ?? false);
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw badRequest(`limit must be a number from 1 to ${MAX_LIMIT}`);
  return limit;
}

/**
 * Returns what changes as server-sent events: `calls`, `lost`, `server` and `attention`. Each is made when the client has read
 * the one before it, from how the calls are then.
 */
function callFeed(options: CallFeedOptions): ReadableStream<Uint8Array> {
  return WebStream.from(eventsOf(options)) as ReadableStream<Uint8Array>;
}

async function* eventsOf({
  console,
  client,
  epoch,
  signal,
  unread,
}: CallFeedOptions): AsyncGenerator<Uint8Array> {
  const { calls, beat, redaction } = console;
  let seen = calls.changes;
  let server = "";
  let attention = console.attention;
  while (!signal.aborted) {
    const { version } = beat;
    const now = JSON.stringify({ type: "server", server: console.server });
    if (now !== server) yield write("server", now);
    server = now;
    if (attention !== console.attention) yield write("attention", JSON.stringify({ type: "attention" }));
    attention = console.attention;
    const changed = [...calls.changedSince(seen)].filter((record) => sees(client, record));
    seen = calls.changes;
    let lost = Math.max(changed.length - MAX_CALLS, 0);
    if (changed.length > 0) {
      const latest = changed.slice(0, MAX_CALLS).map((record) => callSummary(record, epoch, redaction));
      const chunk = write("calls", JSON.stringify({ type: "calls", calls: latest }));
      if (unread.take(chunk.length)) {
        try {
          yield chunk;
        } finally {
          unread.giveBack(chunk.length);
        }
      } else lost = changed.length;
    }
    if (lost > 0) yield write("lost", JSON.stringify({ type: "lost", count: lost }));
    if (await beat.wait(version, signal, KEEP_ALIVE_MS)) yield KEEP_ALIVE;
  }
}

/** @param data JSON text, which has no line breaks. */
function write(type: string, data: string): Uint8Array {
  return Buffer.from(`event: ${type}\ndata: ${data}\n\n`);
}

/**
 * A whole call. Its texts are foreign: they are without secrets, and what is not what it looks like is escaped.
 *
 * @param console That of the server, which hides secrets and finds suggestions.
 */
async function callDetails(
  record: CallRecord,
  epoch: string,
  { redaction, suggestions }: { readonly redaction: Redaction; readonly suggestions: CallSuggestions },
): Promise<object> {
  const show = (text: string, syntax: "text" | "json" = "text"): string =>
    textOf(render(redaction.text(text), { syntax, keepsLines: true, chars: CHARS }));
  const { argumentsText, output, log, error, detail, receipt, requestId } = record;
  const explanation = await explainCall(record, redaction);
  const suggestion = await suggestions.for(record);
  return {
    ...callSummary(record, epoch, redaction),
    ...(argumentsText !== undefined && { arguments: show(argumentsText, "json") }),
    ...(output !== undefined && { output: show(output, "json") }),
    log: log.map((line) => show(line)),
    ...(error && {
      error: {
        code: error.code,
        message: show(error.message),
        effect: error.effect,
        ...(error.limit !== undefined && { limit: error.limit }),
        ...(detail !== undefined && { detail: show(detail) }),
      },
    }),
    ...(explanation && {
      explanation: {
        ...explanation,
        ...(explanation.reason !== undefined && { reason: show(explanation.reason) }),
        rules: explanation.rules.map(({ name, because, file, ...rule }) => ({
          name: show(name),
          ...rule,
          because: because.map((text) => show(text)),
          ...(file !== undefined && { file: show(file) }),
        })),
        near: explanation.near.map(({ rule, missed }) => ({
          rule: show(rule),
          missed: missed.map((text) => show(text)),
        })),
        ...(explanation.grant !== undefined && { grant: show(explanation.grant, "json") }),
      },
    }),
    ...(suggestion && { suggestion: shownSuggestion(suggestion, show) }),
    ...(receipt && { receipt }),
    ...(requestId !== undefined && { confirmation: { requestId } }),
  };
}

/** The rules have visible ASCII only, and no secret: they are copied as they are. */
function shownSuggestion(suggestion: CallSuggestion, show: (text: string) => string): CallSuggestion {
  if ("withheld" in suggestion) return { withheld: show(suggestion.withheld) };
  const { text, where, widens, ...others } = suggestion;
  return { ...others, text: show(text), where: show(where), widens: widens.map((line) => show(line)) };
}

/**
 * Explains the decision on a call: by the policy that decided, if it decides the same again. It may not if it depends on what
 * came before the call, or on the time.
 *
 * @param redaction Hides secrets in the arguments that near misses name.
 */
async function explainCall(
  { decision: recorded, decided }: CallRecord,
  redaction: Redaction,
): Promise<CallExplanation | undefined> {
  if (recorded === undefined) return undefined;
  const { decision, reason, near = [], policyRevision } = recorded;
  let explained: PolicyExplanation | undefined;
  try {
    explained = await decided?.policy.explain?.(decided.request);
  } catch {
    // A policy that cannot explain itself still has decided.
  }
  if (explained?.decision.decision !== decision) explained = undefined;
  const again = explained?.decision;
  const grant = again !== undefined && again.decision !== "deny" ? again.grant : undefined;
  const input = decided && redaction.json(decided.request.input);
  const say = (missed: string, rule: string): string =>
    decided === undefined || input === undefined
      ? missed
      : missedInWords(missed, rule, decided.policy, input);
  const because = (name: string): readonly string[] =>
    (explained?.rules ?? []).flatMap((rule) =>
      rule.name === name && rule.matched !== "no" ? [rule.why] : [],
    );
  return {
    decision,
    ...(reason !== undefined && { reason }),
    rules: recorded.rules.map((name) => ({
      name,
      matched: true,
      because: because(name),
      ...placeOf(name, decided?.policy),
    })),
    near: near.map(({ rule, missed }) => ({
      rule,
      missed: missed.split("; ").map((each) => say(each, rule)),
    })),
    ...(grant && { grant: JSON.stringify(grant) }),
    ...(policyRevision !== undefined && { policyRevision }),
  };
}

/** Finds a rule by its name, which only the rules of one file have to differ in. */
function placeOf(name: string, policy: RuntimePolicy | undefined): { file?: string; line?: number } {
  const found = (policy?.places ?? []).flatMap((place) =>
    (place?.rules ?? []).flatMap((rule) =>
      rule.name === name ? [{ file: basename(place?.file ?? ""), line: rule.line }] : [],
    ),
  );
  const [only, ...others] = found;
  return others.length === 0 && only !== undefined ? only : {};
}
