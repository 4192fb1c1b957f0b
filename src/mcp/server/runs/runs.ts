import { createCipheriv, createDecipheriv, hash, randomBytes, randomUUID } from "node:crypto";
import type { TraceHeaders } from "../../../base/trace-headers.ts";
import type { DispatchEvent } from "../../../engine/call/events.ts";
import type { JsonValue } from "../../../json/value.ts";
import type { ConfirmationEvent } from "../../../sessions/confirmations/confirmation-broker.ts";
import { newId } from "../../../sessions/ids.ts";
import type { Session } from "../../../sessions/session.ts";
import type { McpProgress } from "../../../tool/implementations/remote-implementation.ts";
import type { McpServerOptions } from "../options.ts";
import { ConfirmationForms, type ConfirmationWay, FORM, MAX_FORM_CHARS } from "./forms.ts";
import { type ClientCapabilities, showsForms, showsPages } from "./input-requests.ts";
import { type InputResponses, Run } from "./run.ts";

/** A call to be made for a client. */
interface ClientCall {
  readonly session: Session;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly capabilities: ClientCapabilities;
  readonly early: InputResponses;
  readonly watch: RunWatch;
  /** The trace that the call belongs to. Default: one of its own. */
  readonly trace?: TraceHeaders | undefined;
  readonly isModern: boolean;
}

/** Receives what a client can be notified of while its call is under way. Must not throw. */
export interface RunWatch {
  readonly onOutput: (chunk: string) => void;
  readonly onProgress: (report: McpProgress) => void;
  readonly onLog: (level: string, message: string) => void;
}

interface Active {
  readonly run: Run;
  readonly sessionId: string;
  readonly forms: ConfirmationForms | undefined;
  watch: RunWatch;
  /** Whether the tool has reported figures: then its output is not reported as progress. */
  reports: boolean;
}

type RunsOptions = Pick<McpServerOptions, "sessions" | "confirm" | "approvalUrl" | "events" | "logs">;

