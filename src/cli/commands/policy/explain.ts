import type { ToolRegistry } from "../../../engine/registry.ts";
import { parseJson } from "../../../json/parse.ts";
import type { JsonValue } from "../../../json/value.ts";
import { NO_ORIGINS, type PolicyExplanation } from "../../../policy/explanation.ts";
import type { PolicyRequest, RuntimePolicy } from "../../../policy/policy.ts";
import type { PolicySuggestion } from "../../../policy/remedy/policy-suggestion.ts";
import { suggestChange } from "../../../policy/remedy/suggest-change.ts";
import { toPrintableJson } from "../../../rendering/printable-json.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import { CALL_SHAPE, type WrittenCall } from "../../policy-cases/case-shape.ts";
import { requestOf } from "../../policy-cases/request.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { describeExplanation } from "./describe-explanation.ts";
import { describeSuggestion } from "./describe-suggestion.ts";
import { loadConfiguredPolicy } from "./load.ts";

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

function readCall({ call, principal, session, userText, earlier, workspace }: ExplainCommand): WrittenCall {
  const value: JsonValue = {
    call: readJson("--call", call),
    ...(principal !== undefined && { principal: readJson("--principal", principal) }),
    ...(session !== undefined && { session }),
    ...(userText !== undefined && { userText }),
    ...(earlier !== undefined && { earlier: readJson("--earlier", earlier) }),
    ...(workspace !== undefined && { workspace }),
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
