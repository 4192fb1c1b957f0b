import type { NewInquiry, Resolution } from "../../confirmations/inquiry.ts";
import type { Asking } from "../../confirmations/inquiry-broker.ts";
import type { AskOptions } from "../../confirmations/open-inquiry.ts";
import { parentName } from "../agent-records.ts";
import type { SessionCore } from "../core.ts";

/**
 * Asks a person, and waits for the answer. An inquiry about a call of an agent names the call that runs the agent, whose wall
 * time stands still meanwhile.
 *
 * @returns as `Inquiries.ask` does.
 */
export async function askInquiry(
  { inquiries, origin }: Pick<SessionCore, "origin"> & { readonly inquiries: Asking },
  question: NewInquiry,
  options: AskOptions,
): Promise<Resolution | "nobody"> {
  if (origin === undefined) return inquiries.ask(question, options);
  const resume = origin.pause();
  try {
    return await inquiries.ask({ parent: parentName(origin), ...question }, options);
  } finally {
    resume();
  }
}
