/**
 * Says that a file has a format which this version does not read, and what to do about it.
 *
 * @param found The number in the file.
 * @param newest The newest format that is read.
 */
export function newerFormatText(found: unknown, newest: number): string {
  return (
    `has format ${found}, and this version of sandgate reads formats up to ${newest}: ` +
    "use the version that wrote it, or a newer one"
  );
}

/** Whether the number of a format that a file has is one of a newer version. */
export function isNewerFormat(found: unknown, newest: number): boolean {
  return typeof found === "number" && found > newest;
}
