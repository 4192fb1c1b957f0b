import { LIST_INDEX, parsePointer } from "../../../json/pointer.ts";
import type { UntrustedResult } from "../rule.ts";

/** A step into a result, with the first field in the policy that is marked here, and the first here or below. */
interface Place {
  readonly members: Map<string, Place>;
  marked?: MarkedField;
  first?: MarkedField;
}

interface MarkedField {
  readonly field: string;
  readonly order: number;
}

/** The fields of results that a policy marks as written by outsiders, by tool and path. */
export class MarkedFields {
  readonly #results = new Map<string, Place>();

  constructor(untrusted: readonly UntrustedResult[]) {
    let order = 0;
    for (const { tool, fields = [""] } of untrusted) {
      const root = placeIn(this.#results, tool);
      for (const field of fields) mark(root, { field, order: order++ });
    }
  }

  /** Returns the first marked field of a tool that a field is in, or that is in it; `undefined` if there is none. */
  find(tool: string, field: string): string | undefined {
    let place = this.#results.get(tool);
    let found = place?.marked;
    const earlier = (other: MarkedField | undefined): MarkedField | undefined =>
      found === undefined || (other !== undefined && other.order < found.order) ? other : found;
    for (const step of stepsOf(field)) {
      place = place?.members.get(step);
      found = earlier(place?.marked);
    }
    return earlier(place?.first)?.field;
  }
}

function mark(root: Place, marked: MarkedField): void {
  let place = root;
  place.first ??= marked;
  for (const step of stepsOf(marked.field)) {
    place = placeIn(place.members, step);
    place.first ??= marked;
  }
  place.marked ??= marked;
}

function placeIn(places: Map<string, Place>, name: string): Place {
  let place = places.get(name);
  if (place === undefined) {
    place = { members: new Map() };
    places.set(name, place);
  }
  return place;
}

/** Elements of lists are not told apart. */
function stepsOf(field: string): string[] {
  return parsePointer(field).filter((step) => step !== "*" && !LIST_INDEX.test(step));
}
