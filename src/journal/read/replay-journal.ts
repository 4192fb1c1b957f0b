import { CanonicalJson, canonicalText } from "../../json/canonical.ts";
import { parseJson } from "../../json/parse.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import { checkDecision, type PolicyDecision } from "../../policy/decision.ts";
import { commonCapabilities } from "../../policy/grant/capabilities.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { strictestLimits } from "../../policy/grant/limits.ts";
import type { PolicyRequest, PolicySubject, RuntimePolicy } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { RulePolicyOptions } from "../../policy/rule/rule.ts";
import { RulePolicy } from "../../policy/rule/rule-policy.ts";
import { strictest } from "../../policy/strictest.ts";
import { KeptInputs } from "../kept-inputs.ts";
import type { JournalEntry } from "../line/entry.ts";
import { ArgumentReader } from "./argument-reader.ts";
import { readJournal } from "./read-journal.ts";

/** Why a recorded call cannot be decided again. */
export type UndecidableCause =
  | "policy in code"
  | "policy not kept"
  | "tool not kept"
  | "arguments redacted"
  | "arguments forgotten"
  | "workspace not recorded";

/** What deciding every recorded call again gave. */
export interface ReplayReport {
  /** The number of calls whose decision is the recorded one, byte for byte. */
  readonly same: number;
  readonly different: readonly ReplayDifference[];
  /** The number of calls on which no policy decided: they failed before. */
  readonly undecided: number;
  /** The number of calls that cannot be decided again, by the reason. */
  readonly undecidable: ReadonlyMap<UndecidableCause, number>;
}

/** A recorded call on which its policy decides otherwise now. */
export interface ReplayDifference {
  readonly entry: JournalEntry;
  /** Canonical JSON of decision and rules. */
  readonly recorded: string;
  readonly now: string;
}

/**
 * Decides each recorded call again, by the policy and the tools that are kept beside the journal.
 *
 * @throws {JournalError} if the journal cannot be read.
 */
export async function replayJournal(directory: string): Promise<ReplayReport> {
  const replay = new Replay(directory, await ArgumentReader.open(directory));
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
  readonly #kept: KeptInputs;
  readonly #arguments: ArgumentReader;
  readonly #policies = new Map<string, RuntimePolicy | undefined>();
  readonly #tools = new Map<string, PolicySubject | undefined>();
  /** The clock of the policies: the time of the record. */
  #now = 0;

  constructor(directory: string, args: ArgumentReader) {
    this.#kept = new KeptInputs(directory);
    this.#arguments = args;
  }

  async add(entry: JournalEntry): Promise<void> {
    if (entry.type !== "tool.call.dispatched" && entry.type !== "tool.call.denied") return;
    if (entry["decision"] === undefined) this.undecided++;
    else await this.#decide(entry);
  }

  async #decide(entry: JournalEntry): Promise<void> {
    const { args = null, definitionDigest, policyRevision } = entry;
    if (typeof policyRevision !== "string" || policyRevision === "") return this.#count("policy in code");
    const policy = await this.#policy(policyRevision);
    if (policy === undefined) return this.#count("policy not kept");
    const tool = await this.#tool(String(definitionDigest));
    if (tool === undefined) return this.#count("tool not kept");
    const read = this.#arguments.read(entry, canonicalText(args));
    if ("missing" in read)
      return this.#count(read.missing === "forgotten" ? "arguments forgotten" : "arguments redacted");
    this.#now = entry.at;
    const decision = checkDecision(await policy.check(requestOf(entry, tool, read.text)));
    const recorded = canonicalText({ decision: entry["decision"] ?? null, rules: entry["rules"] ?? [] });
    const now = canonicalText({ decision: decision.decision, rules: decision.rules ?? [] });
    if (recorded === now && isWithin(entry["grant"], decision)) this.same++;
    // Directories of the workspace are part of grants and conditions.
    else if (policy.sources?.some((source) => source.includes('"workspace"')))
      this.#count("workspace not recorded");
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
      const options = await this.#kept.policy(digest);
      if (options === undefined) return undefined;
      policies.push(new RulePolicy(options as unknown as RulePolicyOptions, () => this.#now));
    }
    return strictest(...policies);
  }

  async #tool(digest: string): Promise<PolicySubject | undefined> {
    if (!this.#tools.has(digest)) {
      const kept = await this.#kept.tool(digest);
      this.#tools.set(digest, kept && { ...kept, definition: { digest } });
    }
    return this.#tools.get(digest);
  }
}

function requestOf(entry: JournalEntry, tool: PolicySubject, args: string): PolicyRequest {
  const { principal, session, tool_call_id: callId } = entry;
  const parsed = parseJson(args);
  const input: JsonValue = "value" in parsed ? parsed.value : null;
  return {
    ...{
      callId: String(callId),
      sessionId: String(session),
      input,
      canonical: new CanonicalJson(input),
      tool,
    },
    ...(principal !== undefined && { principal: principal as JsonObject as unknown as Principal }),
  };
}

/** Whether a recorded grant is that of a decision, or a narrower one: an upper bound can have narrowed it. */
function isWithin(recorded: JsonValue | undefined, decision: PolicyDecision): boolean {
  if (recorded === undefined || decision.decision === "deny") return true;
  const grant = recorded as JsonObject as unknown as ExecutionGrant;
  const { grant: decided, sandboxes = decided && [decided.sandbox] } = decision;
  if (decided === undefined || sandboxes?.includes(grant.sandbox) !== true) return false;
  const limits = strictestLimits(decided.limits, grant.limits);
  const capabilities = commonCapabilities(grant.capabilities, decided.capabilities);
  return isSame(limits, grant.limits) && isSame(capabilities, grant.capabilities);
}

function isSame(one: object, other: object): boolean {
  return canonicalText(one as JsonObject) === canonicalText(other as JsonObject);
}
