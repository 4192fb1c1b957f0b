import { escapeText } from "../../rendering/escape.ts";
import { editNotices, type Notice, newTexts } from "./edit-notices.ts";
import { fieldsOf, isMembers, type Json, type JsonMembers, textsOf, withCurrent } from "./fields.ts";
import { looksLike } from "./look-alike.ts";

/** What arguments are compared with. */
export interface Compared {
  /** The {@link comparable} arguments of other calls of the same tool. Default: none. */
  readonly peers?: readonly JsonMembers[];
  /** Those of calls of other tools. Default: none. */
  readonly others?: readonly JsonMembers[];
  /** Where the server found that the paths lead. Default: not known. */
  readonly leadsTo?: readonly string[];
  /** The text of the file that the call would write, as it is now; `null` if it does not exist. Default: not known. */
  readonly current?: string | null | undefined;
}

/** Maximum number of notices, and of foreign characters in each. */
const MAX_NOTICES = 12;
const MAX_CHARS = 200;
/** With how many other calls a call is compared at least before something is unusual. */
const MIN_OTHERS = 3;
/** A line that is longer can hide something at its end. */
const LONG_LINE = 400;

/** What makes a line of code do more than it seems to. Written such that no search for such code finds this line. */
const POWERFUL =
  /\b(?:curl|wget|ev[a]l|exec|execSync|spawn|child_process|subprocess|os\.system|sudo|chmod|base64|atob|fromCharCode|process\.env|authorized_keys|rm\s+-rf?|Invoke-Expression|LD_PRELOAD|id_rsa)\b|\/dev\/tcp|\.ssh\//;

/** Data that is not meant for people: base64 and the like. */
const ENCODED = /[A-Za-z\d+/_-]{160,}={0,2}/;

/**
 * Returns what a person should look at in the arguments of a call: characters that are not what they look like, values that
 * resemble or differ from those of all other calls, paths that lead elsewhere, and lines that do more than they seem to.
 */
export function noticesOf(
  given: Json,
  { peers = [], others = [], leadsTo = [], current }: Compared = {},
): readonly Notice[] {
  if (!isMembers(given)) return [];
  const compared = { peers, others };
  const changed = withCurrent(given, current);
  const notices = [
    ...disguises(given),
    ...fieldsOf(given).flatMap(({ name, value }) => [
      ...aboutPath(name, value, leadsTo),
      ...comparedWith(name, value, compared),
      ...unusual(name, value, peers),
      ...aboutCommand(name, value),
    ]),
    ...missingFrom(given, peers),
    ...missingHere(given, peers),
    ...editNotices(changed, current),
    ...aboutTexts(changed),
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

/** Returns what other calls are compared with: the names of arguments, and of their values numbers, flags and short texts. */
export function comparable(given: Json): JsonMembers {
  if (!isMembers(given)) return {};
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      typeof value === "number" || typeof value === "boolean" ? value : stringsOf(value),
    ]),
  );
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

/** A number that is much larger than in all other calls, and a value where nearly all of them have the same other one. */
function unusual(name: string, value: Json, peers: readonly JsonMembers[]): readonly Notice[] {
  const others = peers.flatMap((peer) => (Object.hasOwn(peer, name) ? [peer[name]] : []));
  if (others.length < MIN_OTHERS) return [];
  const most = Math.max(...others.map(amountOf).filter((amount) => !Number.isNaN(amount)));
  const own = amountOf(value);
  if (most > 0 && own >= most * 10)
    return [
      ["", name, " is ", String(value), ", and at most ", String(most), " in the other calls shown here."],
    ];
  const shown = wordOf(value);
  const counts = new Map<string, number>();
  for (const other of others.map(wordOf)) {
    if (other !== "") counts.set(other, (counts.get(other) ?? 0) + 1);
  }
  const [usual = "", times = 0] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
  if (shown === "" || shown === usual || times < MIN_OTHERS || times / others.length < ALIKE_SHARE) return [];
  const where = times === others.length ? "all other calls" : `${times} of the ${others.length} other calls`;
  return [["", name, " is ", shown, ", and ", usual, ` in ${where} shown here.`]];
}

/** The share of calls with the same value that makes another one unusual. */
const ALIKE_SHARE = 0.8;

