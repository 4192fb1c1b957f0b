import { escapeText } from "../../rendering/escaping/escape.ts";
import { fieldsOf, isMembers, type Json, type JsonMembers, replacementOf, textsOf } from "./fields.ts";
import { lineDiff } from "./line-diff.ts";

/** Something about arguments that a person should look at. Foreign texts are the odd items. */
export type Notice = readonly string[];

/** What arguments are compared with. */
export interface Compared {
  /** The arguments of other calls of the tool. Default: none. */
  readonly peers?: readonly Json[];
  /** The arguments of calls of other tools. Default: none. */
  readonly others?: readonly Json[];
  /** Where the server found that the paths lead. Default: not known. */
  readonly leadsTo?: readonly string[];
}

/** The most notices, and the most foreign characters in each. */
const MAX_NOTICES = 12;
const MAX_CHARS = 200;
/** With how many other calls a call is compared at least before something is unusual. */
const MIN_OTHERS = 3;
/** A line that is longer can hide something at its end. */
const LONG_LINE = 400;

/** What makes a line of code do more than it seems to. Written such that no search for such code finds this line. */
const POWERFUL =
  /\b(?:curl|wget|ev[a]l|exec|execSync|spawn|child_process|subprocess|os\.system|sudo|chmod|base64|atob|fromCharCode|process\.env|authorized_keys|rm\s+-rf?|Invoke-Expression|LD_PRELOAD|id_rsa)\b|\/dev\/tcp|\.ssh\//;

/**
 * Returns what a person should look at in the arguments of a call: characters that are not what they look like, values that
 * look like others or are unlike all others, paths that lead elsewhere, and lines that do more than they seem to.
 */
export function noticesOf(
  given: Json,
  { peers: same = [], others = [], leadsTo = [] }: Compared = {},
): readonly Notice[] {
  if (!isMembers(given)) return [];
  const peers = same.filter(isMembers);
  const compared = { peers, others: others.filter(isMembers) };
  const notices = [
    ...disguises(given),
    ...fieldsOf(given).flatMap(({ name, value }) => [
      ...aboutPath(name, value, leadsTo),
      ...comparedWith(name, value, compared),
    ]),
    ...missingFrom(given, peers),
    ...aboutTexts(given),
  ];
  const seen = new Map(notices.map((notice) => [notice.join("\0"), notice]));
  return [...seen.values()].slice(0, MAX_NOTICES).map(cut);
}

function cut(notice: Notice): Notice {
  return notice.map((part) => (part.length > MAX_CHARS ? `${part.slice(0, MAX_CHARS)}…` : part));
}

/** Names and values with characters that are escaped where they are shown. */
function disguises(given: JsonMembers): readonly Notice[] {
  const found = textsOf(given).flatMap(({ name, text }) => (isDisguised(text) ? [name] : []));
  const names = Object.keys(given).filter(isDisguised);
  return [...new Set([...found, ...names])].map((name) => [
    "",
    name,
    " has characters that are invisible, or look like others. They are shown as escapes.",
  ]);
}

function isDisguised(text: string): boolean {
  return escapeText(text, { keepsLines: true, maxSpaces: Number.POSITIVE_INFINITY }).some(
    ({ kind, text: part }) => kind === "escape" && /\\u/.test(part),
  );
}

function isPathName(name: string): boolean {
  return /path|file|dir|source|destination|target/i.test(name);
}

function aboutPath(name: string, value: Json, leadsTo: readonly string[]): readonly Notice[] {
  if (typeof value !== "string" || !isPathName(name) || value.includes("\n")) return [];
  const notices: Notice[] = [];
  if (/(?:^|[\\/])\.\.(?:[\\/]|$)/.test(value)) notices.push(["", name, " goes up through “..”."]);
  if (/ $|^ | [\\/]|[\\/] |\.$/.test(value))
    notices.push(["", name, " has a space or a dot at the end of a name."]);
  if (/(?:^|[\\/])\.[^.\\/]/.test(value))
    notices.push(["", name, " has a hidden name, which begins with a dot."]);
  const [place] = leadsTo;
  const isElsewhere =
    leadsTo.length === 1 &&
    place !== undefined &&
    !/^(?:---|\+\+\+|@@|[-+])/.test(place) &&
    !value.endsWith(place);
  if (isElsewhere) notices.push(["", name, " leads to ", place, "."]);
  return notices;
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return value.length <= MAX_CHARS && !value.includes("\n") ? [value] : [];
  return Array.isArray(value) ? value.flatMap(stringsOf) : [];
}

function comparedWith(
  name: string,
  value: Json,
  { peers, others }: { readonly peers: readonly JsonMembers[]; readonly others: readonly JsonMembers[] },
): readonly Notice[] {
  const known = valuesOf(name, peers);
  const isPath = isPathName(name);
  // The same file is written by one tool and changed by another.
  const all = new Set([...known, ...(isPath ? valuesOf(name, others) : [])].flat());
  const usual = usualPlace(known);
  const notices: Notice[] = [];
  for (const own of stringsOf(value)) {
    if (all.has(own)) continue;
    const like = [...all].find((other) => looksLike(own, other, isPath));
    if (like !== undefined) {
      notices.push(["", name, " is not ", like, ", which other calls have, but looks like it."]);
    } else if (usual !== undefined && placeOf(own) !== usual.place) {
      const where = `, where it is in ${usual.times} of the ${known.length} other calls shown here.`;
      notices.push(["", name, " is not at ", usual.place, where]);
    }
  }
  return notices;
}

