import { beginning } from "../../../base/text.ts";
import type { DispatchEvent } from "../../../engine/call/events.ts";
import type { ExecutionReceipt } from "../../../engine/call/execution.ts";
import type { ToolError } from "../../../engine/errors.ts";
import type { CallProgress, ProgressPhase } from "../../../engine/reporting/progress.ts";
import type { CanonicalJson } from "../../../json/canonical.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { NearMiss, PolicyRequest, RuntimePolicy } from "../../../policy/policy.ts";
import type { Principal } from "../../../policy/principal.ts";
import { toLine } from "../../../rendering/shown.ts";
import type { SideEffects } from "../../../tool/side-effects.ts";

/** What a call is doing, or how it ended. */
export type CallStatus = "running" | "waiting" | "completed" | "failed" | "aborted";

/** Where a call came from: sessions have ids that the server made, and clients of the executor name theirs as they like. */
export type CallOrigin = "session" | "executor";

/** Maximum number of characters of a name, and of the arguments, the output and the log of a call. */
const NAME_CHARS = 256;
const DETAIL_CHARS = 16_384;
const MAX_LOG_LINES = 100;

/** What was decided on a call. */
export interface RecordedDecision {
  readonly decision: "allow" | "ask" | "deny";
  readonly rules: readonly string[];
  readonly reason?: string;
  readonly near?: readonly NearMiss[];
  readonly policyRevision?: string;
}

/** The call that a policy decided on, and the policy. */
export interface DecidedRequest {
  readonly request: PolicyRequest;
  readonly policy: RuntimePolicy;
}

/** The session of a call, as it was opened. */
export interface CalledSession {
  readonly name?: string | undefined;
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
}

/** The retained state of one call, which events update. Its texts are bounded, and without secrets. */
export class ConsoleCall {
  readonly number: number;
  readonly origin: CallOrigin;
  /** What the ring finds it by while it runs. */
  readonly key: string;
  readonly callId: string;
  readonly sessionId: string;
  /** Set as soon as it is known; never for a call of the executor's, whose clients name sessions as they like. */
  session: CalledSession | undefined;
  readonly toolName: string;
  readonly principal: Principal | undefined;
  /** The number of the calling call, as soon as an event names it. */
  parent: number | undefined;
  readonly sideEffects: SideEffects;
  readonly phases: Phases;
  /** Distinguishes the call from others with the same id, and has the times of its phases. */
  progress: CallProgress | undefined;
  state: CallStatus = "running";
  decision: RecordedDecision | undefined;
  error: ToolError | undefined;
  detail: string | undefined;
  sandbox: string | undefined;
  durationMs: number | undefined;
  receipt: ExecutionReceipt | undefined;
  /** The id of the latest question to a person about the call. */
  requestId: string | undefined;
  arguments: string | undefined;
  output: string | undefined;
  readonly log: string[] = [];
  logChars = 0;
  decided: DecidedRequest | undefined;
  /** While the call runs. Its text is not written before a client asks for it. */
  #canonical: CanonicalJson | undefined;
  /** Counts the changes of all calls: that of the latest one of this call. */
  changed = 0;
  /** Neighbours in the order of changes. */
  older: ConsoleCall | undefined;
  newer: ConsoleCall | undefined;
  /** As it was counted. */
  bytes = 0;

  constructor(
    number: number,
    origin: CallOrigin,
    key: string,
    event: Pick<DispatchEvent, "callId" | "sessionId" | "toolName" | "at"> & {
      readonly principal?: Principal | undefined;
    },
    { parent, sideEffects }: { readonly parent: number | undefined; readonly sideEffects: SideEffects },
  ) {
    this.number = number;
    this.origin = origin;
    this.key = key;
    this.callId = toLine(event.callId, NAME_CHARS);
    this.sessionId = toLine(event.sessionId, NAME_CHARS);
    this.toolName = toLine(event.toolName, NAME_CHARS);
    this.principal = event.principal;
    this.parent = parent;
    this.sideEffects = sideEffects;
    this.phases = new Phases(event.at);
  }

  get hasEnded(): boolean {
    return this.state !== "running" && this.state !== "waiting";
  }

  get phaseList(): readonly Phase[] {
    return this.phases.list;
  }

