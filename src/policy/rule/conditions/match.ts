/** Whether a condition or rule matches; `unclear` if that cannot be decided. */
export type Match = "yes" | "no" | "unclear";

export function yesOrNo(isTrue: boolean): Match {
  return isTrue ? "yes" : "no";
}

/** `unclear` remains unclear. */
export function not(match: Match): Match {
  if (match === "unclear") return match;
  return match === "yes" ? "no" : "yes";
}

/** `no` if any item does not match, even if some are unclear. */
export function allOf<T>(items: readonly T[], test: (item: T) => Match): Match {
  let match: Match = "yes";
  for (const item of items) {
    const answer = test(item);
    if (answer === "no") return "no";
    if (answer === "unclear") match = "unclear";
  }
  return match;
}

/** `yes` if any item matches, even if some are unclear. */
export function anyOf<T>(items: readonly T[], test: (item: T) => Match): Match {
  return not(allOf(items, (item) => not(test(item))));
}

/** The answer that all items have in common; otherwise `unclear`. */
export function eachOf<T>(items: readonly T[], test: (item: T) => Match): Match {
  let match: Match | undefined;
  for (const item of items) {
    const answer = test(item);
    if (answer === "unclear" || (match !== undefined && answer !== match)) return "unclear";
    match = answer;
  }
  return match ?? "unclear";
}
