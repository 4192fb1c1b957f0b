import type { SessionCore } from "../../sessions/calls/core.ts";
import type { Sessions } from "../../sessions/sessions.ts";

/**
 * Returns the ids of a session and of those above it: the session of an agent has above it the one whose call runs the agent.
 * What a person is asked about an agent concerns the clients of all of them.
 */
export function withSessionsAbove(sessions: Pick<Sessions, "get">, id: string): readonly string[] {
  const ids = [id];
  let session: Pick<SessionCore, "origin"> | undefined = sessions.get(id);
  while (session?.origin !== undefined) {
    const { parent }: { readonly parent: SessionCore } = session.origin;
    ids.push(parent.id);
    session = parent;
  }
  return ids;
}