/** A number, a flag or a word: what can be one of few values. `""` for anything else. */
function wordOf(value: Json | undefined): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = stringsOf(value).join();
  return /^[^\s@/:.]{1,20}$/.test(text) ? text : "";
}

/** A number, also one that is written as a text; `NaN` for anything else. */
function amountOf(value: Json | undefined): number {
  if (typeof value === "string" && value.trim() !== "") return Number(value);
  return typeof value === "number" ? value : Number.NaN;
}

/** The commands of a line of a shell that runs several. */
function aboutCommand(name: string, value: Json): readonly Notice[] {
  if (typeof value !== "string" || !/^(?:command|cmd|script|shell|bash)$/i.test(name)) return [];
  const commands = value
    .split(/[;|&\n`]+|\$\(/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (commands.length < 2) return [];
  const programs = commands.map((part) => part.split(/\s/, 1)[0] ?? "");
  return [["", name, ` runs ${commands.length} commands: `, programs.join(", "), "."]];
}

/** Arguments that no other call has. */
function missingFrom(given: JsonMembers, peers: readonly JsonMembers[]): readonly Notice[] {
  if (peers.length < MIN_OTHERS) return [];
  return Object.keys(given)
    .filter((name) => !peers.some((peer) => Object.hasOwn(peer, name)))
    .map((name) => ["", name, ` is in none of the ${peers.length} other calls shown here.`]);
}

/** Arguments that all other calls have: without them, a tool does what it does by default. */
function missingHere(given: JsonMembers, peers: readonly JsonMembers[]): readonly Notice[] {
  if (peers.length < MIN_OTHERS) return [];
  return Object.keys(peers[0] ?? {})
    .filter((name) => !Object.hasOwn(given, name) && peers.every((peer) => Object.hasOwn(peer, name)))
    .map((name) => ["", name, " is missing, and is there in all other calls shown here."]);
}

/** The part of an address after its server, with the escapes of a query decoded. */
function inAddress(text: string): string {
  return text.slice(8).replace(/%3a/gi, ":").replace(/%2f/gi, "/");
}

/** A statement of SQL that changes all rows of a table. Comments are ignored. */
function aboutStatement(name: string, text: string): readonly Notice[] {
  const statements = text.replace(/--[^\n]*|\/\*.*?\*\//gs, " ").split(";");
  const whole = statements.find(
    (statement) =>
      /^\s*(?:truncate|drop)\s+(?:table|database|schema)\s/i.test(statement) ||
      (/^\s*(?:delete\s+from\s+\S|update\s+\S+\s+set\s+\S+\s*=)/i.test(statement) &&
        !/\swhere\s/i.test(statement)),
  );
  return whole === undefined ? [] : [["", name, " changes all rows: ", whole.trim(), ""]];
}

function aboutTexts(given: JsonMembers): readonly Notice[] {
  const servers = new Set<string>();
  const notices: Notice[] = [];
  for (const { name, text } of newTexts(given)) {
    const [gap] = /\n(?:[^\S\n]*\n){8,}/.exec(text) ?? [];
    if (gap !== undefined)
      notices.push(["", name, ` goes on after ${gap.split("\n").length - 2} empty lines.`]);
    // Where the whole argument is an address, it says so itself.
    const isAddress = /^https?:\/\/\S+$/.test(text);
    const named = isAddress ? inAddress(text) : text;
    for (const [, server = ""] of named.matchAll(/\bhttps?:\/\/([^\s/"'<>)\]}?#&]+)/gi)) {
      if (isAddress) notices.push(["", name, " has another address in it, of ", server, "."]);
      else servers.add(server);
    }
    notices.push(...aboutStatement(name, text));
    for (const line of text.split("\n")) {
      const [encoded] = ENCODED.exec(line) ?? [];
      if (encoded !== undefined) {
        const amount = encoded.length.toLocaleString("en-US");
        notices.push(["", name, ` has ${amount} characters of encoded data, which cannot be read here.`]);
      }
      const [, server] = /\bhttps?:\/\/[^\s/"'<>?#]*@([^\s/"'<>)\]}?#]+)/i.exec(line) ?? [];
      if (server !== undefined)
        notices.push([
          "",
          name,
          " has an address that leads to ",
          server,
          ", and not to what is before the @.",
        ]);
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