  /** The arguments as JSON text: its beginning, or a summary. `undefined` before they are known. */
  get argumentsText(): string | undefined {
    return this.#canonical === undefined ? this.arguments : cut(this.#canonical.text);
  }

  /** Roughly what it takes up. */
  get size(): number {
    const texts = [
      this.key,
      this.arguments,
      this.output,
      this.detail,
      this.error?.message,
      this.decision?.reason,
    ];
    const chars = texts.reduce((sum, text) => sum + (text?.length ?? 0), this.logChars);
    // A request has at most 16,384 characters of arguments, each of which can be a value.
    return (
      2_048 + chars * 2 + (this.decided === undefined ? 0 : (this.arguments?.length ?? DETAIL_CHARS) * 8)
    );
  }

  /** The policy is asked about the call. */
  ask(request: PolicyRequest, policy: RuntimePolicy): void {
    const { text, isCut } = boundedJson(request.input, DETAIL_CHARS);
    if (isCut || text.length > DETAIL_CHARS) return;
    // The history is that of a session, which continues: it would say something else later.
    this.decided = { request: { ...request, history: undefined }, policy };
  }

  take(event: DispatchEvent): void {
    const { at } = event;
    if (this.progress !== undefined) this.phases.follow(this.progress, at, "execution" in event);
    switch (event.type) {
      case "tool.decided": {
        const { decision, rules, reason, near, policyRevision, durationMs } = event;
        this.decision = {
          decision,
          rules: rules.slice(0, 100),
          ...(reason !== undefined && { reason: beginning(reason, DETAIL_CHARS) }),
          ...(near && { near }),
          ...(policyRevision !== undefined && { policyRevision }),
        };
        this.phases.add("decide", at - durationMs, durationMs);
        break;
      }
      case "tool.confirmation_requested":
        this.state = "waiting";
        this.requestId = event.requestId;
        if (event.kind === "call") this.arguments ??= beginning(event.inputSummary, DETAIL_CHARS);
        this.phases.begin("wait", at);
        break;
      case "tool.confirmation_resolved":
        this.state = "running";
        this.phases.end("wait", at);
        break;
      case "tool.started":
        this.sandbox = event.grant.sandbox;
        this.#canonical = event.canonical;
        if (this.progress === undefined) this.phases.fill("record", at);
        this.phases.begin("sandbox", at);
        break;
      case "tool.output":
        this.#addLine(event.chunk);
        break;
      case "tool.log":
        this.#addLine(`${event.level}: ${event.message}`);
        break;
      case "tool.display":
        break;
      case "tool.aborted":
        this.state = "aborted";
        this.phases.close(at);
        break;
      case "tool.completed":
      case "tool.failed": {
        const { execution } = event;
        this.state = event.type === "tool.completed" ? "completed" : "failed";
        this.durationMs = execution.durationMs;
        this.sandbox = execution.sandbox ?? undefined;
        this.receipt = execution.receipt;
        this.error = execution.error;
        this.#canonical = undefined;
        this.arguments = shortJson(execution.arguments);
        if (execution.output !== null) this.output = shortJson(execution.output);
        if (event.type === "tool.failed")
          this.detail = event.detail === undefined ? undefined : cut(event.detail);
        this.phases.close(at);
      }
    }
  }

  #addLine(line: string): void {
    const text = beginning(line, DETAIL_CHARS);
    this.log.push(text);
    this.logChars += text.length;
    while (this.log.length > MAX_LOG_LINES || this.logChars > DETAIL_CHARS)
      this.logChars -= this.log.shift()?.length ?? 0;
  }
}

function shortJson(value: Parameters<typeof boundedJson>[0]): string {
  const { text, isCut } = boundedJson(value, DETAIL_CHARS);
  return isCut ? `${text}…` : text;
}

function cut(text: string): string {
  return text.length > DETAIL_CHARS ? `${beginning(text, DETAIL_CHARS)}…` : text;
}

/** A part of the time that a call took, as its events show. */
interface Phase {
  readonly name: "gate" | "parse" | "decide" | "wait" | "hook" | "record" | "sandbox" | "end";
  /** Milliseconds after the start of the call. */
  readonly at: number;
  /** Milliseconds that it took; absent while it lasts. */
  readonly ms?: number;
}

