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

/** The word for the caller. */
const SELF = "self";

/** Phrasal verbs and their meanings, one per line. */
const PHRASES = `
back up: backup
bring back: restore
call off: cancel
check out: review
clean up: delete
cross off: complete
cut down: reduce
fill in: type
fill out: type
find out: search
get back: refund return
give back: refund return
hand over: assign transfer
kick off: start run
look for: search
look up: search
pass on: forward send
pay back: refund
put away: move archive
put back: restore
put in: add insert
put into: add move
put off: update postpone
push back: update postpone
roll back: rollback
roll out: deploy
send back: return reply
set up: create
shut down: stop
shut off: stop
sign up: register create
speed up: performance
spin up: create start
switch off: stop
switch on: start
take away: delete
take back: undo refund
take down: delete stop
tear down: delete
throw away: delete
throw out: delete
tick off: complete
tidy up: delete
tone down: reduce
try again: retry
turn down: decline
turn off: stop
turn on: start
wake up: alarm
wind down: stop
write back: reply
write down: note write
write up: create write
`;

/** The longest query that is read, in UTF-16 code units. */
const MAX_QUERY_LENGTH = 1_000;

/** How many words can stand between the words of a phrase: `hand the last task over`. */
const MAX_BETWEEN = 3;

/** The stems of the meanings, by the stem of the verb and the other word. */
const BY_VERB: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> = readPhrases();

function readPhrases(): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> {
  const phrases = new Map<string, Map<string, readonly string[]>>();
  for (const line of PHRASES.trim().split("\n")) {
    const [phrase = "", meanings = ""] = line.split(": ");
    const [verb = "", particle = ""] = phrase.split(" ");
    const known = phrases.get(stem(verb)) ?? new Map();
    known.set(particle, meanings.split(" ").map(stem));
    phrases.set(stem(verb), known);
  }
  return phrases;
}

/** Recognisable forms, such as URLs, and the words that they add. */
const FORMS: readonly (readonly [form: RegExp, words: string])[] = [
  [/\bhttps?:\/\/|\bwww\./i, "url"],
  [/(?<![\w.+-])[\w.+-]+@[\w-]+\.\w/, "email"],
  [/(?<![\w@/])[\w-]+\.(?!com\b|org\b|net\b)\p{L}[\p{L}\p{N}]{0,4}(?![\w.@])|(?:^|\s)\*\.\w+/u, "file"],
  [/(?:^|\s)\.{0,2}\/\w/, "path"],
  [/[$€£¥]\s?\d|\d\s?[$€£¥]/, "money"],
  // In such questions, all other words are insignificant.
  [
    /\bwho\s?am\s?i\b|\bam i\b|\b(?:my|our) (?:own )?(?:profile|user ?name|identity|login)\b|\b(?:current|logged[- ]in) user\b|\b(?:logged|signed)[- ]in\b/i,
    `${SELF} user authenticated profile`,
  ],
];

/** How a question begins. */
const QUESTION =
  /^\s*(?:what|which|who|whose|where|when|why|how|is|are|was|were|do|does|did|has|have|any\p{L}*)(?!\p{L})/iu;

/** Whether a query asks for information, not for an action. */
export function isQuestion(query: string): boolean {
  return QUESTION.test(query);
}

/** Returns the words of a query, with those for what its phrases and forms mean. */
export function queryWordsOf(query: string): readonly string[] {
  const text = query.slice(0, MAX_QUERY_LENGTH).normalize("NFKC");
  const words = new Set(wordsOf(text));
  // It only introduces the subject: `what do I know about Ann`.
  words.delete("about");
  const spoken = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  for (const [index, word] of spoken.entries()) {
    const particles = BY_VERB.get(stem(word));
    if (particles === undefined) continue;
    for (const next of spoken.slice(index + 1, index + 2 + MAX_BETWEEN)) {
      for (const meaning of particles.get(next) ?? []) words.add(meaning);
    }
  }
  for (const [form, meant] of FORMS)
    if (form.test(text)) for (const word of meant.split(" ")) words.add(stem(word));
  return [...words];
}

/**
 * Marks the words for the caller in the name of a tool: `get_me`. In queries, such words are not significant:
 * `show me the files`.
 */
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

/** Removes the endings of an English word, so that its forms have the same stem. */
export function stem(word: string): string {
  if (word.length <= 3) return word;
  let root = word;
  if (root.endsWith("ies") && root.length > 4) root = `${root.slice(0, -3)}y`;
  else if (/(?:[sx]|ch|sh|z)es$/.test(root)) root = root.slice(0, -2);
  else if (/[^su]s$/.test(root)) root = root.slice(0, -1);
  root = withoutSuffix(root);
  // `create`, `creating` and `creation` have the same stem without the last vowel.
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
