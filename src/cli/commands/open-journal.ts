import type { ToolRegistry } from "../../engine/registry.ts";
import { type Journal, openJournal } from "../../journal/journal.ts";
import { JournalError } from "../../journal/journal-error.ts";
import type { JournalNotice, JournalOptions } from "../../journal/options.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { shown } from "../../rendering/shown.ts";
import { UsageError } from "../errors.ts";

/** What decides on the recorded calls, and the config's redaction. */
interface Recorded {
  readonly registry: ToolRegistry;
  readonly policy: RuntimePolicy;
  readonly redaction?: Redaction | undefined;
}

/**
 * Opens the journal of a config, if it has one, and stores the policy and the tools beside it.
 *
 * @param onNotice Receives notices for the operator.
 * @throws {UsageError} if it cannot be opened.
 */
export async function openConfiguredJournal(
  options: JournalOptions | undefined,
  { registry, policy, redaction }: Recorded,
  onNotice: (notice: JournalNotice) => void,
): Promise<Journal | undefined> {
  if (options === undefined) return undefined;
  try {
    const journal = await openJournal({ ...options, ...(redaction && { redaction }), onNotice });
    await journal.keep(policy, registry.subjects);
    return journal;
  } catch (error) {
    if (error instanceof JournalError) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}
