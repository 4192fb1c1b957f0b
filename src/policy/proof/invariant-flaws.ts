import type { Flaw } from "../../config/shape.ts";
import { parseOrigin } from "../grant/net-grant.ts";
import { type Invariant, kindOf, selectionOf } from "./invariant.ts";

/** Finds flaws of invariants that their shape does not cover: origins with a port that does not exist. */
export function invariantFlaws(invariants: readonly Invariant[]): readonly Flaw[] {
  return invariants.flatMap((invariant, index) => {
    const { net } = selectionOf(invariant).capabilities ?? {};
    if (net === undefined || net === "any") return [];
    const path = ["invariants", String(index), kindOf(invariant), "capabilities", "net", "outside"];
    return net.outside.flatMap((origin, place) => flawOf(origin, [...path, String(place)]));
  });
}

function flawOf(origin: string, path: readonly string[]): readonly Flaw[] {
  try {
    parseOrigin(origin);
    return [];
  } catch (error) {
    return [{ path, at: "value", message: (error as Error).message }];
  }
}
