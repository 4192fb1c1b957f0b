import { checkArguments } from "../../../engine/arguments/check-arguments.ts";
import { argumentPaths, checkDeclaredArguments } from "../../../engine/arguments/declared-paths.ts";
import { Refusal } from "../../../engine/refusal.ts";
import { CanonicalJson } from "../../../json/canonical.ts";
import type { JsonValue } from "../../../json/value.ts";
import type { CallHistory } from "../../../policy/history/call-history.ts";
import type { SessionCore } from "../core.ts";

/** The call whose arguments a person wrote anew. */
interface EditedCall {
  readonly callId: string;
  readonly turnId: string | undefined;
  readonly toolName: string;
}

/** Why a call could not run with the arguments that a person wrote; `undefined` if it could. */
export async function problemOfArguments(
  { id: sessionId, registry, workspace, principal, policy }: SessionCore,
  { callId, turnId, toolName }: EditedCall,
  edited: JsonValue,
  history?: CallHistory,
): Promise<string | undefined> {
  const registered = registry.find(toolName);
  if (registered === undefined) return `the tool '${toolName}' is gone`;
  try {
    const checked = checkArguments(edited, registered);
    if (!("value" in checked)) return checked.message;
    const { value: input } = checked;
    const { declared } = registered;
    const found = declared && (await checkDeclaredArguments(declared, input, workspace, toolName));
    const paths = argumentPaths(found);
    const decision = await policy.check(
      Object.freeze({
        callId,
        sessionId,
        input,
        canonical: new CanonicalJson(input),
        tool: registered.subject,
        ...(turnId !== undefined && { turnId }),
        ...(principal !== undefined && { principal }),
        ...(workspace !== undefined && { workspace }),
        ...(paths !== undefined && { paths }),
        ...(history !== undefined && { history }),
      }),
    );
    return decision.decision === "deny" ? "the policy denies the call with these arguments" : undefined;
  } catch (error) {
    if (Refusal.is(error)) return error.failure.message;
    return "the policy could not decide on these arguments";
  }
}
