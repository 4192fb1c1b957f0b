/** Matches an escape in a pattern. */
export const ESCAPE: RegExp =
  /\\(?:u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|c([A-Za-z])|([pP])\{([^}]*)\}|(.))/suy;

/** ECMAScript's white space and its complement. In RE2, `\s` covers ASCII only. */
const SPACE = ranges(
  [9, 13],
  [32],
  [0xa0],
  [0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f],
  [0x205f],
  [0x3000],
  [0xfeff],
);
const NO_SPACE = ranges(
  [0, 8],
  [14, 31],
  [33, 0x9f],
  [0xa1, 0x167f],
  [0x1681, 0x1fff],
  [0x200b, 0x2027],
  [0x202a, 0x202e],
  [0x2030, 0x205e],
  [0x2060, 0x2fff],
  [0x3001, 0xfefe],
  [0xff00, 0x10ffff],
);
/** The characters that `.` does not match. */
export const LINE_ENDS: string = ranges([10], [13], [0x2028, 0x2029]);
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };
/** The long names of Unicode's general categories. */
const CATEGORIES: Readonly<Record<string, string>> = {
  ...{ Letter: "L", Lowercase_Letter: "Ll", Uppercase_Letter: "Lu", Titlecase_Letter: "Lt", Mark: "M" },
  ...{ Number: "N", Decimal_Number: "Nd", Punctuation: "P", Symbol: "S", Currency_Symbol: "Sc" },
  ...{ Separator: "Z", Space_Separator: "Zs", Other: "C", Control: "Cc" },
};

/** Translates an escape to RE2, alone or within a class. */
export function writeEscape(found: RegExpExecArray | null, where: "alone" | "in-class"): string {
  const [, high, low, braced, unit, byte, control, property, category = "", name = ""] = found ?? [];
  if (high !== undefined) return literal(String.fromCharCode(hex(high), hex(low)).codePointAt(0) ?? 0);
  const code = braced ?? unit ?? byte;
  if (code !== undefined) return literal(hex(code));
  if (control !== undefined) return literal(control.charCodeAt(0) % 32);
  if (property !== undefined) {
    const value = category.replace(/^(?:General_Category|gc|Script|sc)=/, "");
    return `\\${property}{${CATEGORIES[value] ?? value}}`;
  }
  switch (name) {
    case "d":
    case "D":
    case "w":
    case "W":
      return `\\${name}`;
    case "s":
      return where === "alone" ? `[${SPACE}]` : SPACE;
    case "S":
      return where === "alone" ? `[${NO_SPACE}]` : NO_SPACE;
    case "b":
      return literal(8);
    default:
      return literal(CONTROLS[name] ?? name.codePointAt(0) ?? 0);
  }
}

function hex(digits = "0"): number {
  return Number.parseInt(digits, 16);
}

/** Writes a character in the syntax of RE2. */
export function literal(codePoint: number): string {
  return `\\x{${codePoint.toString(16)}}`;
}

/** Writes ranges of characters for a class in the syntax of RE2. */
export function ranges(...list: readonly (readonly [number, number?])[]): string {
  return list.map(([first, last = first]) => `${literal(first)}-${literal(last)}`).join("");
}
