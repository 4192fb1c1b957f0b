import { KEY_CLUE, KEY_PATTERN, keyName } from "./key-forms.ts";

/** A kind of secret that is known by its form. */
export interface SecretForm {
  /** Its name in `[redacted: NAME]`; `undefined` if what was found is no secret. */
  readonly nameOf: (found: string) => string | undefined;
  /**
   * Matches in linear time: a match starts only where the characters before cannot belong to it, so that no part of a
   * text is examined more than a few times. It matches bounded alphabets only, so that nothing else hides in it.
   */
  readonly pattern: RegExp;
  /** What every match has, or has beside it: a text without it need not be searched. */
  readonly clue: RegExp;
}

function form(name: string, clue: RegExp, pattern: RegExp): SecretForm {
  return { nameOf: () => name, clue, pattern };
}

/** The name of a header or member, up to its value, in a text that may be JSON within JSON: before it stands `Name: `. */
const after = (name: string): string =>
  String.raw`(?<=(?<![A-Za-z0-9])${name}(?:\\{0,7}["'])?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,7}["'])?)`;

/** The schemes of https://www.iana.org/assignments/http-authschemes, and others in use. */
const SCHEMES =
  "Basic|Bearer|Concealed|Digest|DPoP|GNAP|HOBA|Mutual|Negotiate|OAuth|PrivateToken|SCRAM-SHA-(?:1|256)|vapid|Token|ApiKey|Key|AWS|AWS4-HMAC-SHA256|Hawk|NTLM|SharedKey|SharedAccessSignature|Signature|Splunk|SSWS";

/** A scheme with its token or its parameters (RFC 9110, section 11.4). */
const CREDENTIALS = new RegExp(
  after("authorization") +
    String.raw`[A-Za-z][\w-]{0,31}[ \t]{1,8}(?:(?:[\w-]{1,64}=(?:\\{0,7}"[^"\n]{0,1024}"|[^\s,;"']{1,1024})(?:[,;][ \t]{0,8})?){1,32}|[^\s"',;\\]{1,8192})`,
  "gi",
);

/** The same with a token of one word. */
const NARROW_CREDENTIALS = new RegExp(
  `${after("authorization")}(?:${SCHEMES})[ \\t]{1,8}[\\w.~+/=@%-]{1,4096}`,
  "gi",
);

const COOKIES = new RegExp(
  `${after("(?:set-)?cookie").replace("[:=]", ":")}(?=[^\\s;,"'\\\\=]{1,128}=)[^\\r\\n"'\\\\]{1,8192}`,
  "gi",
);

const KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[\s\\nr]*(?:Proc-Type|DEK-Info|Version|Comment): ?[A-Za-z0-9., -]{1,80})*[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g;

const WHOLE_KEY =
  /-----BEGIN (?:[A-Z]{1,12} )?PRIVATE KEY-----(?:\r?\n|\\n)(?:(?:Proc-Type|DEK-Info): ?[A-Za-z0-9,-]{1,80}(?:\r?\n|\\n)+)*(?:[A-Za-z0-9+/]{40,80}={0,2}(?:\r?\n|\\n))+(?:[A-Za-z0-9+/]{1,80}={0,2}(?:\r?\n|\\n))?-----END (?:[A-Z]{1,12} )?PRIVATE KEY-----/g;

/** Forms in which nothing but a secret is found. */
const ANYWHERE: readonly SecretForm[] = [
  form("jwt", /eyJ/, /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g),
  { nameOf: keyName, clue: KEY_CLUE, pattern: KEY_PATTERN },
  form("bearer-token", /earer/, /(?<![A-Za-z0-9])[Bb]earer[ \t]{1,8}[A-Za-z0-9._~+/=-]{8,}/g),
  {
    nameOf: (found) => (isBasic(found) ? "basic-credentials" : undefined),
    clue: /asic/,
    pattern: /(?<![A-Za-z0-9])[Bb]asic[ \t]{1,8}[A-Za-z0-9+/]{4,4096}={0,2}/g,
  },
  form("webhook", /hooks\.slack/, /(?<=hooks\.slack\.com\/(?:services|triggers|workflows)\/)[\w/]{20,}/g),
  form("webhook", /discord/, /(?<=discord(?:app)?\.com\/api\/webhooks\/\d{15,20}\/)[\w-]{40,}/g),
  form("url-token", /:\/\//, /(?<=:\/\/)[\w-]{20,256}(?=@)/g),
  form("signature", /[?&]/, /(?<=[?&](?:sig|signature|x-amz-signature|x-goog-signature)=)[\w%+/=.~-]{16,}/gi),
];

/** Secrets with a prefix or a form of their own. The expressions are global: use them with `replace` only. */
export const KNOWN_FORMS: readonly SecretForm[] = [
  form("private-key", /PRIVATE KEY/, KEY),
  form("authorization", /authorization/i, CREDENTIALS),
  form("cookie", /cookie/i, COOKIES),
  ...ANYWHERE,
  form("password", /:\/\//, /(?<=:\/\/[^\s/?#:@"'<>]{0,128}:)[^\s/?#"'<>]{1,256}(?=@)/g),
  form("password", /pwd=/i, /(?<=[;?&][ \t]{0,2}pwd=)[^\s;&"']{1,256}/gi),
  form(
    "password",
    /[ \t]-(?:u|-user|-proxy-user)[ \t=]/,
    /(?<=[ \t](?:-u|--user|--proxy-user)[ \t=]{1,4}["']?[^\s:"']{1,128}:)(?!\d+(?!\w))[^\s"']{1,256}/g,
  ),
];

/** What separates the name of a secret from its value, and what secrets have that need no separator. */
const CLUES = new RegExp(`[=:]|PRIVATE KEY|earer|asic|${KEY_CLUE.source}`);

/**
 * Whether a text can match one of {@link KNOWN_FORMS}, or hold the name of a secret with a value. Many texts cannot, and
 * this takes a tenth of the time of trying.
 */
export function mayHoldSecret(text: string): boolean {
  return CLUES.test(text);
}

/**
 * Like {@link KNOWN_FORMS}, for texts in which nothing but a secret may be hidden: a key has whole lines of base64, and
 * its end; credentials and passwords are one word.
 */
export const NARROW_FORMS: readonly SecretForm[] = [
  form("private-key", /PRIVATE KEY/, WHOLE_KEY),
  form("authorization", /authorization/i, NARROW_CREDENTIALS),
  ...ANYWHERE,
  form("password", /:\/\//, /(?<=:\/\/[\w.~%-]{0,128}:)[\w.~+=%!*-]{1,256}(?=@)/g),
];

/** Whether these are `Basic` and a user's name and password in base64 (RFC 7617). */
function isBasic(found: string): boolean {
  const text = Buffer.from(found.replace(/^[^ \t]+[ \t]+/, ""), "base64").toString("latin1");
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(text);
}

const WHOLE_TOKEN = new RegExp(`^(?:(?:${SCHEMES}) )?[\\w.~+/=@%-]{1,4096}$`);

/** Whether a text can only be a password or token of one word, and no command with arguments. */
export function isToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}
