import { accountNumbersIn } from "./account-numbers.ts";
import { plainText } from "./plain-text.ts";

/** The longest text in which references are looked for, in UTF-16 code units. */
export const MAX_REFERENCE_TEXT = 65_536;

/** What ends every link and address. */
const END = /[\s<]/u;
/** Characters that no link or address needs, and the middle of a Markdown link. */
const BREAK = /\]\(|[>"`{}|^“”„«»]/u;
/** What may stand before a link that one of the {@link BREAK}s ends. */
const OPENING: Readonly<Record<string, string>> = {
  ...{ '"': '"', "`": "`", "|": "|", ">": "<", "}": "{", "”": "“„", "“": "„", "»": "«", "«": "»" },
};
/** What can follow such an end, besides the end of the text. */
const AFTER_END = /[>"`{}|^“”„«»()[\]*_'’~,;:!?.…/]/u;
const LEADING = new Set("([*_'‘’~,;:!?¡¿");
const TRAILING = new Set(")]*_'’~,;:!?.…");

/** What every scheme has: a quick test, since most texts have few. */
const HAS_SCHEME = /:|\/\/|\\/;
const SCHEME =
  /:\/\/|\\\\|^\/\/|[=(,]\/\/|(?:^|[^\p{L}])(?:https?|wss?|mailto|sips?|callto|xmpp|vbscript|whatsapp|tel|sms|data|javascript|file|ftps?|ssh|git|magnet|bitcoin|ethereum|skype|tg|urn|blob|intent):./iu;
const ADDRESS = /@[\p{L}\p{N}]/u;
const NAMES = /[\p{L}\p{N}\p{M}._-]+/gu;
const TOP_LEVEL = /^(?:\p{L}[\p{L}\p{M}]|xn--)/iu;
const ENDS_LABEL = /[\p{L}\p{N}\p{M}_-]$/u;
const NUMBER = /^(?:0x[0-9a-f]{1,8}|\d{1,10})$/i;
const IPV6 = /^\[?[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.%]*\]?$/i;
const CLOCK = /^\d{1,2}:\d{2}(?::\d{2})?$/;

/**
 * Returns what looks like a link, an address or an account number in a text: links with and without a scheme, mail
 * addresses and `@names`, bare domains and IP addresses, IBANs, card, account and telephone numbers, and long codes. It
 * finds rather too much: what is found here, and nowhere else, is asked about. In time that is linear in the text.
 *
 * Links and addresses are returned as they are written, but for disguises (`x[.]com`, see `plainText`); account numbers
 * without their separators.
 */
export function referencesIn(text: string): ReadonlySet<string> {
  const plain = plainText(text);
  const found = new Set<string>();
  let start = 0;
  for (const part of plain.split(END)) {
    addReferences(part, plain[start - 1] ?? "", found);
    start += part.length + 1;
  }
  for (const number of accountNumbersIn(plain)) found.add(number);
  return found;
}

/**
 * Adds the references of a part without white space. Browsers and mail programs take some of the {@link BREAK}s for a part
 * of the link if more follows them, `https://x.com/"secret`: then all that follows the link is added with it.
 *
 * @param before The character before the part.
 */
function addReferences(part: string, before: string, found: Set<string>): void {
  let start = 0;
  let isContinued = false;
  for (const token of part.split(BREAK)) {
    const end = start + token.length;
    const stripped = strip(token);
    if (stripped !== "" && isReference(stripped)) {
      found.add(stripped);
      if (!isContinued && continues(part, end, part[start - 1] ?? before)) {
        isContinued = true;
        found.add(strip(part.slice(start)));
      }
    }
    start = end + (part.startsWith("](", end) ? 2 : 1);
  }
}

/** Whether a link that ends before a {@link BREAK} may go on behind it. */
function continues(part: string, end: number, before: string): boolean {
  const at = part[end];
  if (at === undefined || at === "]") return false;
  if (before !== "" && OPENING[at]?.includes(before)) {
    const next = part[end + 1];
    return next !== undefined && !AFTER_END.test(next);
  }
  for (let next = end; next < part.length; next++) if (!AFTER_END.test(part[next] as string)) return true;
  return false;
}

function isReference(token: string): boolean {
  if (HAS_SCHEME.test(token) && SCHEME.test(token)) return true;
  if (token.includes("@") && ADDRESS.test(token)) return true;
  if (token.includes(":") && IPV6.test(token) && !CLOCK.test(token)) return true;
  return token.includes(".") && (token.match(NAMES) ?? []).some(isDomain);
}

/** Whether a name with dots can be a domain, or an IP address. */
function isDomain(name: string): boolean {
  if (!name.includes(".")) return false;
  const labels = name.split(".");
  const isName = labels.some(
    (label, index) => index > 0 && TOP_LEVEL.test(label) && ENDS_LABEL.test(labels[index - 1] ?? ""),
  );
  return isName || (labels.length >= 4 && labels.filter((label) => NUMBER.test(label)).length >= 4);
}

/** Removes punctuation around a token. */
function strip(token: string): string {
  let start = 0;
  let end = token.length;
  while (start < end && LEADING.has(token[start] as string)) start++;
  while (end > start && TRAILING.has(token[end - 1] as string)) end--;
  return token.slice(start, end);
}
