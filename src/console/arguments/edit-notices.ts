import { isMembers, type Json, nameOf, type Replacement, replacementOf } from "./fields.ts";
import { type DiffLine, hunksOf, lineDiff } from "./line-diff.ts";
import { skeleton } from "./look-alike.ts";

/** Something about arguments that a person should look at. Foreign texts are the odd items. */
export type Notice = readonly string[];

/** A replacement among arguments, and the name of its new text. */
interface NamedReplacement extends Replacement {
  readonly name: string;
}

/** How many lines, and which share of a file, have to be removed before a notice says so. */
const MIN_GONE = 20;
const GONE_SHARE = 0.5;

/** A letter among digits that looks like one of them, such as in `25O`. */
const LETTER_AMONG_DIGITS = /(?<![\p{L}\p{N}_.])(?:\d+[OI]\d*|[OI]\d{2,}|\d+l\d+|l\d{2,})(?![\p{L}\p{N}_])/u;

/**
 * Returns what a person should look at in what a call replaces.
 *
 * @param current The text of the file, as it is now; `undefined` if it is not known.
 */
export function editNotices(given: Json, current: string | null | undefined): readonly Notice[] {
  const notices: Notice[] = current === null ? [["The file does not exist yet."]] : [];
  for (const replacement of replacementsIn(given)) {
    const { name, before, after } = replacement;
    const lines = lineDiff(before, after);
    notices.push(...sameButFor(name, lines), ...everywhere(replacement, current));
    const gone = lines.filter(({ sign }) => sign === "-").length;
    const all = before.split("\n").length;
    const added = lines.length - gone - lines.filter(({ sign }) => sign === " ").length;
    if (gone - added >= MIN_GONE && gone / all >= GONE_SHARE)
      notices.push(["", name, ` removes ${gone} of ${all} lines.`]);
  }
  for (const { name, text } of newTexts(given)) {
    const [odd] = LETTER_AMONG_DIGITS.exec(text) ?? [];
    if (odd !== undefined) notices.push(["", name, " has ", odd, ", where a letter looks like a digit."]);
  }
  return notices;
}

/** Changes that are hard to see: white space, and characters that look alike. */
function sameButFor(name: string, lines: readonly DiffLine[]): readonly Notice[] {
  const notices: Notice[] = [];
  for (const { lines: changed } of hunksOf(lines)) {
    const [gone, added] = ["-", "+"].map((sign) => changed.filter((line) => line.sign === sign));
    for (const [at, line] of (added ?? []).entries()) {
      const counterpart = gone?.[at];
      if (counterpart === undefined) continue;
      const [was, is] = [partOf(counterpart), partOf(line)];
      if (was !== is && plain(was) !== plain(is) && skeleton(was) === skeleton(is))
        notices.push(["", name, " changes ", was, " into ", is, `, which looks like it${inWords(was, is)}.`]);
    }
  }
  for (const line of commentedOut(lines)) notices.push(["", name, " makes a comment of ", line, ""]);
  const texts = (sign: string): ReadonlySet<string> =>
    new Set(
      lines.filter((line) => line.sign === sign && line.text.trim() !== "").map(({ text }) => text.trim()),
    );
  const [same] = texts("+").intersection(texts("-"));
  if (same !== undefined) notices.push(["", name, " changes only the white space of ", same, ""]);
  return notices;
}

