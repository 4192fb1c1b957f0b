import { escapeText } from "../../rendering/escaping/escape.ts";
import { fieldsOf, isMembers, type Json, type JsonMembers, replacementOf, textsOf } from "./fields.ts";
import { lineDiff } from "./line-diff.ts";

/** Something about arguments that a person should look at. Foreign texts are the odd items. */
export type Notice = readonly string[];

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
 *
 * @param others The arguments of other calls of the tool.
 * @param leadsTo Where the server found that the paths lead.
 */
export function noticesOf(
  given: Json,
  others: readonly Json[] = [],
  leadsTo: readonly string[] = [],
): readonly Notice[] {
  if (!isMembers(given)) return [];
  const peers = others.filter(isMembers);
  const notices = [
    ...disguises(given),
    ...fieldsOf(given).flatMap(({ name, value }) => [
      ...aboutPath(name, value, leadsTo),
      ...comparedWith(name, value, peers),
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

function comparedWith(name: string, value: Json, peers: readonly JsonMembers[]): readonly Notice[] {
  const known = peers.map((peer) => stringsOf(Object.hasOwn(peer, name) ? peer[name] : undefined));
  const all = new Set(known.flat());
  const notices: Notice[] = [];
  for (const own of stringsOf(value)) {
    if (all.has(own)) continue;
    const like = [...all].find((other) => looksLike(own, other, isPathName(name)));
    if (like !== undefined) {
      notices.push(["", name, " is not ", like, ", which other calls have, but looks like it."]);
      continue;
    }
    const place = placeOf(own);
    const places = new Set([...all].map(placeOf));
    const [usual = ""] = places;
    if (
      known.filter(({ length }) => length > 0).length >= MIN_OTHERS &&
      places.size === 1 &&
      usual !== place &&
      usual !== ""
    )
      notices.push([
        "",
        name,
        " is not at ",
        usual,
        `, where it is in all ${peers.length} other calls shown here.`,
      ]);
  }
  return notices;
}

/** Where a value leads: the server of an address, the domain of a recipient, the folder of a path. */
function placeOf(value: string): string {
  const [, authority] = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(value) ?? [];
  if (authority !== undefined) return authority.toLowerCase();
  const [, domain] = /^[^@\s]+@([^@\s]+)$/.exec(value) ?? [];
  if (domain !== undefined) return domain.toLowerCase();
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
    .replace(/[\s_.\\-]/g, "-");
}

function looksLike(one: string, other: string, isPath: boolean): boolean {
  if (skeleton(one) === skeleton(other)) return true;
  // Paths differ in a letter all the time, and so do numbered names.
  if (isPath || one.replace(/\d+/g, "") === other.replace(/\d+/g, "")) return false;
  return other.length >= 6 && distance(one, other, 2) <= 2;
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
  const notices: Notice[] = [];
  for (const { name, text } of newTexts(given)) {
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
