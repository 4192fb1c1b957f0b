import { type Receiver, receiverName, sendTo } from "../../base/receiver.ts";
import { describeThrown } from "../../base/thrown.ts";
import { JSON_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { Inquiry } from "../../sessions/confirmations/inquiry.ts";
import type { InquiryEvent } from "../../sessions/confirmations/inquiry-listeners.ts";

/** How many notifications are sent at once. */
const MAX_SENDING = 4;
const TIMEOUT_MS = 5_000;

/** Tells a program or a server of the inquiries that no attached approver sees. A failure changes nothing else. */
export class Notifier {
  readonly #receiver: Receiver;
  readonly #isSeen: (sessionId: string) => boolean;
  /** Open inquiries that wait for a place, by their ids: as many as can be open. */
  readonly #waiting = new Map<string, Inquiry>();
  readonly #closing = new AbortController();
  #sending = 0;

  /** @param isSeen Whether an approver follows the events of a session. */
  constructor(receiver: Receiver, isSeen: (sessionId: string) => boolean) {
    this.#receiver = receiver;
    this.#isSeen = isSeen;
  }

  /** Takes each event of an inquiry. */
  take({ type, inquiry }: InquiryEvent): void {
    if (type === "resolved") this.#waiting.delete(inquiry.id);
    else if (!this.#closing.signal.aborted) {
      this.#waiting.set(inquiry.id, inquiry);
      this.#sendNext();
    }
  }

  /** Ends what is being sent, and sends nothing more. */
  close(): void {
    this.#waiting.clear();
    this.#closing.abort();
  }

  #sendNext(): void {
    for (const inquiry of this.#waiting.values()) {
      if (this.#sending >= MAX_SENDING) return;
      this.#waiting.delete(inquiry.id);
      if (this.#isSeen(inquiry.sessionId)) continue;
      this.#sending++;
      void this.#send(inquiry).finally(() => {
        this.#sending--;
        this.#sendNext();
      });
    }
  }

  /** Never rejects. */
  async #send({ id: requestId, sessionId, shown }: Inquiry): Promise<void> {
    const { signal } = this.#closing;
    // The arguments are only for those whom the server has authenticated.
    const text = JSON.stringify({ requestId, sessionId, toolName: shown.toolName });
    try {
      await sendTo(this.#receiver, text, { timeoutMs: TIMEOUT_MS, mediaType: JSON_MEDIA_TYPE, signal });
    } catch (thrown) {
      if (signal.aborted) return;
      const { message } = describeThrown(thrown);
      process.emitWarning(
        `A notification of an inquiry was not accepted: ${receiverName(this.#receiver)}: ${message}`,
        { code: "SANDGATE_NOTIFY_FAILED" },
      );
    }
  }
}
