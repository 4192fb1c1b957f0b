/** What looks alike in most typefaces becomes the same. */
export function skeleton(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}|\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase()
    .replace(/rn/g, "m")
    .replace(/vv/g, "w")
    .replace(/cl/g, "d")
    .replace(/[0о]/g, "o")
    .replace(/[1iі|]/g, "l")
    .replace(/5/g, "s")
    .replace(/[\s_.\\-]+/g, "-");
}

/** Whether a value can be taken for another one.  */
export function looksLike(one: string, other: string, isPath: boolean): boolean {
  if (skeleton(one) === skeleton(other) || isTransposed(one, other)) return true;
  // Paths differ in a letter all the time, and so do numbered names.
  if (isPath || (!isAccount(one) && one.replace(/\d+/g, "") === other.replace(/\d+/g, ""))) return false;
  const [own, its] = [one, other].map((text) => text.split("@"));
  const isSameDomain = own?.[1] !== undefined && own[1] === its?.[1];
  // Short names of one domain are alike by chance: ann and dan.
  if (isSameDomain && own?.[0] !== undefined && own[0].length < 6) return false;
  return other.length >= 6 && distance(one, other, 2) <= 2;
}

/** Whether a text is the number of an account or a card: its digits are not counted on. */
function isAccount(text: string): boolean {
  return /^[A-Z]{2}\d{2}[A-Z\d]{11,30}$|^\d{13,19}$/.test(text.replace(/[ -]/g, ""));
}

/** Whether two texts have the same characters in another order, such as `src` and `scr`. */
function isTransposed(one: string, other: string): boolean {
  return (
    one.length > 3 && one.length === other.length && [...one].sort().join("") === [...other].sort().join("")
  );
}

/** The number of characters by which two texts differ; more than `most` if it is more. */
function distance(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let row = [...Array(other.length + 1).keys()];
  for (let at = 1; at <= one.length; at++) {
    const next = [at];
    for (let to = 1; to <= other.length; to++) {
      const isSame = one.charAt(at - 1) === other.charAt(to - 1);
      const [left = 0, above = 0, corner = 0] = [next[to - 1], row[to], row[to - 1]];
      next.push(Math.min(left + 1, above + 1, corner + (isSame ? 0 : 1)));
    }
    if (Math.min(...next) > most) return most + 1;
    row = next;
  }
  return row.at(-1) ?? 0;
}