/** The values of an argument in the calls that have it. */
function valuesOf(name: string, calls: readonly JsonMembers[]): readonly (readonly string[])[] {
  return calls
    .map((call) => stringsOf(Object.hasOwn(call, name) ? call[name] : undefined))
    .filter(({ length }) => length > 0);
}

/** The share of calls that make a place the usual one. */
const USUAL_SHARE = 0.6;

/** Where most calls lead with an argument; `undefined` if there are few, or they lead to many places. */
function usualPlace(
  known: readonly (readonly string[])[],
): { readonly place: string; readonly times: number } | undefined {
  const counts = new Map<string, number>();
  for (const values of known)
    for (const place of new Set(values.map(placeOf))) counts.set(place, (counts.get(place) ?? 0) + 1);
  const [place = "", times = 0] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
  return place !== "" && times >= MIN_OTHERS && times / known.length >= USUAL_SHARE
    ? { place, times }
    : undefined;
}

/** Where a value leads: the server of an address, the domain of a recipient, the folder of a path. */
function placeOf(value: string): string {
  const [, authority] = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(value) ?? [];
  if (authority !== undefined) return authority.toLowerCase();
  // What looks like a name before an address can be another address.
  const domains = [...value.matchAll(/@([\p{L}\p{N}.-]+)/gu)].map(([, domain = ""]) => domain.toLowerCase());
  if (domains.length > 0) return [...new Set(domains)].join(", ");
  return value.includes("/") ? `${value.slice(0, value.lastIndexOf("/"))}/` : "";
}

/** What looks alike in most typefaces becomes the same. */
function skeleton(text: string): string {
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

function looksLike(one: string, other: string, isPath: boolean): boolean {
  if (skeleton(one) === skeleton(other) || isTransposed(one, other)) return true;
  // Paths differ in a letter all the time, and so do numbered names.
  if (isPath || one.replace(/\d+/g, "") === other.replace(/\d+/g, "")) return false;
  return other.length >= 6 && distance(one, other, 2) <= 2;
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

/** Arguments that no other call has. */
function missingFrom(given: JsonMembers, peers: readonly JsonMembers[]): readonly Notice[] {
  if (peers.length < MIN_OTHERS) return [];
  return Object.keys(given)
    .filter((name) => !peers.some((peer) => Object.hasOwn(peer, name)))
    .map((name) => ["", name, ` is in none of the ${peers.length} other calls shown here.`]);
}

function aboutTexts(given: JsonMembers): readonly Notice[] {
  const servers = new Set<string>();
  const notices: Notice[] = [...whiteSpaceChanges(given)];
  for (const { name, text } of newTexts(given)) {
    const [gap] = /\n(?:[^\S\n]*\n){8,}/.exec(text) ?? [];
    if (gap !== undefined)
      notices.push(["", name, ` goes on after ${gap.split("\n").length - 2} empty lines.`]);
    for (const [, server = ""] of text.matchAll(/\bhttps?:\/\/([^\s/"'<>)\]}?#]+)/gi)) servers.add(server);
    for (const line of text.split("\n")) {
      const [powerful] = POWERFUL.exec(line) ?? [];
      if (powerful !== undefined) notices.push(["", name, " has ", powerful, ": ", line.trim(), ""]);
      if (line.length > LONG_LINE) {
        const amount = line.length.toLocaleString("en-US");
        notices.push([
          "",
          name,
          ` has a line of ${amount} characters, which ends with `,
          line.slice(-60),
          "",
        ]);
      }
    }
  }
  if (servers.size > 0)
    notices.unshift(["The texts name the servers ", [...servers].slice(0, 8).join(", "), "."]);
  return notices;
}

/** The texts that a call adds: of a replacement, the lines that are new. */
function newTexts(value: Json, name = ""): readonly { readonly name: string; readonly text: string }[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => newTexts(item, `${name}/${at + 1}`));
  if (!isMembers(value)) return typeof value === "string" ? [{ name, text: value }] : [];
  const replacement = replacementOf(value);
  const below = (key: string): string => (name === "" ? key : `${name}/${key}`);
  const rest = Object.entries(value).filter(([key]) => !replacement?.names.includes(key));
  const others = rest.flatMap(([key, item]) => newTexts(item, below(key)));
  if (replacement === undefined) return others;
  const added = lineDiff(replacement.before, replacement.after).filter(({ sign }) => sign === "+");
  return [...others, { name: below(replacement.names[1]), text: added.map(({ text }) => text).join("\n") }];
}

/** Lines of replacements that differ only in their indentation, which some languages give a meaning. */
function whiteSpaceChanges(value: Json, name = ""): readonly Notice[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => whiteSpaceChanges(item, `${name}/${at + 1}`));
  if (!isMembers(value)) return [];
  const replacement = replacementOf(value);
  const below = (key: string): string => (name === "" ? key : `${name}/${key}`);
  const nested = Object.entries(value).flatMap(([key, item]) => whiteSpaceChanges(item, below(key)));
  if (replacement === undefined) return nested;
  const lines = lineDiff(replacement.before, replacement.after);
  const texts = (sign: string): ReadonlySet<string> =>
    new Set(
      lines.filter((line) => line.sign === sign && line.text.trim() !== "").map(({ text }) => text.trim()),
    );
  const same = [...texts("+").intersection(texts("-"))];
  return same.length === 0
    ? nested
    : [...nested, ["", below(replacement.names[1]), " changes only the white space of ", same[0] ?? "", ""]];
}
