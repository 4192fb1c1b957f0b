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

/** What every secret of {@link KNOWN_FORMS} contains, and what separates the name of a secret from its value. */
const CLUES = /[=:]|PRIVATE KEY|eyJ|gh[pousr]_|github_pat_|A[KS]IA|xox|sk-|earer/;

/**
 * Whether a text can match one of {@link KNOWN_FORMS}, or hold the name of a secret with a value. Most texts cannot, and
 * this takes a tenth of the time of trying.
 */
export function mayHoldSecret(text: string): boolean {
  return CLUES.test(text);
}

/**
 * Like {@link KNOWN_FORMS}, for texts in which nothing but a secret may be hidden: a key has whole lines of base64, and
 * its end.
 */
export const NARROW_FORMS: readonly SecretForm[] = KNOWN_FORMS.map((form) =>
  form.name === "private-key" ? { ...form, pattern: WHOLE_KEY } : form,
);

const WHOLE_TOKEN = /^(?:(?:Basic|Bearer|Token) )?[\w.~+/=@%-]{1,4096}$/;

/** Whether a text can only be a password or token of one word, and no command with arguments. */
export function isToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}
