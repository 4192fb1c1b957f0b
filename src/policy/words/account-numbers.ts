/** Dates and times, which have as many digits as account numbers. */
const DATES = [
  /(?<![\p{N}-])[12]\d{3}-(?:0\d|1[0-2])-[0-3]\d(?:[T ][0-2]\d:[0-5]\d(?::[0-5]\d)?)?(?![\p{N}-])/gu,
  /(?<![\p{N}./-])[0-3]?\d([./-])[0-3]?\d\1[12]\d{3}(?![\p{N}./-])/gu,
];

const MIN_DIGITS = 8;
const MAX_SEPARATORS = 3;
const SEPARATORS = new Set(" .-/()_–—");
const DIGIT = /\p{Nd}/u;

/** The country and check digits of an IBAN, with or without the rest. */
const IBAN_START = /^[A-Z]{2}\d{2}[A-Z0-9]*$/i;
const IBAN_GROUP = /^(?:[A-Z]{4}|(?=[A-Z]*\d)[A-Z0-9]{1,4})$/i;
const MIN_IBAN_LENGTH = 12;
const MAX_IBAN_LENGTH = 34;

/** Letters and digits mixed, as in wallets, keys and references of payments. */
const CODE = /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,}/g;

/**
 * Returns what looks like the number of an account, card or telephone: 8 digits or more, IBANs, and codes of 16 letters
 * and digits or more; without separators. Dates are none.
 */
export function accountNumbersIn(plain: string): readonly string[] {
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
  // A group that cannot go on is the end of an IBAN, and can be the start of another.
  for (const group of [...plain.split(/[^\p{L}\p{N}]/u), ""]) {
    if (iban !== "" && IBAN_GROUP.test(group) && iban.length + group.length <= MAX_IBAN_LENGTH) {
      iban += group;
      continue;
    }
    if (iban.length >= MIN_IBAN_LENGTH) yield iban.toUpperCase();
    iban = group.length <= MAX_IBAN_LENGTH && IBAN_START.test(group) ? group : "";
  }
}
