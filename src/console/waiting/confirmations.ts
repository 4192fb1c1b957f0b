import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Answer, OpenConfirmation, Resolution } from "../../shapes/confirmations.ts";
import { ApiError, messageOf, rereading } from "../api/http.ts";
import { answerConfirmation, listConfirmations, readConfirmation } from "../api/requests.ts";
import { visible } from "../parts/foreign.tsx";

/** How a confirmation ended; `ended` if that is no longer known. */
export type ConfirmationEnd = Pick<Resolution, "at" | "by"> & {
  readonly decision: Resolution["decision"] | "ended";
};

/** A confirmation of the list, and how it ended. */
export interface ListedConfirmation {
  readonly confirmation: OpenConfirmation;
  /** Absent as long as it is open. */
  readonly resolution?: ConfirmationEnd;
}

/** The confirmations that ended and are still shown. */
const MAX_ENDED = 50;

/**
 * The confirmations, the oldest first. A confirmation that ended stays in its place until the person clears it, and new ones are added at the
 * end, so that nothing moves under a pointer or a key.
 */
export const confirmations: Signal<readonly ListedConfirmation[]> = signal([]);

/** Whether the confirmations have been read once. */
export const areRead: Signal<boolean> = signal(false);

/** Why the confirmations could not be read; `""` if they could. */
export const confirmationsProblem: Signal<string> = signal("");

/** What happened last, for screen readers. */
export const announcement: Signal<string> = signal("");

/** The id of the confirmation that the person answered last; `""` before the first. */
export const lastAnswered: Signal<string> = signal("");

/** The number of confirmations that wait. */
export const openCount: ReadonlySignal<number> = computed(
  () => confirmations.value.filter(({ resolution }) => resolution === undefined).length,
);

/** How the confirmations of a batch ended, while a person answers it; `undefined` at other times. */
let atOnce: Map<string, ConfirmationEnd> | undefined;

/** Reads the open confirmations, and how earlier ones ended. If it is called while it reads, it reads once more. */
export const refreshConfirmations: () => Promise<void> = rereading(async () => {
  if (atOnce === undefined) await merge(await listConfirmations());
}, confirmationsProblem);

/** Updates the list once after several answers: reading hundreds again after each answer takes minutes. */
export async function answerAtOnce(answer: () => Promise<unknown>): Promise<void> {
  const ended = new Map<string, ConfirmationEnd>();
  atOnce = ended;
  try {
    await answer();
  } finally {
    atOnce = undefined;
    batch(() => {
      for (const [requestId, resolution] of ended) setResolution(requestId, resolution);
    });
    void refreshConfirmations();
  }
}

async function merge(open: readonly OpenConfirmation[]): Promise<void> {
  if (atOnce !== undefined) return;
  const byId = new Map(open.map((confirmation) => [confirmation.requestId, confirmation]));
  for (const { confirmation, resolution } of confirmations.peek()) {
    if (resolution === undefined && !byId.has(confirmation.requestId)) {
      setResolution(confirmation.requestId, await resolutionOf(confirmation));
    }
  }
  const listed = new Set(confirmations.peek().map(({ confirmation }) => confirmation.requestId));
  const added = open.filter(({ requestId }) => !listed.has(requestId));
  confirmations.value = [
    ...confirmations.peek().map((item) => {
      const confirmation = byId.get(item.confirmation.requestId);
      const isSame = confirmation === undefined || confirmation.digest === item.confirmation.digest;
      return isSame || item.resolution !== undefined ? item : { confirmation };
    }),
    ...added.map((confirmation) => ({ confirmation })),
  ];
  areRead.value = true;
  if (added.length === 1) announcement.value = `${added[0]?.toolName} waits for an answer.`;
  else if (added.length > 1) announcement.value = `${added.length} calls wait for an answer.`;
}

async function resolutionOf(confirmation: OpenConfirmation): Promise<ConfirmationEnd> {
  const ended: ConfirmationEnd = { decision: "ended", at: Date.now() };
  try {
    return (await readConfirmation(confirmation)).resolution ?? ended;
  } catch (error) {
    // Its session may be closed. After other errors it is read again.
    if (error instanceof ApiError && [403, 404, 410].includes(error.status)) return ended;
    throw error;
  }
}

/** Remembers how a confirmation ended. The first time counts. */
export function setResolution(requestId: string, resolution: ConfirmationEnd): void {
  if (atOnce !== undefined) {
    if (!atOnce.has(requestId)) atOnce.set(requestId, resolution);
    return;
  }
  const items = confirmations.peek();
  const item = items.find(({ confirmation }) => confirmation.requestId === requestId);
  if (item === undefined || item.resolution !== undefined) return;
  announcement.value = `${visible(item.confirmation.toolName)}: ${endOf(resolution)}.`;
  const changed = items.map((other) => (other === item ? { ...item, resolution } : other));
  let excess = changed.filter(({ resolution: end }) => end !== undefined).length - MAX_ENDED;
  confirmations.value = changed.filter(({ resolution: end }) => end === undefined || excess-- <= 0);
}

/** Removes the confirmations that ended from the list. */
export function clearEnded(): void {
  confirmations.value = confirmations.peek().filter(({ resolution }) => resolution === undefined);
}

const ENDS: Readonly<Record<string, string>> = {
  allow: "allowed",
  always: "allowed",
  deny: "denied",
  answer: "answered",
  timeout: "timed out",
  cancelled: "cancelled",
};

/** Says how a confirmation ended: `denied by carol`. */
export function endOf({ decision, by }: ConfirmationEnd): string {
  const end = ENDS[decision] ?? decision;
  return by === undefined ? end : `${end} by ${visible(by)}`;
}

/**
 * Answers a confirmation. Returns why the answer was not accepted, or `""` if it was.
 *
 * @param answer Has the digest of what the person saw, so that it is valid for nothing else.
 */
export async function giveAnswer(confirmation: OpenConfirmation, answer: Answer): Promise<string> {
  try {
    setResolution(confirmation.requestId, await answerConfirmation(confirmation, answer));
    return "";
  } catch (error) {
    if (!(error instanceof ApiError)) return messageOf(error);
    if (error.code === "already_answered") {
      const first = error.details as unknown as ConfirmationEnd;
      setResolution(confirmation.requestId, first);
      return `Another answer was first: ${endOf(first)}.`;
    }
    if (error.status === 410 || error.status === 404 || error.code === "other_digest")
      await refreshConfirmations();
    return error.code === "other_digest"
      ? "The call has changed since it was shown. Read it again before you answer."
      : error.message;
  }
}
