import type { IncomingMessage } from "node:http";
import type { Sender } from "./authentication.ts";
import type { Guards } from "./more-routes.ts";

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
  if (guards.authentication !== authentication) guards.authentication.refuseUnlessCurrent(sender);
  return sender;
}
