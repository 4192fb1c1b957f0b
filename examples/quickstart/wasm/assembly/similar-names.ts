import { error, ErrorCode, ok } from "./guest";
import { JsonReader, quote } from "./json";

class Candidate {
  constructor(
    readonly name: string,
    readonly distance: i32,
  ) {}
}

/** Ranks `candidates` by their edit distance to `query`, nearest first. */
export function similarNames(input: string): usize {
  const reader = new JsonReader(input);
  let query: string | null = null;
  const names = new Array<string>();
  for (let name = reader.member(true); name != null; name = reader.member(false)) {
    if (name == "query") {
      query = reader.string();
    } else if (name == "candidates") {
      for (let more = reader.item(true); more; more = reader.item(false)) names.push(reader.string());
    } else {
      reader.skip();
    }
  }
  if (reader.failed || query == null) {
    return error(ErrorCode.invalidInput, "the input must be { query: string, candidates: string[] }");
  }
  const candidates = new Array<Candidate>();
  for (let i = 0; i < names.length; i++) {
    candidates.push(new Candidate(names[i], editDistance(query, names[i])));
  }
  candidates.sort((a, b) => a.distance - b.distance);
  return ok(write(candidates));
}

function write(candidates: Candidate[]): string {
  const items = new Array<string>();
  for (let i = 0; i < candidates.length; i++) {
    const candidate = candidates[i];
    items.push('{"name":' + quote(candidate.name) + ',"distance":' + candidate.distance.toString() + "}");
  }
  return "[" + items.join(",") + "]";
}

/** Returns the Levenshtein distance, in UTF-16 code units. */
function editDistance(a: string, b: string): i32 {
  // One row of the table is enough: entries to the left of `column` belong to this row, the others to the row above.
  const row = new StaticArray<i32>(b.length + 1);
  for (let column = 0; column <= b.length; column++) row[column] = column;
  for (let line = 1; line <= a.length; line++) {
    let diagonal = row[0];
    row[0] = line;
    for (let column = 1; column <= b.length; column++) {
      const above = row[column];
      const replaced = diagonal + (a.charCodeAt(line - 1) == b.charCodeAt(column - 1) ? 0 : 1);
      row[column] = min(replaced, min(above, row[column - 1]) + 1);
      diagonal = above;
    }
  }
  return row[b.length];
}
