import type { ConfirmationAnswer, ConfirmationRequest } from "../../../engine/call/confirmation.ts";
import { cancelled } from "../../../engine/failure/refusal.ts";
import { escapeName } from "../../../policy/match/name-pattern.ts";
import type { ToolTraits } from "../../../tool/tool-traits.ts";
import type { CallChoice, Inquiry, Resolution } from "../../confirmations/inquiry.ts";
import { shownCall } from "../../confirmations/shown-call.ts";
import type { MessageCore, SessionCore } from "../core.ts";
import { askInquiry } from "./asking-inquiry.ts";
import { problemOfArguments } from "./edited-arguments.ts";
import { projectedChanges } from "./projected-changes.ts";

const ONCE: readonly CallChoice[] = Object.freeze(["allow", "deny"]);
const REMEMBERED: readonly CallChoice[] = Object.freeze(["allow", "deny", "always"]);

const NO_TRAITS: ToolTraits = Object.freeze({});

/**
 * Asks a person about a call, and waits for the answer.
 *
 * @throws {Refusal} `cancelled` if the inquiry was cancelled, perhaps before a restart.
 */
export async function askPerson(
  message: MessageCore,
  request: ConfirmationRequest,
  signal: AbortSignal,
): Promise<ConfirmationAnswer> {
  const { session, turn } = message;
  if (turn.unattended) return { decision: "nobody" };
  const { redaction } = session;
  const { inquiries } = message;
  const { callId, digest, principal, parent, remember: accepts, tool } = request;
  const traits = session.registry.find(tool.name)?.tool ?? NO_TRAITS;
  let inquiry: Inquiry | undefined;
  const resolution = await askInquiry(
    { inquiries, origin: session.origin },
    {
      ...{
        kind: traits.submitsPlan === true ? "plan" : "call",
        sessionId: session.id,
        turnId: turn.id,
        messageId: message.id,
        callId,
        digest,
      },
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
      staysOpen: () => session.isSuspended,
      checkArguments: (edited) =>
        problemOfArguments(
          session,
          { callId, turnId: request.turnId, toolName: tool.name },
          edited,
          message.historyOfEdit(callId),
        ),
      onAsked: (asked) => {
        inquiry = asked;
      },
    },
  );
  if (resolution === "nobody") return { decision: "nobody" };
  const { decision, by = "", arguments: edited, reason } = resolution;
  if (inquiry !== undefined) await applyAnswer(session, inquiry, resolution);
  switch (decision) {
    case "allow":
      return { decision, by, ...(edited !== undefined && { arguments: edited }) };
    case "deny":
      return { decision, by, ...(reason !== undefined && { reason }) };
    case "timeout":
      return { decision, afterMs: inquiries.timeoutMs };
    case "cancelled":
      throw cancelled();
    // No inquiry about a call ends so: an answer to a question approves nothing.
    case "answer":
      return { decision: "nobody" };
  }
}

/**
 * Has an answer hold beyond its call: remembers it, if the person or the configuration says so, and approves the plan. Again
 * after a restart between the answer and this, whether or not the policy still asks about the call.
 */
export async function applyAnswer(
  session: SessionCore,
  inquiry: Inquiry,
  resolution: Resolution | undefined,
): Promise<void> {
  if (resolution === undefined) return;
  await remember(session, inquiry, resolution);
  if (inquiry.kind === "plan" && resolution.decision === "allow")
    await session.approvePlan(resolution.by ?? "", inquiry.id);
}

async function remember(
  session: SessionCore,
  { id, shown, choices }: Inquiry,
  { decision, choice, by = "", at, approval }: Resolution,
): Promise<void> {
  const canRemember = choices.some((each) => each === "always");
  const isOnce = session.settings.tools.get(shown.toolName) === "prompt_once" && canRemember;
  if (decision !== "allow" || (choice !== "always" && !isOnce)) return;
  const scope = approval ?? { tools: [escapeName(shown.toolName)], for: "session" };
  await session.approvalTable.remember({ id, by, at, scope, ...session.place });
}
