import { beginning } from "../../base/text.ts";
import type { ConfirmationAnswer, ConfirmationRequest } from "../../engine/call/confirmation.ts";
import { checkArguments } from "../../engine/call.ts";
import { argumentPaths, checkDeclaredArguments } from "../../engine/declared-arguments.ts";
import { cancelled, Refusal } from "../../engine/refusal.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { CallHistory } from "../../policy/call-history.ts";
import { escapeName } from "../../policy/match/name-pattern.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import { toLine } from "../../rendering/shown.ts";
import { inputSummary } from "../../rendering/text-summary.ts";
import type { ToolTraits } from "../../tool/tool-traits.ts";
import type { CallChoice, Confirmation, Resolution, ShownCall } from "../confirmations/confirmation.ts";
import type { MessageCore, SessionCore } from "./core.ts";
import { requestConfirmation } from "./tool-question.ts";

/** Stands for what a tool could not say, so that the list does not seem complete. */
const UNKNOWN = "(the tool could not say what it would change)";

/** Maximum number of changes that are shown, and of characters of each. */
const MAX_CHANGES = 100;
const MAX_CHANGE_LENGTH = 1_000;
const ONCE: readonly CallChoice[] = Object.freeze(["allow", "deny"]);
const REMEMBERED: readonly CallChoice[] = Object.freeze(["allow", "deny", "always"]);
const NO_TRAITS: ToolTraits = Object.freeze({});

/**
 * Asks a person about a call, and waits for the answer.
 *
 * @throws {Refusal} `cancelled` if the confirmation was cancelled, perhaps before a restart.
 */
export async function askPerson(
  message: MessageCore,
  request: ConfirmationRequest,
  signal: AbortSignal,
): Promise<ConfirmationAnswer> {
  const { session, turn } = message;
  if (turn.unattended) return { decision: "nobody" };
  const { redaction } = session;
  const { confirmations } = message;
  const { callId, digest, principal, parent, remember: accepts, tool } = request;
  const traits = session.registry.find(tool.name)?.tool ?? NO_TRAITS;
  let confirmation: Confirmation | undefined;
  const resolution = await requestConfirmation(
    { confirmations, origin: session.origin },
    {
      kind: traits.confirm === "plan" ? "plan" : "call",
      sessionId: session.id,
      turnId: turn.id,
      messageId: message.id,
      callId,
      digest,
      ...(principal !== undefined && { principal: principal.id }),
      ...(parent !== undefined && { parent }),
      shown: shownCall(request, {
        redaction,
        projectedChanges: projectedChanges(traits, request, session),
      }),
      choices: accepts === undefined ? ONCE : REMEMBERED,
    },
    {
      signal,
      // A tool can make more calls than people can be asked about at once.
      awaitsRoom: parent !== undefined,
      staysOpen: () => session.isSuspended || message.isLost(callId),
      checkArguments: (edited) =>
        problemOfArguments(
          session,
          { callId, turnId: request.turnId, toolName: tool.name },
          edited,
          message.historyOfEdit(callId),
        ),
      onAsked: (asked) => {
        confirmation = asked;
      },
    },
  );
  if (resolution === "nobody") return { decision: "nobody" };
  const { decision, by = "", arguments: edited, reason, at } = resolution;
  const after = confirmation === undefined ? {} : { afterMs: Math.max(0, at - confirmation.askedAt) };
  if (confirmation !== undefined) await applyAnswer(session, confirmation, resolution);
  switch (decision) {
    case "allow":
      return { decision, by, ...after, ...(edited !== undefined && { arguments: edited }) };
    case "deny":
      return { decision, by, ...after, ...(reason !== undefined && { reason }) };
    case "timeout":
      return { decision, afterMs: confirmations.timeoutMs };
    case "cancelled":
      throw cancelled();
    // No confirmation about a call ends so: an answer to a question approves nothing.
    case "answer":
      return { decision: "nobody" };
  }
}

/**
 * Applies what an answer means beyond its call: remembers it, if the person or the configuration says so, and approves the
 * plan. Repeated after a restart between the answer and this, whether or not the policy still asks about the call.
 */
export async function applyAnswer(
  session: SessionCore,
  confirmation: Confirmation,
  resolution: Resolution | undefined,
): Promise<void> {
  if (resolution === undefined) return;
  await remember(session, confirmation, resolution);
  if (confirmation.kind === "plan" && resolution.decision === "allow")
    await session.approvePlan(resolution.by ?? "", confirmation.id);
}

async function remember(
  session: SessionCore,
  { id, shown, choices }: Confirmation,
  { decision, choice, by = "", at, approval }: Resolution,
): Promise<void> {
  const canRemember = choices.some((each) => each === "always");
  const isOnce = session.settings.tools.get(shown.toolName) === "prompt_once" && canRemember;
  if (decision !== "allow" || (choice !== "always" && !isOnce)) return;
  const scope = approval ?? { tools: [escapeName(shown.toolName)], for: "session" };
  await session.approvalTable.remember({ id, by, at, scope, ...session.place });
}

/** What a person is shown besides the request. */
interface ShownCallOptions {
  readonly redaction: Redaction;
  /** What the tool says that it would change. Default: nothing. */
  readonly projectedChanges?: readonly string[];
}

/** Returns what a person is shown of a call, frozen. */
export function shownCall(
  { tool, canonical, question, grant, rules }: ConfirmationRequest,
  { redaction, projectedChanges = [] }: ShownCallOptions,
): ShownCall {
  const { text, missing, isPartial } = inputSummary(canonical, { redaction });
  return Object.freeze({
    toolName: tool.name,
    sideEffects: tool.sideEffects,
    inputSummary: Object.freeze({ text, missing, isPartial }),
    arguments: canonical.text,
    projectedChanges: Object.freeze(
      projectedChanges.slice(0, MAX_CHANGES).map((change) => beginning(change, MAX_CHANGE_LENGTH)),
    ),
    question,
    grant,
    rules,
  });
}

/** What {@link projectedChanges} needs of the session. */
interface ProjectionContext {
  readonly redaction: Redaction;
  readonly workspace: string | undefined;
  readonly settings: { readonly context: { readonly embedder?: unknown } };
}

/**
 * Returns what a call would change, each as one line that can be shown: what the tool projects, or else the paths that it
 * declares as written, as they lead in the workspace. A tool can say anything.
 */
function projectedChanges(
  traits: ToolTraits,
  request: ConfirmationRequest,
  { redaction, workspace, settings }: ProjectionContext,
): readonly string[] {
  const { paths = [] } = request;
  const declared = paths.filter(({ access }) => access === "write").map(({ path }) => path);
  const found: readonly unknown[] =
    traits.projectChanges === undefined
      ? declared
      : (projected(traits, request, { workspace, embedder: settings.context.embedder }) ?? [
          UNKNOWN,
          ...declared,
        ]);
  return found
    .filter((path) => typeof path === "string")
    .slice(0, MAX_CHANGES)
    .map((path) => toLine(redaction.text(path)));
}

/** Returns `undefined` if the function fails, which does not prevent that a person is asked. */
function projected(
  { projectChanges }: ToolTraits,
  { callId, sessionId, tool, turnId, principal, input }: ConfirmationRequest,
  place: { readonly workspace: string | undefined; readonly embedder: unknown },
): readonly unknown[] | undefined {
  const context = Object.freeze({ callId, sessionId, toolName: tool.name, turnId, principal, ...place });
  try {
    const changes: unknown = projectChanges?.(input as never, context);
    return Array.isArray(changes) ? changes : undefined;
  } catch {
    return undefined;
  }
}

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
    const paths = found && argumentPaths(found);
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
