import type { TurnCall } from "../turn.ts";
import type { Demands } from "./demands.ts";

/** The shortest length that leaves room for a beginning and a digest. */
const DIGEST_LENGTH = 10;

/**
 * Returns the ids under which calls are sent back, with their results. A provider accepts its own; those of another one can
 * have other characters, or be too long, and two calls of a message can have one id.
 */
export function wireIds(
  calls: readonly TurnCall[],
  demands: Demands | undefined,
): ReadonlyMap<TurnCall, string> {
  const ids = new Map<TurnCall, string>();
  const used = new Set(calls.map(({ id }) => id));
  const seen = new Set<string>();
  for (const call of calls) {
    const { id } = call;
    if (!seen.has(id) && fits(id, demands)) {
      seen.add(id);
      continue;
    }
    // The text is not the id of another call of the message, and the same in every request.
    for (let count = 1; ; count++) {
      const other = fittingId(id, count, demands);
      if (used.has(other)) continue;
      used.add(other);
      ids.set(call, other);
      break;
    }
  }
  return ids;
}

function fits(id: string, demands: Demands | undefined): boolean {
  if (demands === undefined) return true;
  return id !== "" && id.length <= demands.idLength && demands.ids.test(id);
}

function fittingId(id: string, count: number, demands: Demands | undefined): string {
  // Loaded on use: it takes longer to load than this package.
  const { hash } = process.getBuiltinModule("node:crypto");
  const ending = `_${hash("sha256", `${id} ${count}`).slice(0, DIGEST_LENGTH)}`;
  const length = Math.min(demands?.idLength ?? 64, 64) - ending.length;
  return (id.replace(/[^a-zA-Z0-9_-]/g, "_") || "call").slice(0, length) + ending;
}
