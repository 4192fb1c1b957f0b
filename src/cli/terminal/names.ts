const MAX_LENGTH = 1_000;
const MAX_NAME_LENGTH = 160;
const MAX_NAMES = 20;

/** Shortens a text from a component. */
export function shorten(text: string, maxLength: number = MAX_LENGTH): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}

/** Lists the first names from a component, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, MAX_NAMES).map((name) => shorten(name, MAX_NAME_LENGTH));
  return listed.join(", ") + (names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more` : "");
}
