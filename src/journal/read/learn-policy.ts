import { loadCrypto } from "../../base/load-crypto.ts";
import { canonicalText } from "../../json/canonical.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { ArgumentSources, KnownSource, ToolField } from "../../policy/call-history.ts";
import { type LearnedRule, RuleLearner } from "../../policy/learn-rules.ts";
import { type AllowedCall, Evidence, type UnusableCause } from "../../policy/learned-evidence.ts";
import { type AllowedUse, type RulePolicyOptions, usedBy } from "../../policy/rule/rule.ts";
import { MarkedFields, ruleName } from "../../policy/rule/rule-flaws.ts";
import { SANDBOX_MODES, type SandboxMode } from "../../tool/sandbox-mode.ts";
import { JournalError } from "../journal-error.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { type JournalTool, RecordedInputs } from "../recorded-inputs.ts";
import { directoryOf, type JournalFileName, listFiles, parseFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { answerIn, isQuick, principalIn, rulesIn, sandboxIn } from "./record-members.ts";

/** Why a recorded call is not evidence. */
export type NoEvidence =
  | UnusableCause
  | "excluded"
  | "not allowed by a rule or a person"
  | "allowed unread"
  | "no valid record"
  | "arguments redacted or sealed"
  | "arguments too long"
  | "tool not kept"
  | "no rule covers it";

/** What was learnt from journals. */
export interface LearnedPolicy {
  readonly rules: readonly LearnedRule[];
  /** Of the base, or of the recorded policies. Absent if none of them says what outsiders can write. */
  readonly untrusted?: RulePolicyOptions["untrusted"];
  /** The calls that ran. */
  readonly calls: number;
  /** Those that no rule allows, by the reason. */
  readonly left: ReadonlyMap<NoEvidence, number>;
}

/** What to learn from. */
export interface LearnOptions {
  /** Directories of journals, or files of them. */
  readonly places: readonly string[];
  /** Only what rules of this policy allowed counts. Default: the policy that was recorded with a call. */
  readonly base?: RulePolicyOptions;
  /** The ids of sessions that do not count. */
  readonly exclude: ReadonlySet<string>;
}

/** How canonical records of calls that ran end. */
const RAN = Buffer.from('"type":"tool.call.dispatched"}');
const MAX_ARGUMENTS = 65_536;

/**
 * Learns rules from the calls that a rule or a person allowed. It reads the journals twice, so that its memory does not grow
 * with them.
 *
 * @throws {JournalError} if a file cannot be read.
 */
export async function learnPolicy(options: LearnOptions): Promise<LearnedPolicy> {
  const journals = await Promise.all(options.places.map((place) => JournalEvidence.open(place, options)));
  const evidence = new Evidence();
  const left = new Map<NoEvidence, number>();
  let calls = 0;
  const leave = (cause: NoEvidence): void => void left.set(cause, (left.get(cause) ?? 0) + 1);
  for (const journal of journals) {
    for await (const call of journal.read()) {
      calls++;
      const cause = typeof call === "string" ? call : evidence.add(call);
      if (cause !== undefined) leave(cause);
    }
  }
  const learner = new RuleLearner(evidence);
  for (const journal of journals) {
    for await (const call of journal.read()) {
      if (typeof call !== "string" && evidence.has(call) && !learner.count(call)) leave("no rule covers it");
    }
  }
  const untrusted = options.base?.untrusted ?? journals.flatMap((journal) => journal.untrusted);
  const isDeclared = options.base?.untrusted !== undefined || journals.some(({ declares }) => declares);
  return { rules: learner.rules(), ...(isDeclared && { untrusted: distinct(untrusted) }), calls, left };
}

function distinct(
  untrusted: NonNullable<RulePolicyOptions["untrusted"]>,
): NonNullable<RulePolicyOptions["untrusted"]> {
  return [...new Map(untrusted.map((each) => [JSON.stringify(each), each])).values()];
}

/** A policy by which calls were allowed. */
interface BasePolicy {
  readonly uses: ReadonlyMap<string, { readonly use: AllowedUse | undefined; readonly allows: boolean }>;
  /** `undefined` if the policy does not say what outsiders can write: nothing comes from results that is trusted then. */
  readonly marked: MarkedFields | undefined;
}

function basePolicy({ rules, untrusted }: RulePolicyOptions): BasePolicy {
  const uses = rules.map(
    (rule, index) => [ruleName(rule, index), { use: usedBy(rule), allows: rule.effect === "allow" }] as const,
  );
  return { uses: new Map(uses), marked: untrusted && new MarkedFields(untrusted) };
}

/** Reads the calls of a journal that were allowed. */
class JournalEvidence {
  readonly #files: readonly JournalFileName[];
  readonly #tools: ReadonlyMap<string, JournalTool>;
  readonly #policies: RecordedInputs;
  readonly #base: BasePolicy | undefined;
  readonly #exclude: ReadonlySet<string>;
  /** By the revision; `undefined` for policies that are not stored, or in code. */
  readonly #recorded = new Map<string, BasePolicy | undefined>();
  readonly #untrusted: NonNullable<RulePolicyOptions["untrusted"]>[number][] = [];
  declares = false;

  private constructor(
    files: readonly JournalFileName[],
    tools: ReadonlyMap<string, JournalTool>,
    options: LearnOptions & { readonly place: string },
  ) {
    this.#files = files;
    this.#tools = tools;
    this.#policies = new RecordedInputs(directoryOf(options.place));
    this.#base = options.base && basePolicy(options.base);
    this.#exclude = options.exclude;
  }

  static async open(place: string, options: LearnOptions): Promise<JournalEvidence> {
    const file = parseFileName(place);
    const files = file === undefined ? await listFiles(place).catch(() => []) : [file];
    if (files.length === 0)
      throw new JournalError(`there is no journal in '${place}': name its directory, or a file of it`);
    return new JournalEvidence(files, await new RecordedInputs(directoryOf(place)).tools(), {
      ...options,
      place,
    });
  }

  /** What the recorded policies say that outsiders can write. */
  get untrusted(): NonNullable<RulePolicyOptions["untrusted"]> {
    return this.#untrusted;
  }

  /** Yields each call that ran, or why it is not evidence. */
  async *read(): AsyncGenerator<AllowedCall | NoEvidence, void> {
    for (const { path } of this.#files) {
      for await (const lines of new LineReader(path).batches()) {
        for (const { bytes } of lines) {
          if (!bytes.subarray(-RAN.length).equals(RAN)) continue;
          const entry = parseEntry(bytes.toString());
          if (entry === undefined) yield "no valid record";
          else if (entry["policyRevision"] !== undefined && !this.#knows(entry)) {
            await this.#load(String(entry["policyRevision"]));
            yield this.#evidenceOf(entry);
          } else yield this.#evidenceOf(entry);
        }
      }
    }
  }

  #knows({ policyRevision }: JournalEntry): boolean {
    return this.#base !== undefined || this.#recorded.has(String(policyRevision));
  }

  async #load(revision: string): Promise<void> {
    const options = await this.#policies.policy(revision);
    const isRules = isJsonObject(options ?? null) && Array.isArray((options as { rules?: unknown }).rules);
    const policy = isRules ? (options as unknown as RulePolicyOptions) : undefined;
    this.#recorded.set(revision, policy && basePolicy(policy));
    if (policy?.untrusted === undefined) return;
    this.declares = true;
    this.#untrusted.push(...policy.untrusted);
  }

  #evidenceOf(entry: JournalEntry): AllowedCall | NoEvidence {
    const { args, argumentDigest, definitionDigest, policyRevision, session } = entry;
    if (this.#exclude.has(String(session))) return "excluded";
    const base = this.#base ?? this.#recorded.get(String(policyRevision));
    const rules = rulesIn(entry);
    const cause = refusal(entry, rules, base);
    if (cause !== undefined) return cause;
    const tool = this.#tools.get(String(definitionDigest));
    if (tool === undefined) return "tool not kept";
    if (args === undefined) return "arguments redacted or sealed";
    const text = canonicalText(args);
    if (text.length > MAX_ARGUMENTS) return "arguments too long";
    if (loadCrypto().hash("sha256", text) !== argumentDigest) return "arguments redacted or sealed";
    const use = useOf(entry, rules, base);
    if (use === undefined) return "no valid record";
    return {
      tool,
      digest: String(definitionDigest),
      input: args,
      sources: sourcesIn(entry, base?.marked),
      session: String(session),
      principal: principalIn(entry),
      use,
    };
  }
}

