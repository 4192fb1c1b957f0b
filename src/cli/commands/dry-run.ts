import type { ToolCall } from "../../engine/call/call.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import type { ToolError } from "../../engine/errors.ts";
import type { PolicyDecision } from "../../policy/decision.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import { FOREIGN_PREFIX } from "../../rendering/lines.ts";
import { joinShown, shown } from "../../rendering/shown.ts";
import { ShownText } from "../../rendering/shown-text.ts";

/** What would become of a call. */
export interface ForeseenCall {
  readonly callId: string;
  readonly toolName: string;
  /** What the policy decides; absent if the call fails before. */
  readonly decision?: PolicyDecision;
  /** Why the call would fail, whatever a person says; absent if it would run. */
  readonly error?: Pick<ToolError, "code" | "message">;
}

/**
 * Takes calls through every step up to the sandbox, and runs nothing.
 *
 * @param context Must have no hooks.
 */
export async function foresee(
  calls: readonly ToolCall[],
  context: DispatchContext,
): Promise<readonly ForeseenCall[]> {
  const engine = new ToolDispatchEngine();
  const foreseen: ForeseenCall[] = [];
  // One by one, since the ids of a message's calls need not differ.
  for (const call of calls) foreseen.push(await foreseeCall(engine, call, context));
  return foreseen;
}

async function foreseeCall(
  engine: ToolDispatchEngine,
  call: ToolCall,
  context: DispatchContext,
): Promise<ForeseenCall> {
  let decision: PolicyDecision | undefined;
  let isReady = false;
  const policy: RuntimePolicy = {
    // Read for each call, as the engine reads it. With it, recorded calls can be decided again.
    get revision() {
      return context.policy.revision;
    },
    check: async (request) => {
      decision = await context.policy.check(request);
      return decision;
    },
  };
  const execution = await engine.dispatch(call, {
    ...context,
    policy,
    // A person is asked only about a call that could run.
    confirm: async () => {
      isReady = true;
      return { decision: "nobody" };
    },
    hooks: {
      onToolStart: () => {
        isReady = true;
        return { deny: "nothing runs" };
      },
    },
  });
  const { callId = call.id, toolName = call.name, error } = execution ?? {};
  return {
    callId,
    toolName,
    ...(decision !== undefined && { decision }),
    ...(error !== undefined && !isReady && { error: { code: error.code, message: error.message } }),
  };
}

/** Shows one line for each call. The model chooses how a line begins, hence the prefix. */
export function showForeseen(calls: readonly ForeseenCall[]): ShownText {
  const prefix = new ShownText(FOREIGN_PREFIX);
  return joinShown(
    calls.map((call) => shown`${prefix}${call.callId}: ${call.toolName}: ${outcomeOf(call)}`),
    "\n",
  );
}

function outcomeOf({ decision, error }: ForeseenCall): ShownText {
  const rules = (decision?.rules ?? []).join(", ");
  const suffix = rules === "" ? new ShownText("") : shown` (${rules})`;
  if (error !== undefined) return shown`fails: ${error.code}: ${error.message}${suffix}`;
  if (decision === undefined || decision.decision === "deny") return shown`deny${suffix}`;
  const question = decision.decision === "ask" ? shown` '${decision.question}'` : new ShownText("");
  if (decision.grant === undefined) return shown`ask${question}${suffix}`;
  const { sandbox, isolation, limits, capabilities } = decision.grant;
  const place = isolation === undefined ? sandbox : `${sandbox}/${isolation}`;
  return shown`${decision.decision}${question}: ${place}, limits ${JSON.stringify(limits)}, capabilities ${JSON.stringify(capabilities)}${suffix}`;
}
