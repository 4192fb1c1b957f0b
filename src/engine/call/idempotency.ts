import { CanonicalJson } from "../../json/canonical.ts";
import { sandboxesOf } from "../../tool/implementations/implementations.ts";
import type { Principal } from "../../tool/principal.ts";
import { changesNothing, type SideEffects } from "../../tool/side-effects.ts";
import type { ReceivedCall } from "../call.ts";
import type { Tool } from "../tool.ts";

/** What distinguishes the calls of one context from those of another: members of `DispatchContext`. */
interface IdentifyingContext {
  readonly sessionId: string;
  readonly turnId?: string;
  readonly messageId?: string;
  readonly idempotencyKey?: string;
}

/** What distinguishes a call from others. */
interface IdentifiedCall {
  readonly ctx: IdentifyingContext;
  /** `undefined` for a call of the model. */
  readonly caller: object | undefined;
  readonly received: ReceivedCall;
  readonly canonical: CanonicalJson;
  readonly principal: Principal | undefined;
}

/**
 * Returns the key under which a call of a tool that is `idempotent` runs: that of the context, or for a call of a tool one of its
 * caller's identity, its place among the caller's calls, and what is called. `undefined` if the call cannot be distinguished from all
 * others.
 */
export function idempotencyKeyOf({
  ctx,
  caller,
  received,
  canonical,
  principal,
}: IdentifiedCall): string | undefined {
  if (caller === undefined) return ctx.idempotencyKey;
  if (!identifiesCalls(ctx)) return undefined;
  const { sessionId, turnId = "", messageId = "", idempotencyKey } = ctx;
  const root =
    idempotencyKey === undefined ? [principal?.id ?? "", sessionId, turnId, messageId] : [idempotencyKey];
  // The id of a call of a tool consists of its caller's and its number.
  return new CanonicalJson([...root, received.id, received.name, canonical.digest]).digest;
}

/** Whether the ids of calls are unique: a message is dispatched once, and not every context says which it is. */
function identifiesCalls({ idempotencyKey, messageId }: IdentifyingContext): boolean {
  return idempotencyKey !== undefined || messageId !== undefined;
}

/** Whether a call that a tool made, and that was begun and has not ended, runs again without a further effect. */
export function isRepeatableNested(
  tool: Tool<never, never>,
  sideEffects: SideEffects,
  ctx: IdentifyingContext,
): boolean {
  return changesNothing(sideEffects) || (identifiesCalls(ctx) && isRepeatable(tool, sideEffects));
}

/** Whether a call that was begun and has not ended runs again without a further effect, as its tool gets the same key again. */
export function isRepeatable(tool: Tool<never, never>, sideEffects: SideEffects): boolean {
  return changesNothing(sideEffects) || (tool.idempotent === true && getsKey(tool));
}

/** Whether a tool gets its key wherever it runs. In QuickJS, the calls that it makes get keys that are derived from it. */
function getsKey(tool: Tool<never, never>): boolean {
  const { remote } = tool;
  return sandboxesOf(tool).every((mode) => {
    if (mode === "host" || mode === "quickjs") return true;
    return mode === "remote" && remote !== undefined && !("executor" in remote) && !("mcp" in remote);
  });
}