/** Why nobody allowed a call in a way that counts; `undefined` if somebody did. */
function refusal(
  entry: JournalEntry,
  rules: readonly string[],
  base: BasePolicy | undefined,
): NoEvidence | undefined {
  const { decision, policyDecision } = entry;
  if (decision === "ask") {
    const answer = answerIn(entry);
    if (answer === undefined || !answer.isAllowed) return "not allowed by a rule or a person";
    // A time that is not known is none in which anybody can have read the question.
    return answer.afterMs === undefined || isQuick(answer) ? "allowed unread" : undefined;
  }
  // Otherwise an approval, a mode or the settings of the session let it through.
  const isByRule =
    decision === "allow" &&
    policyDecision === undefined &&
    rules.length > 0 &&
    (base === undefined || rules.every((rule) => base.uses.get(rule)?.allows === true));
  return isByRule ? undefined : "not allowed by a rule or a person";
}

/** What the rules of a call grant, or only the sandbox that it ran in if they grant different things or are not known. */
function useOf(
  entry: JournalEntry,
  rules: readonly string[],
  base: BasePolicy | undefined,
): AllowedUse | undefined {
  const uses = rules.flatMap((rule) => base?.uses.get(rule)?.use ?? []);
  const written = new Map(uses.map((use) => [canonicalText(partsOf(use) as unknown as JsonValue), use]));
  const [only, ...others] = written.values();
  if (only !== undefined && others.length === 0) return partsOf(only);
  const sandbox = SANDBOX_MODES.find((mode) => mode === sandboxIn(entry)) as SandboxMode | undefined;
  return sandbox && { sandboxes: [sandbox] };
}

function partsOf({ sandboxes, isolation, limits, capabilities }: AllowedUse): AllowedUse {
  return {
    sandboxes,
    ...(isolation && { isolation }),
    ...(limits && { limits }),
    ...(capabilities && { capabilities }),
  };
}

/** Returns the sources in a record, as far as the policy says today that outsiders cannot write them. */
function sourcesIn({ sources }: JournalEntry, marked: MarkedFields | undefined): ArgumentSources {
  const found: Record<string, KnownSource> = {};
  if (!isJsonObject(sources ?? null)) return found;
  for (const [pointer, source] of Object.entries(sources as { readonly [pointer: string]: JsonValue })) {
    if (source === "user" || source === "untrusted") found[pointer] = source;
    else if (Array.isArray(source) && marked !== undefined) {
      const fields = (source as readonly unknown[]).filter(isField);
      const isUntrusted = fields.some(({ tool, field }) => marked.find(tool, field) !== undefined);
      if (fields.length > 0) found[pointer] = isUntrusted ? "untrusted" : fields;
    }
  }
  return found;
}

function isField(value: unknown): value is ToolField {
  const { tool, field } = (value ?? {}) as Partial<ToolField>;
  return typeof tool === "string" && typeof field === "string" && (field === "" || field.startsWith("/"));
}
