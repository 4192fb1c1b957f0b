/** The longest text that is read, in UTF-16 code units. */
const MAX_TEXT_LENGTH = 4_000;

/** A word: of letters or of digits, in `camelCase` too; also the plural of an abbreviation, such as `PRs`. */
const WORD = /\p{Lu}{2,}s(?!\p{L})|\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{Lo}\p{Lt}\p{M}]+|\p{N}+/gu;

const PLURAL_OF_CAPITALS = /^\p{Lu}{2,}s$/u;

/** Words that say nothing about a tool. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a an and any are as at be by can do does for from get give has have how i if in into is it its let like me my " +
    "of on one or our please so some that the their them then there these this to tool use used using via want was " +
    "something somebody someone anybody everybody now much many we what when where which who will with would you your all need new"
  ).split(" "),
);

/** The word for who calls. */
export const SELF = "self";

/** Returns a name in which who calls has a word: `get_me`. Elsewhere, such a word says nothing: `show me the files`. */
export function withSelf(name: string): string {
  return name.replace(
    /(?<![a-zA-Z])(?:me|my|mine|whoami)(?![a-z])|(?<=[a-z])(?:Me|My)(?![a-z])/g,
    `_${SELF}_`,
  );
}

/** Returns the words of a text as they are compared: without case, endings and words that say nothing. */
export function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  for (const [word] of text.slice(0, MAX_TEXT_LENGTH).normalize("NFKC").matchAll(WORD)) {
    const lower = PLURAL_OF_CAPITALS.test(word) ? word.slice(0, -1).toLowerCase() : word.toLowerCase();
    if (!STOP_WORDS.has(lower)) words.push(stem(lower));
  }
  return words;
}

/** Removes the endings of an English word, as far as it takes to have its forms meet. */
export function stem(word: string): string {
  if (word.length <= 3) return word;
  let root = word;
  if (root.endsWith("ies") && root.length > 4) root = `${root.slice(0, -3)}y`;
  else if (/(?:[sx]|ch|sh|z)es$/.test(root)) root = root.slice(0, -2);
  else if (/[^su]s$/.test(root)) root = root.slice(0, -1);
  root = withoutSuffix(root);
  // `create`, `creating` and `creation` meet without the last vowel.
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

function withoutSuffix(word: string): string {
  for (const suffix of ["ations", "ation", "ings", "ing", "ion", "ment", "ers", "ed", "er", "ly"]) {
    if (!word.endsWith(suffix)) continue;
    const root = word.slice(0, -suffix.length);
    if (root.length < 3 || !/[aeiouy]/.test(root)) continue;
    if (suffix === "ation" || suffix === "ations") return `${root}at`;
    return /([bdgklmnprt])\1$/.test(root) && !root.endsWith("ll") ? root.slice(0, -1) : root;
  }
  return word;
}
