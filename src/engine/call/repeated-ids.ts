/** Returns the ids that several calls of a message have: an answer, or a result, could be for any of these calls. */
export function repeatedIds(calls: readonly { readonly id: string }[]): Set<string> {
  const seen = new Set<string>();
  return new Set(calls.flatMap(({ id }) => (seen.size === seen.add(id).size ? id : [])));
}

/** Returns why a call with a repeated id does not run, as a text for the model. */
export function twiceText(id: string): string {
  return `Invalid tool call: several calls of the message have the id ${JSON.stringify(id.slice(0, 64))}`;
}
