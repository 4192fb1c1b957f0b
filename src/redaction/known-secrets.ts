/** A kind of secret that is known by its form. */
export interface SecretForm {
  /** Its name in `[redacted: NAME]`. */
  readonly name: string;
  /**
   * Matches in linear time: a match starts only where the characters before cannot belong to it, so that no part of a
   * text is examined more than a few times. It matches bounded alphabets only, so that nothing else hides in it.
   */
  readonly pattern: RegExp;
}

/** Secrets with a prefix or a form of their own. The expressions are global: use them with `replace` only. */
export const KNOWN_FORMS: readonly SecretForm[] = [
  {
    name: "private-key",
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[\s\\nr]*(?:Proc-Type|DEK-Info): ?[A-Za-z0-9,-]{1,80})*[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?/g,
  },
  { name: "jwt", pattern: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g },
  { name: "github-token", pattern: /(?<!\w)(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})/g },
  { name: "aws-key", pattern: /(?<![A-Za-z0-9])A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g },
  { name: "slack-token", pattern: /(?<![\w-])xox[abprs]-[A-Za-z0-9-]{10,}/g },
  { name: "api-key", pattern: /(?<![\w-])sk-[\w-]{16,}/g },
  { name: "bearer-token", pattern: /(?<![A-Za-z0-9])[Bb]earer[ \t]{1,8}[A-Za-z0-9._~+/=-]{8,}/g },
];

/** The names whose values are secrets, without dashes and underscores: also as the end of a name, as in `clientSecret`. */
const SECRET_NAMES = ["password", "passwd", "secret", "token", "apikey", "authorization"] as const;

/** `password=hunter2` and `"password": "hunter2"` in a text: the name with its separator, and the value. */
export const NAMED_IN_TEXT: RegExp =
  /(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,32}[_-]?)?(?:password|passwd|secret|token|api[_-]?key|authorization)["']?[ \t]{0,4}[:=][ \t]{0,4})(?:"[^"\n]{1,512}"|'[^'\n]{1,512}'|[^\s"',;&[\]{}]{1,512})/gi;

const LONGEST_NAME = 256;

/** Returns the kind of secret that a member of this name holds, or `undefined` if its name does not say so. */
export function secretOfName(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const plain = name.replace(/[-_]/g, "").toLowerCase();
  return SECRET_NAMES.find((secret) => plain.endsWith(secret));
}
