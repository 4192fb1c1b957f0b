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

const WHOLE_KEY =
  /-----BEGIN (?:[A-Z]{1,12} )?PRIVATE KEY-----(?:\r?\n|\\n)(?:(?:Proc-Type|DEK-Info): ?[A-Za-z0-9,-]{1,80}(?:\r?\n|\\n)+)*(?:[A-Za-z0-9+/]{40,80}={0,2}(?:\r?\n|\\n))+(?:[A-Za-z0-9+/]{1,80}={0,2}(?:\r?\n|\\n))?-----END (?:[A-Z]{1,12} )?PRIVATE KEY-----/g;

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

/**
 * Like {@link KNOWN_FORMS}, for texts in which nothing but a secret may be hidden: a key has whole lines of base64, and
 * its end.
 */
export const NARROW_FORMS: readonly SecretForm[] = KNOWN_FORMS.map((form) =>
  form.name === "private-key" ? { ...form, pattern: WHOLE_KEY } : form,
);

/**
 * Like {@link NAMED_IN_TEXT}, for texts in which nothing but a secret may be hidden: the value is of the characters of
 * tokens. Where a space follows `=` but none precedes it, a shell would run what follows.
 */
export const NAMED_NARROWLY: RegExp =
  /(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,32}[_-]?)?(?:password|passwd|secret|token|api[_-]?key|authorization)["']?(?:=|[ \t]{1,4}=[ \t]{0,4}|[ \t]{0,4}:[ \t]{0,4}))(?:"[\w.~+/=@%-]{1,512}"|'[\w.~+/=@%-]{1,512}'|[\w.~+/=@%-]{1,512})/gi;

const WHOLE_TOKEN = /^(?:(?:Basic|Bearer|Token) )?[\w.~+/=@%-]{1,4096}$/;

/** Whether a text can only be a password or token of one word, and no command with arguments. */
export function isToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}

const LONGEST_NAME = 256;

/** Returns the kind of secret that a member of this name holds, or `undefined` if its name does not say so. */
export function secretOfName(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const plain = name.replace(/[-_]/g, "").toLowerCase();
  return SECRET_NAMES.find((secret) => plain.endsWith(secret));
}
