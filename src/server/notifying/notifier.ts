import { describeThrown } from "../../base/thrown.ts";
import type { Confirmation } from "../../sessions/confirmations/confirmation.ts";
import type { ConfirmationEvent } from "../../sessions/confirmations/confirmation-broker.ts";
import { type Channel, openChannel, pushChannel } from "./channel.ts";
import { type NotifiedConfirmation, summaryOf } from "./notification.ts";
import type { Notify } from "./notify.ts";
import type { PushDevices } from "./web-push.ts";

/** Milliseconds for which confirmations are collected into one notification. */
const GATHER_MS = 1_000;

/** Options of {@link Notifier}. */
export interface NotifierOptions {
  /** Checked. */
  readonly notify: Notify;
  /** Returns what people call a session; `undefined` if it has no name. */
  readonly nameOf: (sessionId: string) => string | undefined;
  /** Whether an approver follows the events of a session. */
  readonly isSeen: (sessionId: string) => boolean;
  /** The browsers in which approvers subscribed. Default: none. */
  readonly devices?: PushDevices | undefined;
  /** Whether a person may answer a confirmation now. */
  readonly mayAnswer: (by: string, confirmation: Confirmation) => boolean;
  /** Returns the link with which a confirmation can be answered; `undefined` if it has none but that to the page. */
  readonly answerLink: (confirmation: Confirmation) => string | undefined;
}

/**
 * Notifies people, a program or a server of the confirmations that no attached approver sees. Those that open within a
 * second, or while a notification is being sent, are sent together. A failure changes nothing else.
 */
export class Notifier {
  readonly #notify: Notify;
  readonly #channel: Channel | undefined;
  readonly #devices: PushDevices | undefined;
  readonly #mayAnswer: NotifierOptions["mayAnswer"];
  readonly #nameOf: NotifierOptions["nameOf"];
  readonly #isSeen: NotifierOptions["isSeen"];
  readonly #answerLink: NotifierOptions["answerLink"];
  /** Open confirmations that nobody was notified of, by their ids: as many as can be open. */
  readonly #waiting = new Map<string, Confirmation>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor({ notify, devices, mayAnswer, nameOf, isSeen, answerLink }: NotifierOptions) {
    this.#notify = notify;
    const isForDevicesOnly = notify.webPush !== undefined && notify.webPush.subscriptions === undefined;
    this.#channel = isForDevicesOnly ? undefined : openChannel(notify);
    this.#devices = devices;
    this.#mayAnswer = mayAnswer;
    this.#nameOf = nameOf;
    this.#isSeen = isSeen;
    this.#answerLink = answerLink;
  }

  /** Takes each event of a confirmation. */
  take({ type, confirmation }: ConfirmationEvent): void {
    if (type === "resolved") this.#waiting.delete(confirmation.id);
    else if (!this.#closing.signal.aborted) {
      this.#waiting.set(confirmation.id, confirmation);
      this.#timer ??= setTimeout(() => void this.#send(), GATHER_MS);
    }
  }

  /** Ends what is being sent, and sends nothing more. */
  close(): void {
    this.#waiting.clear();
    clearTimeout(this.#timer);
    this.#closing.abort();
  }

  /** Sends what was collected, and then what was added meanwhile. Never rejects. */
  async #send(): Promise<void> {
    const unseen = [...this.#waiting.values()].filter(({ sessionId }) => !this.#isSeen(sessionId));
    this.#waiting.clear();
    if (this.#channel !== undefined) await this.#sendTo(this.#channel, unseen);
    await this.#notifyDevices(unseen);
    const isLeft = this.#waiting.size > 0 && !this.#closing.signal.aborted;
    this.#timer = isLeft ? setTimeout(() => void this.#send(), GATHER_MS) : undefined;
  }

  /** Notifies each person of what they may answer. */
  async #notifyDevices(confirmations: readonly Confirmation[]): Promise<void> {
    const { webPush } = this.#notify;
    const devices = this.#devices;
    if (devices === undefined || webPush === undefined) return;
    const people = Map.groupBy(devices.all, ({ by }) => by);
    const sent = [...people].map(([by, own]) =>
      this.#sendTo(
        pushChannel(webPush, own, (gone) => void devices.forget(gone)),
        confirmations.filter((confirmation) => this.#mayAnswer(by, confirmation)),
      ),
    );
    await Promise.all(sent);
  }

  async #sendTo(channel: Channel, confirmations: readonly Confirmation[]): Promise<void> {
    if (confirmations.length === 0) return;
    const { signal } = this.#closing;
    const { consoleUrl } = this.#notify;
    try {
      const link = consoleUrl === undefined ? undefined : `${consoleUrl}/console/#/waiting`;
      const notification = {
        confirmations: confirmations.map((confirmation) => this.#notified(confirmation)),
        ...(link !== undefined && { link }),
      };
      await channel.send(notification, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      const { message } = describeThrown(thrown);
      process.emitWarning(`A notification of a confirmation was not accepted: ${channel.name}: ${message}`, {
        code: "SANDGATE_NOTIFY_FAILED",
      });
    }
  }

  #notified(confirmation: Confirmation): NotifiedConfirmation {
    const { consoleUrl, summary = false } = this.#notify;
    const { id, sessionId, shown } = confirmation;
    const sessionName = this.#nameOf(sessionId);
    // The arguments are only for those whom the server has authenticated, unless the operator said otherwise.
    return {
      requestId: id,
      sessionId,
      ...(sessionName !== undefined && { sessionName }),
      toolName: shown.toolName,
      sideEffects: shown.sideEffects,
      ...(consoleUrl !== undefined && {
        link: this.#answerLink(confirmation) ?? `${consoleUrl}/console/#/waiting/${encodeURIComponent(id)}`,
      }),
      ...(summary && { summary: summaryOf(confirmation) }),
    };
  }
}
