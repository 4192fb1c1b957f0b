import { randomUUID } from "node:crypto";
import type { DispatchEvent } from "../../../engine/call/events.ts";
import type { JsonValue } from "../../../json/value.ts";
import type { ConfirmationEvent } from "../../../sessions/confirmations/confirmation-broker.ts";
import { newId } from "../../../sessions/ids.ts";
import type { Session } from "../../../sessions/session.ts";
import type { McpProgress } from "../../../tool/implementations/remote-implementation.ts";
import type { McpServerOptions } from "../options.ts";
import { FORM, InquiryForms, type InquiryWay, MAX_FORM_CHARS } from "./forms.ts";
import { type ClientCapabilities, showsForms, showsPages } from "./input-requests.ts";
import { type InputResponses, Run } from "./run.ts";

/** A call to be made for a client. */
export interface ClientCall {
  readonly session: Session;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly capabilities: ClientCapabilities;
  readonly early: InputResponses;
  readonly watch: RunWatch;
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
  readonly forms: InquiryForms | undefined;
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
      sessions.onInquiry((event) => this.#onInquiry(event)),
      ...(events === undefined ? [] : [events.on((event) => this.#onEvent(event))]),
    ];
  }

  /** Makes a call through the whole pipeline. */
  start({ session, name, arguments: args, capabilities, early, watch, isModern }: ClientCall): Run {
    const { confirm = "none", approvalUrl, sessions } = this.#options;
    const fits = JSON.stringify(args).length <= MAX_FORM_CHARS;
    const asks = confirm === "elicitation" && fits && showsForms(capabilities);
    const sends = approvalUrl !== undefined && showsPages(capabilities);
    const ways = [...(asks ? [FORM] : []), ...(sends ? [pageAt(approvalUrl, isModern)] : [])];
    const id = newId();
    const turn = session.turn({ id, unattended: !asks && approvalUrl === undefined });
    const cancel = (): void => void turn.cancel();
    const run = new Run({ capabilities, early, cancel, suspendSlot: () => turn.suspendSlot(id) });
    const forms = ways.length > 0 ? new InquiryForms(run, sessions, session.principal, ways) : undefined;
    this.#active.set(id, { run, sessionId: session.id, forms, watch, reports: false });
    const execution = turn.dispatch({ id, name, arguments: args }).finally(() => {
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

  #onInquiry(event: ConfirmationEvent): void {
    const { turnId, sessionId } = event.inquiry;
    const active = this.#active.get(turnId);
    if (active === undefined || active.sessionId !== sessionId) return;
    if (event.type === "resolved") {
      active.forms?.withdraw(event.inquiry.id);
      return;
    }
    if (active.forms?.offer(event.inquiry) === true) return;
    const { approvalUrl } = this.#options;
    if (approvalUrl !== undefined) {
      active.watch.onOutput(waitingText(approvalUrl));
      return;
    }
    // No person sees it: the form would be too long. Waiting would only take time.
    active.forms?.deny(event.inquiry);
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
function pageAt(approvalUrl: string, isModern: boolean): InquiryWay {
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
