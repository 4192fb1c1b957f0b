/** Dates and times, which have as many digits as account numbers. */
const DATES = [
  /(?<![\p{N}-])[12]\d{3}-(?:0\d|1[0-2])-[0-3]\d(?:[T ][0-2]\d:[0-5]\d(?::[0-5]\d)?)?(?![\p{N}-])/gu,
  /(?<![\p{N}./-])[0-3]?\d([./-])[0-3]?\d\1[12]\d{3}(?![\p{N}./-])/gu,
];

const MIN_DIGITS = 8;

const MAX_SEPARATORS = 3;

const SEPARATORS = new Set(" .-/()_–—");

const DIGIT = /\p{Nd}/u;

/** The beginning of an IBAN, at least its country and check digits, or the whole of it. */
const IBAN_START = /^[A-Z]{2}\d{2}[A-Z0-9]*$/i;

const IBAN_GROUP = /^(?:[A-Z]{4}|(?=[A-Z]*\d)[A-Z0-9]{1,4})$/i;

const MIN_IBAN_LENGTH = 12;

const MAX_IBAN_LENGTH = 34;

/** Letters and digits mixed, as in wallets, keys and references of payments. */
const CODE = /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}/g;

const NAMED = new Map([
  ["period", "."],
  ["commat", "@"],
  ["sol", "/"],
  ["colon", ":"],
]);

const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(period|commat|sol|colon));?/gi;

/** Characters that a link needs, percent-encoded. Others stay as they are: a decoded blank would cut the link. */
const ENCODED = /%([2-7][0-9a-f])/gi;

const NEEDED = /[\w.@:/-]/;

const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/** White space that is not one blank. */
const BLANK = /[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu;

/** Ligatures of whole words, which become up to 18 letters, and none that a link has. */
const LIGATURES = /[\uFDF0-\uFDFF]/g;

const NOT_ASCII = /[^\0-\x7f]/;

/** Whether a text may have one of the {@link DISGUISES}: most have none. */
const MAY_DISGUISE = /[([{@。⁄∕]| \.| dot /i;

/** Spellings of characters in links that people and programs read as the character. */
const DISGUISES: readonly (readonly [pattern: RegExp, character: string])[] = [
  [/ ?[([{] ?(?:\.|dot) ?[)\]}] ?/gi, "."],
  [/ ?[([{] ?(?:@|at) ?[)\]}] ?/gi, "@"],
  [/ ?[([{] ?: ?[)\]}] ?/g, ":"],
  [/ dot /gi, "."],
  [/。/g, "."],
  [/[⁄∕]/g, "/"],
  [/ \.(?=\p{L})/gu, "."],
  [/ ?@ ?/g, "@"],
];

/** The longest text in which references are looked for, in UTF-16 code units. */
export const MAX_REFERENCE_TEXT = 65_536;

/** What ends every link and address. */
const END = /[\s<]/u;
/** Characters that no link or address needs, and the middle of a Markdown link. */
const BREAK = /\]\(|[>"`{}|^“”„«»]/u;
/** What may stand before a link that one of the {@link BREAK}s ends. */
const OPENING: Readonly<Record<string, string>> = {
  '"': '"',
  "`": "`",
  "|": "|",
  ">": "<",
  "}": "{",
  "”": "“„",
  "“": "„",
  "»": "«",
  "«": "»",
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
 * over-matches on purpose: a match without a known origin needs a confirmation. In time that is linear in the text.
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

/** Whether a link that ends before a {@link BREAK} may continue behind it. */
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

/**
 * Returns a text as a reader understands it: without invisible characters, with one blank for white space, in the
 * compatibility form of Unicode, and with `x[.]com`, `x dot com`, `x&#46;com` and `x%2Ecom` as `x.com`. In linear time.
 */
function plainText(text: string): string {
  const decoded = text.replace(ENTITY, decodeEntity).replace(ENCODED, (written, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16));
    return NEEDED.test(character) ? character : written;
  });
  const visible = NOT_ASCII.test(decoded)
    ? decoded.replace(LIGATURES, " ").normalize("NFKC").replace(INVISIBLE, "")
    : decoded;
  let plain = visible.replace(BLANK, " ");
  if (!MAY_DISGUISE.test(plain)) return plain;
  for (const [pattern, character] of DISGUISES) plain = plain.replace(pattern, character);
  return plain;
}

function decodeEntity(written: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? written;
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : written;
}

/**
 * Returns what looks like the number of an account, card or telephone: 8 digits or more, IBANs, and codes of 16 letters
 * and digits or more; without separators. Dates do not count.
 */
function accountNumbersIn(plain: string): readonly string[] {
  // Most texts have no number worth a closer look.
  if (!DIGIT.test(plain)) return [];
  return [...digitRuns(plain), ...ibansIn(plain), ...(plain.match(CODE) ?? [])];
}

function* digitRuns(plain: string): Generator<string> {
  let digits = "";
  let separators = 0;
  for (const character of DATES.reduce((text, date) => text.replace(date, ","), plain)) {
    if (isDigit(character)) {
      digits += character;
      separators = 0;
    } else if (!SEPARATORS.has(character) || ++separators > MAX_SEPARATORS) {
      if (digits.length >= MIN_DIGITS) yield digits;
      digits = "";
      separators = 0;
    }
  }
  if (digits.length >= MIN_DIGITS) yield digits;
}

function isDigit(character: string): boolean {
  return (character >= "0" && character <= "9") || (character > "\x7f" && DIGIT.test(character));
}

function* ibansIn(plain: string): Generator<string> {
  let iban = "";
  // A group that cannot continue is the end of an IBAN, and can be the start of another.
  for (const group of [...plain.split(/[^\p{L}\p{N}]/u), ""]) {
    if (iban !== "" && IBAN_GROUP.test(group) && iban.length + group.length <= MAX_IBAN_LENGTH) {
      iban += group;
      continue;
    }
    if (iban.length >= MIN_IBAN_LENGTH) yield iban.toUpperCase();
    iban = group.length <= MAX_IBAN_LENGTH && IBAN_START.test(group) ? group : "";
  }
}
