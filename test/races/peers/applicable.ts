import type { Step, Vector } from "../vector.ts";
import type { Peer } from "./peer.ts";

/** Returns why a vector cannot be expressed for a library; `undefined` if it can. */
export function whyNotApplicable(vector: Vector, { missing }: Peer): string | undefined {
  for (const step of vector.actors.flat()) {
    const reason = reasonOf(step, missing);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function reasonOf(step: Step, missing: Peer["missing"]): string | undefined {
  switch (step.do) {
    case "cancel":
      return "a conversation that waits for a person has nothing to cancel";
    case "mode":
      return "it has no modes";
    case "policy":
      if (step.to === "auto") return "its tools are asked about or not, by their definition";
      if (step.to === "wider") return "a call runs without a grant that could be wider";
      return step.to === "deny" ? missing.deny : undefined;
    case "answer":
      if (step.arguments !== undefined && missing.edit !== undefined) return missing.edit;
      return step.decision === "always" ? missing.always : undefined;
    case "resend":
      return step.calls && missing.resend;
    default:
      return undefined;
  }
}

/** Whether crashes are what a vector is about. */
export function isAboutRestarts(vector: Vector): boolean {
  return vector.class === "lost on restart";
}

/** Whether a step leaves a grant as it is or makes it narrower: the calls of other libraries have none. */
export function isGrant(step: Step): boolean {
  return step.do === "policy" && step.to !== "deny";
}

/** Returns a vector without some steps. */
export function without(vector: Vector, isLeftOut: (step: Step) => boolean): Vector {
  const actors = vector.actors.map((steps) => steps.filter((step) => !isLeftOut(step)));
  return { ...vector, actors: actors.filter((steps) => steps.length > 0) };
}
