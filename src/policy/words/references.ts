import { accountNumbersIn } from "./account-numbers.ts";
import { plainText } from "./plain-text.ts";

/** The longest text in which references are looked for, in UTF-16 code units. */
export const MAX_REFERENCE_TEXT = 65_536;

/** Characters that no link or address contains, and the middle of a Markdown link. */
const BREAK = /\]\(|[\s<>"`{}|^“”„«»]/u;
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
  for (const token of plain.split(BREAK)) {
    const stripped = strip(token);
    if (stripped !== "" && isReference(stripped)) found.add(stripped);
  }
  for (const number of accountNumbersIn(plain)) found.add(number);
  return found;
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
