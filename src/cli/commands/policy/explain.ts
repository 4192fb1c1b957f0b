import type { ToolRegistry } from "../../../engine/registry.ts";
import { parseJson } from "../../../json/parse.ts";
import type { JsonValue } from "../../../json/value.ts";
import { WRITTEN_NAMES } from "../../../policy/file/written-limits.ts";
import { formatLimit, type LimitName } from "../../../policy/grant/limits.ts";
import {
  type ExplainedRule,
  NO_ORIGINS,
  type PolicyExplanation,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../../policy/policy.ts";
import {
  type PolicySuggestion,
  type SuggestedChange,
  suggestChange,
} from "../../../policy/remedy/suggest-change.ts";
import { joinShown, ShownText, shown, toPrintableJson } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal.ts";
import { CALL_SHAPE, requestOf, type WrittenCall } from "./case-request.ts";
import { loadConfiguredPolicy } from "./load.ts";

const MATCHED = { yes: "matches", no: "does not match", unclear: "may match" } as const;

/** Options of `sandgate policy explain`. */
interface ExplainCommand {
  readonly config: string;
  /** JSON text: the tool and the arguments. */
  readonly call: string;
  /** JSON text. Default: the caller is not known. */
  readonly principal: string | undefined;
  readonly session: string | undefined;
  readonly userText: string | undefined;
  /** JSON text: a list of what came before, as in the cases of a policy test. */
  readonly earlier: string | undefined;
  readonly workspace: string | undefined;
  /** Default: now. */
  readonly at: string | undefined;
  /** Whether a change is looked for that would allow a denied call. */
  readonly suggests: boolean;
  readonly isJson: boolean;
}

/**
 * Prints what the policy of a config decides on a call, and why.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if the call is invalid.
 */
export async function explain(command: ExplainCommand, terminal: Terminal): Promise<ExitCode> {
  const call = readCall(command);
  const { policy, registry } = await loadConfiguredPolicy(command.config, terminal);
  const read = await requestOf(call, { registry, tracked: policy.trackedFields, directory: process.cwd() });
  if ("flaws" in read) throw usageError(read.flaws);
  const explanation = (await policy.explain?.(read.request)) ?? {
    decision: await policy.check(read.request),
    rules: [],
    ...NO_ORIGINS,
  };
  const suggestion = command.suggests
    ? await suggestionFor(explanation, policy, read.request, registry)
    : undefined;
  await print(
    terminal.stdout,
    command.isJson
      ? toPrintableJson({ ...explanation, ...(suggestion && { suggestion }) })
      : joinShown(describeExplanation(call.call.tool, explanation), "\n"),
  );
  if (suggestion === undefined || command.isJson) return EXIT_OK;
  for (const lines of describeSuggestion(suggestion)) await print(terminal.stdout, lines);
  return EXIT_OK;
}

/** Returns `undefined` for a call that can run. */
async function suggestionFor(
  { decision }: PolicyExplanation,
  policy: RuntimePolicy,
  request: PolicyRequest,
  { subjects }: ToolRegistry,
): Promise<PolicySuggestion | undefined> {
  if (decision.decision !== "deny" && decision.grant !== undefined) return undefined;
  return suggestChange(policy, request, { tools: subjects });
}

function readCall({
  call,
  principal,
  session,
  userText,
  earlier,
  workspace,
  at,
}: ExplainCommand): WrittenCall {
  const value: JsonValue = {
    call: readJson("--call", call),
    ...(principal !== undefined && { principal: readJson("--principal", principal) }),
    ...(session !== undefined && { session }),
    ...(userText !== undefined && { userText }),
    ...(earlier !== undefined && { earlier: readJson("--earlier", earlier) }),
    ...(workspace !== undefined && { workspace }),
    ...(at !== undefined && { at }),
  };
  const flaws = CALL_SHAPE(value);
  if (flaws.length > 0) throw usageError(flaws);
  return value as unknown as WrittenCall;
}

function readJson(option: string, text: string): JsonValue {
  const parsed = parseJson(text);
  if ("value" in parsed) return parsed.value;
  throw new UsageError(shown`${option} is not valid JSON: ${parsed.reason}`);
}

function usageError(
  flaws: readonly { readonly path: readonly string[]; readonly message: string }[],
): UsageError {
  const texts = flaws.map(({ path, message }) => shown`--${path.join(".")}: ${message}`);
  return new UsageError(joinShown(texts, "; "));
}

/** Describes a change of the policy that would allow a call, or why none is suggested. */
function describeSuggestion(suggestion: PolicySuggestion): readonly ShownText[] {
  if ("withheld" in suggestion) return [shown`no change is suggested: ${suggestion.withheld}`];
  const { decision, exactly } = suggestion;
  const outcome = decision === "ask" ? ", once a person confirms it" : "";
  return [
    shown`to allow the call${outcome}: ${suggestion.text}`,
    ...describeChange(suggestion),
    ...(exactly === undefined
      ? []
      : [shown`or to allow exactly this call: ${exactly.text}`, ...describeChange(exactly)]),
  ];
}

function describeChange({ yaml, widens }: Pick<SuggestedChange, "yaml" | "widens">): readonly ShownText[] {
  return [
    // Visible ASCII, to be copied as it is.
    new ShownText(yaml.trimEnd(), { isData: true }),
    ...widens.map((line) => shown`  this also allows ${line}`),
  ];
}

/** Describes an explanation in prose, one line for each thing that it says. */
export function describeExplanation(tool: string, explanation: PolicyExplanation): readonly ShownText[] {
  const { rules } = explanation;
  return [
    headline(tool, explanation),
    ...(rules.length === 0 ? [shown`  no rule names the tool`] : rules.map(describeRule)),
    ...describeGrant(explanation),
  ];
}

function headline(tool: string, { decision }: PolicyExplanation): ShownText {
  switch (decision.decision) {
    case "allow":
      return shown`allow: ${tool} runs in ${decision.grant.sandbox}`;
    case "ask":
      return decision.grant === undefined
        ? shown`ask: ${tool} is denied, since no rule grants it anything that a person could confirm`
        : shown`ask: ${tool} runs in ${decision.grant.sandbox} once a person confirms: '${decision.question}'`;
    case "deny":
      return shown`deny: ${tool} does not run: ${decision.reason}`;
  }
}

function describeRule({ name, effect, matched, why }: ExplainedRule): ShownText {
  const consequence =
    matched !== "unclear"
      ? ""
      : effect === "allow"
        ? ", so it only restricts what other rules grant"
        : ", so it applies";
  return shown`  '${name}' (${effect}) ${MATCHED[matched]}: ${why}${consequence}`;
}

function describeGrant({ decision, ...origins }: PolicyExplanation): readonly ShownText[] {
  if (decision.decision === "deny" || decision.grant === undefined) return [];
  const { sandbox, limits, capabilities } = decision.grant;
  const rulesOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(", ");
  return [
    shown`  sandbox ${sandbox}: from '${origins.sandbox ?? ""}'`,
    ...Object.entries(origins.limits).map(([name, rule]) => {
      const limit = name as LimitName;
      return shown`  limit ${WRITTEN_NAMES[limit]} ${formatLimit(limit, limits[limit] ?? 0)}: from '${rule}'`;
    }),
    ...Object.entries(origins.capabilities).map(([name, rules]) => {
      const value = JSON.stringify(capabilities[name as keyof typeof capabilities]);
      return shown`  capability ${name} ${value}: from ${rulesOf(rules)}`;
    }),
    ...Object.entries(origins.withheld).map(([name, rules]) =>
      rules.length === 0
        ? shown`  no capability ${name}: the rules grant nothing of it in common`
        : shown`  no capability ${name}: not granted by ${rulesOf(rules)}`,
    ),
  ];
}