/** The lines that become comments, and no longer have an effect. */
function commentedOut(lines: readonly DiffLine[]): readonly string[] {
  const gone = new Set(lines.filter(({ sign }) => sign === "-").map(({ text }) => text.trim()));
  return lines
    .filter(({ sign }) => sign === "+")
    .map(({ text }) => /^\s*(?:\/\/|#|--|;|\/\*|<!--)\s*(.*?)\s*(?:\*\/|-->)?\s*$/.exec(text)?.[1] ?? "")
    .filter((text) => text !== "" && gone.has(text));
}

/** Says in words which character differs first, as the typeface may not show it: `: the digit 0 becomes the letter O`. */
function inWords(was: string, is: string): string {
  const others = [...is];
  const [from, to] = [...was].map((one, at) => [one, others[at]]).find(([one, other]) => one !== other) ?? [];
  const [before, after] = [from, to].map(kindOf);
  return before === undefined || after === undefined ? "" : `: ${before} becomes ${after}`;
}

function kindOf(character = ""): string | undefined {
  if (/^\d$/.test(character)) return `the digit ${character}`;
  if (!/^[A-Za-z]$/.test(character)) return undefined;
  return `the ${character === character.toUpperCase() ? "capital" : "small"} letter ${character.toUpperCase()}`;
}

function partOf({ text, changed }: DiffLine): string {
  return changed === undefined ? text : text.slice(...changed);
}

/** Returns a text without case and with one kind of separator, which look alike. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[\s_.\\-]+/g, "-");
}

/** A replacement of every occurrence: how many there are, and which are parts of other words. */
function everywhere(
  { name, before, rest }: NamedReplacement,
  current: string | null | undefined,
): readonly Notice[] {
  const isEverywhere = rest.some(
    ({ name: own, value }) => /^(?:replace_?)?all$|^global$/i.test(own) && value === true,
  );
  if (!isEverywhere || before === "") return [];
  if (typeof current !== "string")
    return [["", name, " is put in the place of every ", before, ", wherever it is in the file."]];
  const found = current.split(before).length - 1;
  const inWords = wordsAround(current, before);
  return [
    ["", name, ` is put in ${found === 1 ? "1 place" : `${found} places`} of `, before, "."],
    ...(inWords.length === 0
      ? []
      : [["", name, " also changes parts of other words: ", inWords.slice(0, 8).join(", "), "."]]),
  ];
}

/** The words of a text that a needle is only a part of. */
function wordsAround(text: string, needle: string): readonly string[] {
  const words = new Set<string>();
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    const [before] = /[\p{L}\p{N}_]*$/u.exec(text.slice(Math.max(0, at - 40), at)) ?? [""];
    const end = at + needle.length;
    const [after] = /^[\p{L}\p{N}_]*/u.exec(text.slice(end, end + 40)) ?? [""];
    const isPart =
      (before !== "" && /^[\p{L}\p{N}_]/u.test(needle)) || (after !== "" && /[\p{L}\p{N}_]$/u.test(needle));
    if (isPart) words.add(`${before}${needle}${after}`);
  }
  return [...words];
}

/** Every replacement in a value, with the names of the members that lead to its new text. */
function replacementsIn(value: Json, name = ""): readonly NamedReplacement[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => replacementsIn(item, `${name}/${at + 1}`));
  if (!isMembers(value)) return [];
  const replacement = replacementOf(value);
  const below = (key: string): string => (name === "" ? key : `${name}/${key}`);
  const nested = Object.entries(value).flatMap(([key, item]) => replacementsIn(item, below(key)));
  return replacement === undefined
    ? nested
    : [...nested, { ...replacement, name: nameOf(replacement, name) }];
}

/** The texts that a call adds: of a replacement, the lines that are new. */
export function newTexts(
  value: Json,
  name = "",
): readonly { readonly name: string; readonly text: string }[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => newTexts(item, `${name}/${at + 1}`));
  if (!isMembers(value)) return typeof value === "string" ? [{ name, text: value }] : [];
  const replacement = replacementOf(value);
  const below = (key: string): string => (name === "" ? key : `${name}/${key}`);
  const rest = Object.entries(value).filter(([key]) => !replacement?.names.includes(key));
  const others = rest.flatMap(([key, item]) => newTexts(item, below(key)));
  if (replacement === undefined) return others;
  const added = lineDiff(replacement.before, replacement.after).filter(({ sign }) => sign === "+");
  return [...others, { name: nameOf(replacement, name), text: added.map(({ text }) => text).join("\n") }];
}
