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

/**
 * Up to its end, with what programs write before and after each line: `key.pem:3:`, `-` of a difference, `> `, `"…\n" +`. A line
 * has at most 40 characters besides those of base64.
 */
const KEY_IN_LINES =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\n]{0,16}\n(?:(?!-{0,4}-----)[^\n]{0,160}\n){1,200}?[^\n]{0,120}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** A key in base64, as secrets of Kubernetes have it. */
const ENCODED_KEY = /(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{24,}={0,2}/g;

/** The lines of a key of PuTTY. */
const PUTTY_KEY =
  /(?<=\bPrivate-Lines: \d{1,4}(?:\r?\n|\\n))(?:[A-Za-z0-9+/]{1,80}={0,2}(?:\r?\n|\\n|$)){1,200}/g;

/** The private members of a JSON Web Key in a text (RFC 7518, section 6). */
const WEB_KEY = /(?<="(?:d|p|q|dp|dq|qi|k)\\{0,7}"[ \t]{0,4}:[ \t]{0,4}\\{0,7}")[\w-]{20,8192}(?=\\{0,7}")/g;

/** Passwords with a slash or `#` are not in the addresses of the web, where those begin the path. */
const DATABASES =
  "postgres(?:ql)?|mysqlx?|mariadb|mongodb|rediss?|valkeys?|amqps?|smtps?|ftps?|sftp|ldaps?|mssql|sqlserver|oracle|clickhouse|cockroachdb|snowflake|nats|mqtts?|bolt|neo4j|cassandra|couchbases?|kafka|imaps?";

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
  form("webhook", /webhook/, /(?<=webhook\.office\.com\/webhookb2\/)[\w@/-]{40,}/g),
  form(
    "password-hash",
    /\$(?:[12356y]|apr1|argon|scrypt)[\w]{0,4}\$/,
    /\$(?:2[abxy]\$\d\d|[156y]|apr1|argon2(?:i|d|id)|scrypt)\$[\w./=,+-]{1,128}(?:\$[\w./=,+-]{8,128}){0,3}/g,
  ),
  form(
    "url-token",
    /[?&](?:key|auth|appid|code)=/i,
    /(?<=[?&](?:key|auth|appid|code)=)(?=[\w%.~-]{0,64}\d)[\w%+/=.~-]{20,}/gi,
  ),
  form("url-token", /:\/\//, /(?<=:\/\/)[\w-]{20,256}(?=@)/g),
  form(
    "signature",
    /[?&](?:sig|x-)/i,
    /(?<=[?&](?:sig|signature|x-amz-signature|x-goog-signature)=)[\w%+/=.~-]{16,}/gi,
  ),
];

/** The options of programs that take a password without saying so. */
const OPTIONS = [
  { program: "curl", option: String.raw`-u["']?[^\s:"']{1,128}:` },
  { program: "mysql\\w{0,16}|mariadb[\\w-]{0,16}|7z[ar]?", option: `-p["']?` },
  { program: "redis-cli|valkey-cli", option: String.raw`(?:-a|--pass)[ \t]{1,4}["']?` },
  { program: "ldap[a-z]{3,8}", option: String.raw`-w[ \t]{1,4}["']?` },
  { program: "(?:un)?zip", option: String.raw`-P[ \t]{0,4}["']?` },
  {
    program: String.raw`login\b[^\n|;&]{0,80}(?:[ \t]-u|[ \t]--username)`,
    option: String.raw`-p[ \t]{1,4}["']?`,
  },
] as const;

/** Secrets with a prefix or a form of their own. The expressions are global: use them with `replace` only. */
export const KNOWN_FORMS: readonly SecretForm[] = [
  form("private-key", /PRIVATE KEY/, KEY_IN_LINES),
  form("private-key", /PRIVATE KEY/, KEY),
  form("private-key", /Private-Lines/, PUTTY_KEY),
  form("private-key", /"kty\\{0,7}"/, WEB_KEY),
  {
    nameOf: (found) => (isKey(found) ? "private-key" : undefined),
    clue: /LS0tLS1CRUdJTi/,
    pattern: ENCODED_KEY,
  },
  form(
    "aws-key",
    /A[KS]IA/,
    /(?<=(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}[,;:\s"']{1,4})[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])/g,
  ),
  form("authorization", /authorization/i, CREDENTIALS),
  form("cookie", /cookie/i, COOKIES),
  ...ANYWHERE,
  form("password", /:\/\//, /(?<=:\/\/[^\s/?#:"'<>]{0,128}:)[^\s/?#"'<>]{1,256}(?=@)/g),
  form(
    "password",
    /:\/\//,
    new RegExp(
      `(?<=(?:${DATABASES})(?:\\+\\w{1,8})?://[^\\s/?#:"'<>]{0,128}:)(?!\\d{1,5}[/?#])[^\\s"'<>]{1,256}(?=@)`,
      "gi",
    ),
  ),
  form("password", /@(?:tcp|unix)\(/, /(?<=\w:)[^\s:@"'/]{1,256}(?=@(?:tcp|unix)\()/g),
  form(
    "password",
    /oracle|sqlplus/,
    /(?<=(?:jdbc:oracle:\w{1,8}:|\bsqlplus[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4}){0,4})[^\s/@"']{1,128}\/)[^\s@"']{1,256}(?=@)/g,
  ),
  form("password", /pwd=/i, /(?<=[;?&][ \t]{0,2}pwd=)[^\s;&"']{1,256}/gi),
  form(
    "password",
    /[ \t]-(?:u|-user|-proxy-user)[ \t=]/,
    /(?<=[ \t](?:-u|--user|--proxy-user)[ \t=]{1,4}["']?[^\s:"']{1,128}:)(?!\d+(?!\w))[^\s"']{1,256}/g,
  ),
  // A line of `.netrc`, and SQL.
  form(
    "password",
    /password[ \t]/,
    /(?<=(?:login|account)[ \t]{1,4}[^\s]{1,128}\s{1,4}password[ \t]{1,4})\S{1,256}/g,
  ),
  form(
    "password",
    /password|identified/i,
    /(?<=(?:password|identified by)[ \t]{1,4}')(?:[^'\n]|''){1,256}(?=')/gi,
  ),
  form(
    "password",
    /identified/i,
    /(?<=identified by[ \t]{1,4})(?!['"]|(?:values|external|globally|random|password)\b)[^\s;'"]{1,256}/gi,
  ),
  ...OPTIONS.map(({ program, option }) => {
    const before = String.raw`(?<=\b(?:${program})\b[^\n|;&]{0,200}[ \t]${option})`;
    return form("password", new RegExp(program), new RegExp(`${before}[^\\s"'|;&-][^\\s"'|;&]{0,255}`, "g"));
  }),
  form(
    "password",
    /pass:/,
    /(?<=[ \t]-{1,2}pass(?:in|out|word|phrase)?[ \t=]{1,4}["']?pass:)[^\s"']{1,256}/g,
  ),
  form("password", /sshpass/, /(?<=sshpass[ \t]{1,4}-p[ \t]{0,4}["']?)[^\s"']{1,256}/g),
  // The file in which Docker has its logins.
  {
    nameOf: (found) => (isBasic(`Basic ${found}`) ? "basic-credentials" : undefined),
    clue: /auth\\{0,7}"/,
    pattern: /(?<="auth\\{0,7}"[ \t]{0,4}:[ \t]{0,4}\\{0,7}")[A-Za-z0-9+/]{8,4096}={0,2}/g,
  },
];

/** What separates the name of a secret from its value, and what secrets have that need no separator. */
const CLUES = new RegExp(
  `[=:]|PRIVATE KEY|earer|asic|password|PASSWORD|IDENTIFIED|identified|sqlplus|setx |setenv|ENV |--?\\w|</|\\w\\(|\\$[1256ya]|${KEY_CLUE.source}`,
);

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

/** Whether this is a private key in base64, and no certificate. */
function isKey(found: string): boolean {
  return Buffer.from(found.slice(0, 80), "base64").toString("latin1").includes("PRIVATE KEY");
}

const WHOLE_TOKEN = new RegExp(`^(?:(?:${SCHEMES}) )?[\\w.~+/=@%-]{1,4096}$`);

/** Whether a text can only be a password or token of one word, and no command with arguments. */
export function isToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}
