import { hash, randomBytes } from "node:crypto";
import type { Confirmation } from "../../sessions/confirmations/confirmation.ts";
import type { Notify } from "./notify.ts";

/** What a link answers: one confirmation, exactly as it was in the notification, in one person's name. */
export interface AnswerLink {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly digest: string;
  readonly approver: string;
}

/**
 * The links that answer without a login. Whoever has one can read the arguments of a call, and answer once. Only digests of
 * what they have in common with the links are retained, and in memory only.
 */
export class AnswerLinks {
  readonly #page: string;
  readonly #approver: string;
  /** By the digests of their tokens: no more than confirmations can be open. */
  readonly #open = new Map<string, AnswerLink>();

  private constructor(page: string, approver: string) {
    this.#page = page;
    this.#approver = approver;
  }

  /** @returns `undefined` unless the options have links that answer. */
  static open({ links, consoleUrl, approver }: Notify = {}): AnswerLinks | undefined {
    if (links !== "answer" || consoleUrl === undefined || approver === undefined) return undefined;
    return new AnswerLinks(`${consoleUrl}/console/#/answer/`, approver);
  }

  /**
   * Returns a new link for a confirmation. Its secret is in the fragment, which browsers do not send, nor services that look at
   * what a link leads to.
   *
   * @returns `undefined` for a destructive call, and for what is not a call.
   */
  issue({ id, sessionId, turnId, digest, kind, shown }: Confirmation): string | undefined {
    if (kind !== "call" || shown.sideEffects === "destructive") return undefined;
    this.forget(id);
    const token = randomBytes(32).toString("base64url");
    const approver = this.#approver;
    this.#open.set(digestOf(token), { confirmationId: id, sessionId, turnId, digest, approver });
    return `${this.#page}${token}`;
  }

  /** Returns what a token answers; `undefined` if it was used, or is none. */
  find(token: string): AnswerLink | undefined {
    return this.#open.get(digestOf(token));
  }

  /** Takes the link of a confirmation: it has ended. */
  forget(confirmationId: string): void {
    for (const [digest, link] of this.#open)
      if (link.confirmationId === confirmationId) this.#open.delete(digest);
  }
}

function digestOf(token: string): string {
  return hash("sha256", token);
}
