/** The longest text that globs and prefixes look at, in UTF-16 code units. */
export const MAX_MATCHED_LENGTH = 4_096;

/** What URL parsers leave out (WHATWG URL, section 4.4), so that it can hide any of the following. */
const SKIPPED = /[\t\n\r]/g;
/** `.` and `..`, which URLs can also write `%2e`; some readers leave out blanks and what follows a `;`. */
const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}\s*(?:[/?#;]|$)/i;
/** What stands before the first slash of a URL is its host only without these. */
const ODD_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/]*[?#@]/i;
/** The path of a URL with its host: the slashes behind the scheme are none of a path. */
const URL_PATH = /^[a-z][a-z0-9+.-]*:\/\/([^?#]*)/i;
/** An empty segment; slash, backslash and NUL as URLs write them, and a percent sign that hides one more. */
const DOUBLE_OR_ENCODED = /\/\/|%(?:2f|5c|00|25)/i;

/**
 * Tells whether a text could name something else than it seems to, so that comparing it decides nothing: when
 * it is empty or longer than {@link MAX_MATCHED_LENGTH}, holds NUL or a backslash, a `.` or `..` segment or an
 * empty one, or a slash, backslash, NUL or percent sign in percent-encoding; or when it is a URL with a user, or
 * without a path, before its query.
 */
export function isAmbiguous(text: string): boolean {
  if (text === "" || text.length > MAX_MATCHED_LENGTH) return true;
  if (isPlainPath(text)) return false;
  if (/[\0\\]/.test(text)) return true;
  const seen = text.replace(SKIPPED, "");
  return (
    ODD_HOST.test(seen) || DOT_SEGMENT.test(seen) || DOUBLE_OR_ENCODED.test(URL_PATH.exec(seen)?.[1] ?? seen)
  );
}

const WORD = 1;
const DOT = 2;
const SLASH = 3;
/** What each ASCII character is in a plain path; 0 for those that are in none. */
const CHARACTERS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (character === ".") return DOT;
  if (character === "/") return SLASH;
  return /[\w-]/.test(character) ? WORD : 0;
});

/**
 * Whether a text is so plain a path that nothing odd can be in it, as most are: segments of letters, digits, `_`,
 * `-` and `.`, none of which is empty or begins with a dot. One look at each character, for the ten that the
 * expressions above take.
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
