import type { IncomingMessage } from "node:http";
import type { Principal } from "../../policy/principal.ts";
import type { Sender } from "./authentication.ts";
import type { Guards } from "./more-routes.ts";

/** Who sent each request, once that is known, so that a refusal at any later step can say so. */
const principals = new WeakMap<IncomingMessage, Principal>();

/** Takes note of who sent a request. */
export function noteSender(request: IncomingMessage, { principal }: Pick<Sender, "principal">): void {
  if (principal !== undefined) principals.set(request, principal);
}

/** Returns who sent a request, as it was authenticated; `undefined` if it was not. */
export function principalOf(request: IncomingMessage): Principal | undefined {
  return principals.get(request);
}

/**
 * Authenticates the sender of a request. A sender whose credential is replaced meanwhile is refused.
 *
 * @param authority The host, which has been checked.
 * @param covered What a signature must cover in addition. Default: the body, if the method has one.
 * @throws {RemoteProblem} as `Authentication.check`, as a rejection.
 */
export async function authenticate(
  guards: Pick<Guards, "authentication">,
  request: IncomingMessage,
  authority: string,
  covered?: readonly string[],
): Promise<Sender> {
  const { authentication } = guards;
  const sender = await authentication.check(request, authority, covered);
  noteSender(request, sender);
  if (guards.authentication !== authentication) guards.authentication.refuseUnlessCurrent(sender);
  return sender;
}
