import { canonicalText } from "../../json/canonical.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import { type CedarData, isCedarData } from "../../policy/cedar/cedar-library.ts";
import { openCedarData } from "../../policy/cedar/open-cedar-data.ts";
import { type ExecutionGrant, permitsNoMore } from "../../policy/grant/execution-grant.ts";
import { checkDecision, type PolicyDecision, type RuntimePolicy } from "../../policy/policy.ts";
import type { RulePolicyOptions } from "../../policy/rule/rule.ts";
import { RulePolicy } from "../../policy/rule/rule-policy.ts";
import { strictest } from "../../policy/strictest.ts";
import type { JournalEntry } from "../line/entry.ts";
import { RecordedInputs } from "../recorded-inputs.ts";
import { readJournal } from "./read-journal.ts";
import { decidedAt, isCallRecord, RecordedCalls, type UndecidableCause } from "./recorded-calls.ts";

/** The result of deciding every recorded call again. */
export interface ReplayReport {
  /** The number of calls whose decision is the recorded one, byte for byte. */
  readonly same: number;
  readonly different: readonly ReplayDifference[];
  /** The number of calls on which no policy decided: they failed before. */
  readonly undecided: number;
  /** The number of calls that cannot be decided again, by the reason. */
  readonly undecidable: ReadonlyMap<UndecidableCause, number>;
}

/** A recorded call on which its policy decides differently now. */
export interface ReplayDifference {
  readonly entry: JournalEntry;
  /** Canonical JSON of decision and rules. */
  readonly recorded: string;
  readonly now: string;
}

/**
 * Decides each recorded call again, by the policy and the tools that are stored beside the journal.
 *
 * @throws {JournalError} if the journal cannot be read.
 * @throws {Error} if it has a policy in Cedar, and `@cedar-policy/cedar-wasm` is not installed.
 */
export async function replayJournal(directory: string): Promise<ReplayReport> {
  const replay = new Replay(directory, await RecordedCalls.open(directory));
  for await (const { entries } of readJournal(directory)) {
    for (const entry of entries) await replay.add(entry);
  }
  return replay;
}

class Replay implements ReplayReport {
  same = 0;
  undecided = 0;
  readonly different: ReplayDifference[] = [];
  readonly undecidable = new Map<UndecidableCause, number>();
  readonly #inputs: RecordedInputs;
  readonly #calls: RecordedCalls;
  readonly #policies = new Map<string, RuntimePolicy | undefined>();
  /** The clock of the policies: the time of the record. */
  #now = 0;

  constructor(directory: string, calls: RecordedCalls) {
    this.#inputs = new RecordedInputs(directory);
    this.#calls = calls;
  }

  async add(entry: JournalEntry): Promise<void> {
    if (!isCallRecord(entry)) return;
    if (entry["decision"] === undefined) this.undecided++;
    else {
      try {
        await this.#decide(entry);
      } catch (error) {
        // The stack overflows on forged arguments that are deeper than those of any call.
        if (!(error instanceof RangeError)) throw error;
        this.#count("no valid record");
      }
    }
  }

  async #decide(entry: JournalEntry): Promise<void> {
    const { policyRevision } = entry;
    if (typeof policyRevision !== "string" || policyRevision === "") return this.#count("policy in code");
    const policy = await this.#policy(policyRevision);
    if (policy === undefined) return this.#count("policy not kept");
    const request = this.#calls.requestOf(entry);
    if (typeof request === "string") return this.#count(request);
    this.#now = decidedAt(entry);
    const decision = checkDecision(await policy.check(request));
    const [recorded, now] = textsOf(entry, decision);
    // The replacement of a secret could meet a condition by chance.
    if (request.missing === "arguments redacted") this.#count(request.missing);
    else if (recorded === now && isWithin(entry["grant"], decision)) this.same++;
    else if (request.missing !== undefined) this.#count(request.missing);
    else this.different.push({ entry, recorded, now });
  }

  #count(cause: UndecidableCause): void {
    this.undecidable.set(cause, (this.undecidable.get(cause) ?? 0) + 1);
  }

  async #policy(revision: string): Promise<RuntimePolicy | undefined> {
    if (!this.#policies.has(revision)) this.#policies.set(revision, await this.#loadPolicy(revision));
    return this.#policies.get(revision);
  }

  /** A revision consists of the digests of all policies that were joined. */
  async #loadPolicy(revision: string): Promise<RuntimePolicy | undefined> {
    const policies: RuntimePolicy[] = [];
    for (const digest of revision.split(" + ")) {
      const options = await this.#inputs.policy(digest);
      if (options === undefined) return undefined;
      policies.push(
        isCedarData(options)
          ? await openCedarData(options as unknown as CedarData)
          : new RulePolicy(options as unknown as RulePolicyOptions, () => this.#now),
      );
    }
    return strictest(...policies);
  }
}

/** The recorded decision of the policy, and that of now. What a session denies has no rules of the policy. */
function textsOf(
  { decision: recorded = null, policyDecision = recorded, rules = [] }: JournalEntry,
  now: PolicyDecision,
): readonly [string, string] {
  const isDeniedBySession = recorded === "deny" && policyDecision !== recorded;
  const nowRules = isDeniedBySession ? rules : (now.rules ?? []);
  return [
    canonicalText({ decision: policyDecision, rules }),
    canonicalText({ decision: now.decision, rules: nowRules }),
  ];
}

/** Whether a recorded grant is that of a decision, or a narrower one: an upper bound can have narrowed it. */
function isWithin(recorded: JsonValue | undefined, decision: PolicyDecision): boolean {
  if (recorded === undefined || decision.decision === "deny") return true;
  const grant = recorded as JsonObject as unknown as ExecutionGrant;
  const { grant: decided, sandboxes = decided && [decided.sandbox] } = decision;
  return (
    decided !== undefined && sandboxes?.includes(grant.sandbox) === true && permitsNoMore(grant, decided)
  );
}