/** The calls of clients that are under way. Each is a turn of its own, whose id is that of the call, too. */
export class Runs {
  readonly #options: RunsOptions;
  /** By the ids of their turns. */
  readonly #active = new Map<string, Active>();
  readonly #stops: readonly (() => void)[];
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(options: RunsOptions) {
    const { sessions, events } = options;
    this.#options = options;
    this.#stops = [
      sessions.onConfirmation((event) => this.#onConfirmation(event)),
      ...(events === undefined ? [] : [events.on((event) => this.#onEvent(event))]),
    ];
  }

  /** Makes a call through the whole pipeline. */
  start({ session, name, arguments: args, capabilities, early, watch, trace, isModern }: ClientCall): Run {
    const { confirm = "none", approvalUrl, sessions } = this.#options;
    const fits = JSON.stringify(args).length <= MAX_FORM_CHARS;
    const asks = confirm === "elicitation" && fits && showsForms(capabilities);
    const sends = approvalUrl !== undefined && showsPages(capabilities);
    const ways = [...(asks ? [FORM] : []), ...(sends ? [pageAt(approvalUrl, isModern)] : [])];
    const id = newId();
    const turn = session.turn({ id, unattended: !asks && approvalUrl === undefined });
    const cancel = (): void => void turn.cancel();
    const run = new Run({ capabilities, early, cancel, suspendSlot: () => turn.suspendSlot(id) });
    const forms = ways.length > 0 ? new ConfirmationForms(run, sessions, session.principal, ways) : undefined;
    this.#active.set(id, { run, sessionId: session.id, forms, watch, reports: false });
    const execution = turn.dispatch({ id, name, arguments: args }, trace && { trace }).finally(() => {
      this.#active.delete(id);
      if (this.#active.size === 0) this.#idle?.resolve();
    });
    run.follow(execution);
    return run;
  }

  /** The call of a turn; `undefined` if it is not one of these. */
  of(turnId: string | undefined): Run | undefined {
    return turnId === undefined ? undefined : this.#active.get(turnId)?.run;
  }

  /** Sends further notifications to another request of the client. */
  watch(run: Run, watch: RunWatch): void {
    for (const active of this.#active.values()) if (active.run === run) active.watch = watch;
  }

  /** Reports the progress of a call to the client. */
  progress(run: Run, report: McpProgress): void {
    for (const active of this.#active.values()) {
      if (active.run !== run) continue;
      active.reports = true;
      active.watch.onProgress(report);
    }
  }

  #onConfirmation(event: ConfirmationEvent): void {
    const { turnId, sessionId } = event.confirmation;
    const active = this.#active.get(turnId);
    if (active === undefined || active.sessionId !== sessionId) return;
    if (event.type === "resolved") {
      active.forms?.withdraw(event.confirmation.id);
      return;
    }
    if (active.forms?.offer(event.confirmation) === true) return;
    const { approvalUrl } = this.#options;
    if (approvalUrl !== undefined) {
      active.watch.onOutput(waitingText(approvalUrl));
      return;
    }
    // No person sees it: the form would be too long. Waiting would only take time.
    active.forms?.deny(event.confirmation);
  }

  #onEvent(event: DispatchEvent): void {
    if (event.parent !== undefined) return;
    const active = this.#active.get(event.callId);
    if (active === undefined || active.sessionId !== event.sessionId) return;
    if (event.type === "tool.output" && !active.reports) active.watch.onOutput(event.chunk);
    if (event.type === "tool.log" && this.#options.logs === true)
      active.watch.onLog(event.level, event.message);
  }

  /** Waits until no call is under way. */
  async idle(): Promise<void> {
    if (this.#active.size === 0) return;
    this.#idle ??= Promise.withResolvers();
    await this.#idle.promise;
  }

  /** Cancels all calls. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    for (const { run } of [...this.#active.values()]) run.cancel();
    await this.idle();
  }
}

/**
 * Sends the person at the client to the address where approvers answer. Opening it is not an answer: an
 * approver has to answer, with their own credentials. A person who declines to open it denies the call.
 *
 * @param isModern Since MCP 2026-07-28, such requests have no id of their own.
 */
function pageAt(approvalUrl: string, isModern: boolean): ConfirmationWay {
  return {
    requestOf: () => ({
      method: "elicitation/create",
      params: {
        mode: "url",
        url: approvalUrl,
        message: waitingText(approvalUrl),
        ...(!isModern && { elicitationId: randomUUID() }),
      },
    }),
    answerOf: ({ digest }, { action }, by) =>
      action === "accept" ? undefined : { decision: "deny", digest, by },
  };
}

/** The message to a client about a call that waits for an approver. */
function waitingText(approvalUrl: string): string {
  return `Waiting for a person to confirm the call at ${approvalUrl}`;
}

const ALGORITHM = "aes-256-gcm";

const IV_BYTES = 12;

const TAG_BYTES = 16;

/** We never issue longer ones. */
const MAX_CHARS = 1_024;

/** The content of a `requestState`. */
export interface PendingState {
  /** The id of the pending call. */
  readonly id: string;
  /** The round, which is answered once. */
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Seals what a client carries from one request to the next (AES-256-GCM), under a key that is never stored:
 * pending calls end with the process, too.
 */
export class StateSeal {
  readonly #key = randomBytes(32);

  /** @param binding Whose request it is, and for what: the state opens for nothing else. */
  seal(state: PendingState, binding: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(digestOf(binding));
    const sealed = [iv, cipher.update(JSON.stringify(state), "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** Returns what was sealed; `undefined` if the text was changed, is of another binding, or has expired. */
  open(text: string, binding: string): PendingState | undefined {
    // Decoding ignores other characters, so that changed texts would open too.
    if (text.length > MAX_CHARS || !/^[\w-]+$/.test(text)) return undefined;
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString("base64url") !== text) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES))
        .setAAD(digestOf(binding))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      const state = JSON.parse(opened.toString("utf8")) as PendingState;
      return state.expiresAt > Date.now() ? state : undefined;
    } catch {
      return undefined;
    }
  }
}

/** How long a call waits for the next request of its client, in milliseconds. */
const PENDING_MS = 5 * 60_000;
/** How many calls of one principal, and of all, may be pending. */
const MAX_OF_PRINCIPAL = 32;
const MAX_PENDING = 1_000;

interface PendingRun {
  readonly run: Run;
  readonly principal: string;
  readonly nonce: string;
  readonly timer: NodeJS.Timeout;
}

/**
 * The calls that wait for the next request of their clients, on the wire without sessions. Each round has a state of its own,
 * which is sealed, bound to the principal and to the request, and opens once.
 */
export class PendingRuns {
  readonly #pending = new Map<string, PendingRun>();
  readonly #seal = new StateSeal();
  readonly #pendingMs: number;

  /** @param pendingMs Milliseconds for which a call stays pending. Default: 5 minutes. */
  constructor(pendingMs: number = PENDING_MS) {
    this.#pendingMs = pendingMs;
  }

  /**
   * Adds a call, which stays pending until {@link take}. It is cancelled when the time is over.
   *
   * @param principal The id of the principal; `""` if there is none.
   * @param binding The parts of this request that the next one must repeat.
   * @returns the state for the client; `undefined` if too many calls are pending, and this one was cancelled.
   */
  add(run: Run, principal: string, binding: string): string | undefined {
    const own = [...this.#pending.values()].filter((run) => run.principal === principal).length;
    if (own >= MAX_OF_PRINCIPAL || this.#pending.size >= MAX_PENDING) {
      run.cancel();
      return undefined;
    }
    const [id, nonce] = [randomUUID(), randomUUID()];
    const timer = setTimeout(() => {
      this.#pending.delete(id);
      run.cancel();
    }, this.#pendingMs);
    timer.unref();
    this.#pending.set(id, { run, principal, nonce, timer });
    const expiresAt = Date.now() + this.#pendingMs;
    return this.#seal.seal({ id, nonce, expiresAt }, bound(principal, binding));
  }

  /** Returns the call of a state, once; `undefined` if the state is not one of an open round for this request. */
  take(state: string, principal: string, binding: string): Run | undefined {
    const opened = this.#seal.open(state, bound(principal, binding));
    const found = opened && this.#pending.get(opened.id);
    if (found === undefined || found.nonce !== opened?.nonce) return undefined;
    clearTimeout(found.timer);
    this.#pending.delete(opened.id);
    return found.run;
  }

  /** Cancels all pending calls. */
  close(): void {
    for (const { run, timer } of this.#pending.values()) {
      clearTimeout(timer);
      run.cancel();
    }
    this.#pending.clear();
  }
}

function bound(principal: string, binding: string): string {
  return JSON.stringify([principal, binding]);
}

function digestOf(binding: string): Buffer {
  return hash("sha256", binding, "buffer");
}
