import { render, textOf } from "../../rendering/render.ts";
import type { Confirmation } from "../../sessions/confirmations/confirmation.ts";

/** A confirmation, as those who are notified see it. */
export interface NotifiedConfirmation {
  readonly requestId: string;
  readonly sessionId: string;
  /** Absent if the session has none. */
  readonly sessionName?: string;
  readonly toolName: string;
  readonly sideEffects: string;
  /** Where a person answers it. */
  readonly link?: string;
  /** A line of the arguments, redacted, escaped and cut. */
  readonly summary?: string;
}

/** The confirmations of one notification. */
export interface Notification {
  readonly confirmations: readonly NotifiedConfirmation[];
  /** Where all are listed. */
  readonly link?: string;
}

/** Maximum number of characters of a summary, and of a name in a text. */
const SUMMARY_CHARS = 200;
const NAME_CHARS = 100;
/** Maximum number of confirmations that a text has. */
const MAX_LISTED = 10;

/** Returns a line of the arguments of a call, or of a question, without secrets. */
export function summaryOf(confirmation: Confirmation): string {
  const { text } =
    confirmation.kind === "question" ? confirmation.shown.questionSummary : confirmation.shown.inputSummary;
  const line = text.replace(/\s+/g, " ");
  return line.length <= SUMMARY_CHARS ? line : `${line.slice(0, SUMMARY_CHARS).toWellFormed()}…`;
}

/** What a person reads of a confirmation. Every text is escaped: it has no control characters and no line breaks. */
export interface ConfirmationText {
  /** Tool, class and session. */
  readonly line: string;
  readonly summary?: string;
  readonly link?: string;
}

/** The texts of a notification. */
export interface ReadNotification {
  readonly title: string;
  /** At most 10. */
  readonly confirmations: readonly ConfirmationText[];
  /** How many more there are; absent if all are listed. */
  readonly more?: string;
  readonly link?: string;
}

/** Writes a notification for people. */
export function readable({ confirmations, link }: Notification): ReadNotification {
  const [first] = confirmations;
  const more = confirmations.length - MAX_LISTED;
  return {
    title:
      confirmations.length === 1 && first !== undefined
        ? `${printed(first.toolName)} waits for an answer`
        : `${confirmations.length} calls wait for an answer`,
    confirmations: confirmations
      .slice(0, MAX_LISTED)
      .map(({ toolName, sideEffects, sessionId, sessionName, ...more }) => ({
        line: `${printed(toolName)} (${sideEffects}) in the session ${printed(sessionName ?? sessionId)}`,
        ...(more.summary !== undefined && { summary: more.summary }),
        ...(more.link !== undefined && { link: more.link }),
      })),
    ...(more > 0 && { more: `And ${more} more.` }),
    ...(link !== undefined && { link }),
  };
}

/** Writes a notification as a text of several lines. */
export function plainText(notification: Notification): string {
  const { confirmations, more, link } = readable(notification);
  const parts = confirmations.map(({ line, summary, link: own }) =>
    [line, summary, own].filter((part) => part !== undefined).join("\n"),
  );
  if (more !== undefined) parts.push(link === undefined ? more : `${more}\n${link}`);
  return parts.join("\n\n");
}

function printed(name: string): string {
  return textOf(render(name, { chars: NAME_CHARS }));
}