/** Maximum number of phases of one call: a tool can ask many questions. */
const MAX_PHASES = 50;

/** The phases that have no events. */
const OWN = ["gate", "parse", "hook", "record"] as const satisfies readonly ProgressPhase[];

/** The phases of one call. Times are milliseconds since the epoch. */
class Phases {
  readonly startedAt: number;
  /** How many phases of the progress were looked at. */
  #followed = 0;
  #phases: { name: Phase["name"]; from: number; ms: number | undefined }[] = [];

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }

  get list(): readonly Phase[] {
    return this.#phases.map(({ name, from, ms }) => ({
      name,
      at: rounded(Math.max(from - this.startedAt, 0)),
      ...(ms !== undefined && { ms: rounded(ms) }),
    }));
  }

  add(name: Phase["name"], from: number, ms: number): void {
    if (this.#phases.length < MAX_PHASES) this.#phases.push({ name, from, ms });
  }

  begin(name: Phase["name"], from: number): void {
    if (this.#phases.length < MAX_PHASES) this.#phases.push({ name, from, ms: undefined });
  }

  /**
   * Adds the phases without an event, as far as the call has come. The times of events are more exact.
   *
   * @param at Until when the last one lasts.
   * @param hasEnded Whether that one has ended, too.
   */
  follow({ begun }: Pick<CallProgress, "begun">, at: number, hasEnded: boolean): void {
    const until = hasEnded ? begun.length : begun.length - 1;
    for (; this.#followed < until; this.#followed++) {
      const [one, next] = [begun[this.#followed], begun[this.#followed + 1]];
      if (one === undefined || !isOwn(one.phase)) continue;
      this.add(one.phase, one.at, Math.max((next?.at ?? at) - one.at, 0));
    }
  }

  /** Ends the latest phase of this name. */
  end(name: Phase["name"], at: number): void {
    const phase = this.#phases.findLast((each) => each.name === name && each.ms === undefined);
    if (phase !== undefined) phase.ms = Math.max(at - phase.from, 0);
  }

  /** Adds a phase that began when the one before it ended. */
  fill(name: Phase["name"], at: number): void {
    const before = this.#phases.at(-1);
    const from = before === undefined ? this.startedAt : before.from + (before.ms ?? 0);
    this.add(name, from, Math.max(at - from, 0));
  }

  /** Ends every phase: the call has ended. */
  close(at: number): void {
    for (const phase of this.#phases) phase.ms ??= Math.max(at - phase.from, 0);
    this.add("end", at, 0);
  }
}

function isOwn(phase: ProgressPhase): phase is (typeof OWN)[number] {
  return (OWN as readonly string[]).includes(phase);
}

function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** The beginning of a JSON text. */
interface BoundedJson {
  readonly text: string;
  /** Whether the text is cut, and no valid JSON. */
  readonly isCut: boolean;
}

/** Writes a value as JSON until the text has `chars` characters, without visiting what follows. */
export function boundedJson(value: JsonValue, chars: number): BoundedJson {
  let text = "";
  let isCut = false;
  const add = (more: string): boolean => {
    const room = chars - text.length;
    text += more.length > room ? more.slice(0, room) : more;
    isCut ||= more.length > room;
    return !isCut;
  };
  const addText = (string: string): boolean => {
    if (string.length <= chars - text.length) return add(JSON.stringify(string));
    add(JSON.stringify(string.slice(0, chars)));
    isCut = true;
    return false;
  };
  const write = (each: JsonValue): boolean => {
    if (typeof each === "string") return addText(each);
    if (typeof each !== "object" || each === null) return add(JSON.stringify(each));
    let separator = "";
    if (Array.isArray(each)) {
      if (!add("[")) return false;
      for (const item of each) {
        if (!add(separator) || !write(item)) return false;
        separator = ",";
      }
      return add("]");
    }
    if (!isJsonObject(each) || !add("{")) return false;
    for (const name in each) {
      if (!add(separator) || !addText(name) || !add(":") || !write(each[name] ?? null)) return false;
      separator = ",";
    }
    return add("}");
  };
  write(value);
  return { text, isCut };
}
