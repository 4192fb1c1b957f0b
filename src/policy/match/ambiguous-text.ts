/** The longest text that globs and prefixes are compared with, in UTF-16 code units. */
export const MAX_MATCHED_LENGTH = 4_096;

/** Characters that URL parsers remove (WHATWG URL, section 4.4), and that can hide the following patterns. */
const SKIPPED = /[\t\n\r]/g;
/** `.` and `..`, which URLs can also encode as `%2e`. Some parsers remove blanks and text after a `;`. */
const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}\s*(?:[/?#;]|$)/i;
/** A URL in which the text before the first slash is more than a host and port. */
const ODD_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/]*[?#@]/i;
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;
/**
 * An empty segment, or an encoded slash, backslash, NUL or percent sign (which can hide another encoding).
 */
const DOUBLE_OR_ENCODED = /\/\/|%(?:2f|5c|00|25)/i;
/** The same in the host or path of a URL, where the slashes after the scheme do not belong to the path. */
const IN_URL = /^[a-z][a-z0-9+.-]*:\/\/[^?#]*(?:\/\/|%(?:2f|5c|00|25))/i;
const NO_PATH = /^$|[\0\\]/;

/**
 * The patterns of ambiguous texts that are not too long, without what URL parsers remove. `unless` matches
 * texts to which the pattern does not apply.
 */
export const AMBIGUITIES: readonly { readonly pattern: RegExp; readonly unless?: RegExp }[] = [
  { pattern: NO_PATH },
  { pattern: ODD_HOST },
  { pattern: DOT_SEGMENT },
  { pattern: IN_URL },
  { pattern: DOUBLE_OR_ENCODED, unless: URL_START },
];

/**
 * Whether a path or URL may refer to something other than it appears to, which makes comparing it
 * meaningless. A text is ambiguous if
 * - it is empty, or longer than {@link MAX_MATCHED_LENGTH};
 * - it contains NUL, a backslash, or an empty, `.` or `..` segment;
 * - it contains a percent-encoded slash, backslash, NUL or percent sign;
 * - it is a URL with a user, or with a query or fragment directly after the host.
 */
export function isAmbiguous(text: string): boolean {
  if (text === "" || text.length > MAX_MATCHED_LENGTH) return true;
  if (isPlainPath(text)) return false;
  const seen = text.replace(SKIPPED, "");
  return AMBIGUITIES.some(({ pattern, unless }) => pattern.test(seen) && unless?.test(seen) !== true);
}

const WORD = 1;
const DOT = 2;
const SLASH = 3;
/** The class of each ASCII character in a plain path; 0 for characters that no plain path has. */
const CHARACTERS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (character === ".") return DOT;
  if (character === "/") return SLASH;
  return /[\w-]/.test(character) ? WORD : 0;
});

/**
 * Whether a text is a plain path, as most are, which cannot be ambiguous: segments of letters, digits, `_`,
 * `-` and `.`, of which none is empty or begins with a dot. This reads each character once; the expressions
 * above read it about ten times.
 */
function isPlainPath(text: string): boolean {
  let before = WORD;
  for (let index = 0; index < text.length; index++) {
    const kind = CHARACTERS[text.charCodeAt(index)] ?? 0;
    if (kind === 0 || (kind !== WORD && before === SLASH) || (kind === DOT && index === 0)) return false;
    before = kind;
  }
  return true;
}
